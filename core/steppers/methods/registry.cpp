#include "steppers/methods/registry.hpp"
#include "steppers/methods/explicit_runge_kutta.hpp"
#include "steppers/methods/generalized_alpha.hpp"
#include "steppers/methods/moreau.hpp"
#include "steppers/methods/radau.hpp"

namespace dalembert::DALEMBERT_ISA {

const Stepper *const steppers[] = {&dop853_stepper, &dopri5_stepper, &rk4_stepper,   &euler_stepper,
                                   &radau_stepper,  &alpha_stepper,  &moreau_stepper};
const int stepper_count = sizeof steppers / sizeof *steppers;

} // namespace dalembert::DALEMBERT_ISA
