// State and parameters of a run in a lane of a SIMD batch.
#pragma once

#include "model/parameter_maps.hpp"
#include "steppers/run.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

struct LaneState {
  Pack *q, *v, *x;
  double *parameters;           // of the elements in each lane
  ParameterTables<Pack> &own;   // of the model of each lane
  ParameterTables<double> &one; // and of one of them

  // m and c: what all lanes are evaluated with
  void take(const SimdRunInput &from, int lane, ModelData &m, Conditions &c) const {
    for (int k = 0; k < m.nq; ++k)
      q[k].set(lane, from.q[k]);
    for (int f = 0; f < m.nv; ++f)
      v[f].set(lane, from.v[f]);
    for (int k = 0; k < m.nx; ++k)
      x[k].set(lane, from.x[k]);
    if (from.parameters) {
      std::copy_n(from.parameters, m.parameter_count, parameters + std::ptrdiff_t(lane) * m.parameter_count);
      c.parameters = parameters;
      c.parameter_stride = m.parameter_count;
    }
    if (from.variant) {
      start_numbers(*from.variant, one);
      set_lane_parameters(m, one, lane, own);
      m.varied = &own;
    }
  }
};

} // namespace dalembert::DALEMBERT_ISA
