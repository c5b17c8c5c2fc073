// Kernels as methods of the bound model, called by the vectorcall protocol: no tuples, no dicts.
#pragma once

#include "arrays.hpp"
#include "model.hpp"

namespace dalembert::bind {

int thread_count();
void set_thread_count(int count);

// the C++ object behind a Python model
BoundModel *bound(PyObject *self);

// adds every kernel method to the Python type
void add_methods(PyTypeObject *type);

} // namespace dalembert::bind
