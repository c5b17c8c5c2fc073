// Which of the instruction sets that were built serves this processor.
#pragma once

#include "kernels/kernels.hpp"
#include "steppers/adjoint.hpp"
#include "steppers/methods/moreau_derivatives.hpp"
#include "steppers/run.hpp"
#include "steppers/variational.hpp"

namespace dalembert {

bool processor_is_served(); // if not, there are no kernels to ask for

} // namespace dalembert
