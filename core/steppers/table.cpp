#include "steppers/table.hpp"
#include "steppers/alpha.hpp"
#include "steppers/explicit.hpp"
#include "steppers/radau.hpp"

namespace dalembert::DALEMBERT_ISA {

const Stepper *const steppers[] = {&dop853_stepper, &dopri5_stepper, &rk4_stepper, &euler_stepper, &radau_stepper, &alpha_stepper};
const int stepper_count = sizeof steppers / sizeof *steppers;

} // namespace dalembert::DALEMBERT_ISA
