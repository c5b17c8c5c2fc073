// Methods of the bound model that are no kernels: self-stress, loads of least norm, equations of laws, driven motion.
#pragma once

#include "bind/bound_model.hpp"

namespace dalembert::bind {

void add_model_queries(nanobind::class_<BoundModel> &model);

} // namespace dalembert::bind
