// The bound scene of contacts, and contacts of a run.
#pragma once

#include "contact/contact_steps.hpp"
#include "model/model_data.hpp"
#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_contact(nanobind::module_ &module);

// Scene, stops and dry friction of joints from a dict of Python. The scene stays alive with `given`.
void fill_scene_and_joints(const ModelData &m, const nanobind::dict &given, ContactSteps &c);
// Contact by steps: the same, with logs and tolerances.
void fill_contacts(const ModelData &m, const nanobind::dict &given, ContactSteps &c);
// What was logged since the last call: arrays by name.
nanobind::dict take_contact_log(const ModelData &m, ContactSteps &c);
// statistics of the run by name
nanobind::dict contact_statistics(const ContactSteps &c);
// points kept for the next step, as bytes, and back
nanobind::bytes contact_memory(const ContactSteps &c);
void set_contact_memory(ContactSteps &c, const nanobind::bytes &blob);

} // namespace dalembert::bind
