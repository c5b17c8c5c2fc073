// The steppers, once: the number of a method is its place in this list.
#pragma once

#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

extern const Stepper *const steppers[];
extern const int stepper_count;

} // namespace dalembert::DALEMBERT_ISA
