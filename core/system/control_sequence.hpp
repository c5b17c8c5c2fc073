// A control that is given as a sequence of values: joint forces and inputs of elements, constant from one time to the
// next or linear in between.
#pragma once

#include "model/model_data.hpp"
#include "scalar/isa.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace dalembert {

struct ControlSequence {
  const double *times;  // count + 1, increasing: ends of the intervals
  std::ptrdiff_t count; // of intervals
  bool linear;          // between the values at both ends of an interval; else constant
  std::int32_t channels;
  const std::int32_t *force;     // nv: the channel that is the joint force of a degree of freedom; -1: none
  const std::int32_t *input;     // ModelData::input_count: the channel in place of a law; -1: none
  const std::int32_t *parameter; // ModelData::parameter_count: the channel in place of a number of an element; -1: none
  bool sets_parameters;
  const double *values; // a row of channels for each interval, and for the end of the last if linear

  std::ptrdiff_t rows() const { return count + (linear ? 1 : 0); }
  // The interval in which a time lies: before the first it is the first, after the last the last.
  std::ptrdiff_t interval(double t) const {
    const std::ptrdiff_t found = std::upper_bound(times, times + count + 1, t) - times - 1;
    return std::clamp<std::ptrdiff_t>(found, 0, count - 1);
  }
  // whether a time lies in interval k
  bool is_in(std::ptrdiff_t k, double t) const { return k >= 0 && times[k] <= t && t < times[k + 1]; }
  // Position of a time in an interval, from 0 to 1.
  double fraction(std::ptrdiff_t k, double t) const {
    return std::clamp((t - times[k]) / (times[k + 1] - times[k]), 0.0, 1.0);
  }
  double value(const double *of_run, std::ptrdiff_t k, double s, int channel) const {
    const double *here = of_run + k * channels + channel;
    return linear ? here[0] + s * (here[channels] - here[0]) : here[0];
  }
};

namespace DALEMBERT_ISA {

// What a sequence sets at one state.
struct ControlValues {
  const ControlSequence &control;
  const double *values; // of the run
  std::ptrdiff_t interval;
  double s;    // position in it
  double zero; // 0, or not a number if one of the values is not finite

  ControlValues(const ControlSequence &control, const double *values, double t)
      : control(control), values(values), interval(control.interval(t)),
        s(control.linear ? control.fraction(interval, t) : 0.0), zero(0.0) {
    for (int j = 0; j < control.channels; ++j)
      zero += 0.0 * of(j);
  }
  double of(int channel) const { return control.value(values, interval, s, channel); }
  // The joint force of a degree of freedom. One value that is not finite makes all forces so: as an input it would
  // stand for the law.
  double force(int f) const { return zero + (control.force[f] >= 0 ? of(control.force[f]) : 0.0); }
  // an input; no number: its law
  double input(int k) const {
    return control.input[k] >= 0 ? of(control.input[k]) : std::numeric_limits<double>::quiet_NaN();
  }
};

// Adds joint forces to forces (nv); sets inputs (input_count) and parameters (parameter_count), others of which are
// those given.
inline void apply_control(const ModelData &m, const ControlSequence &control, double t, const double *given,
                          double *forces, double *inputs, double *parameters) {
  const ControlValues now(control, control.values, t);
  for (int f = 0; f < m.nv; ++f)
    forces[f] += now.force(f);
  for (int k = 0; k < m.input_count; ++k)
    inputs[k] = now.input(k);
  for (int k = 0; k < m.parameter_count; ++k)
    parameters[k] = control.parameter[k] >= 0 ? now.of(control.parameter[k]) : given[k];
}

// The same in one lane of a SIMD batch: forces are set; of parameters, a row for each lane, only those of channels.
template <class Pack> inline void set_lane_control(const ModelData &m, const ControlValues &now, int lane, Pack *forces,
                                                   Pack *inputs, double *parameters) {
  for (int f = 0; f < m.nv; ++f)
    forces[f].set(lane, now.force(f));
  for (int k = 0; k < m.input_count; ++k)
    inputs[k].set(lane, now.input(k));
  for (int k = 0; k < m.parameter_count; ++k)
    if (now.control.parameter[k] >= 0)
      parameters[std::ptrdiff_t(lane) * m.parameter_count + k] = now.of(now.control.parameter[k]);
}

} // namespace DALEMBERT_ISA
} // namespace dalembert
