// A model with other parameters, for one run of many.
#pragma once

#include "model/tables.hpp"

namespace dalembert {

struct RunVariant {
  VariantTables tables;
  ModelData data;
  const ModelData &made(const ModelData &described, const double *numbers) {
    return data = with_parameters(described, numbers, tables);
  }
};

} // namespace dalembert
