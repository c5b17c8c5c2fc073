// The bound scene of contacts, and contacts of a run.
#pragma once

#include "contact/contact_steps.hpp"
#include "model/model_data.hpp"
#include <cstring>
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace dalembert::bind {

void add_contact(nanobind::module_ &module);

// plain records as bytes, and back; `what` names them in the error
template <class S> nanobind::bytes bytes_of(const std::vector<S> &records) {
  return nanobind::bytes(reinterpret_cast<const char *>(records.data()), records.size() * sizeof(S));
}
template <class S> void set_from_bytes(const nanobind::bytes &blob, const char *what, std::vector<S> &records) {
  if (blob.size() % sizeof(S))
    throw nanobind::value_error((std::string(what) + " do not fit").c_str());
  records.resize(blob.size() / sizeof(S));
  std::memcpy(static_cast<void *>(records.data()), blob.c_str(), blob.size());
}

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
