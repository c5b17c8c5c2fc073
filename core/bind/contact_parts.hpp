// Parts of steps of rigid contact for Python: what derivatives of a run need.
#pragma once

#include "contact/contact_steps.hpp"
#include "model/model_data.hpp"
#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_contact_parts(nanobind::module_ &module);

// the parts since the last call, which begin where the states of the model `m` stand
nanobind::list take_contact_parts(ContactSteps &c);

} // namespace dalembert::bind
