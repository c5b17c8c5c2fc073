// Kernels as methods of the bound model, called by the vectorcall protocol: no tuples, no dicts.
#pragma once

#include "bind/bound_model.hpp"

namespace dalembert::bind {

int thread_count();
void set_thread_count(int count);

// frames or points of one body, for the kernels that look at them
struct BoundPoints {
  PointsData data{};
  std::vector<double> frames, nodes;
  bool single = false; // results have no axis for points
};

// the Python types of models, points and conditions
PyTypeObject *model_type();
PyTypeObject *points_type();
PyTypeObject *conditions_type();

// whether an object is of a type of ours and has been initialised
inline bool is_made(PyObject *object, PyTypeObject *type) {
  return PyObject_TypeCheck(object, type) && nanobind::inst_ready(object);
}

// a subclass of tuple, in which `dynamics` gives its results
void set_named_type(PyTypeObject *type);

// adds every kernel method to the Python type
void add_methods(PyTypeObject *type);

} // namespace dalembert::bind
