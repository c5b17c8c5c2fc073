// The frame of runs with steps of given length, a run in each lane: they begin and end at the same times, take control
// sequences of their own and are recorded at the same samples.
#pragma once

#include "steppers/lane_state.hpp"
#include "steppers/sample_times.hpp"
#include "steppers/simd_batch.hpp"

namespace dalembert::DALEMBERT_ISA {

class LaneRuns {
protected:
  LaneRuns(const ModelData &model, const Run &asked, double begin, double until, const Samples &samples,
           const RunQueue &feed)
      : m(model), run(asked), from(begin), until(until), samples(samples), feed(feed) {}
  LaneRuns(const LaneRuns &) = delete;

  ModelData m;
  Run run;
  const double from, until;
  const Samples samples;
  const RunQueue feed;
  SimdRunInput inputs[W];
  unsigned running = 0; // lanes at work
  double t = 0.0;
  std::ptrdiff_t next = 0, row = -1; // sample; interval of the control whose values stand in the workspace
  SmoothInterval interval;
  Counts counts{};

  bool on(int lane) const { return running >> lane & 1u; }

  // start values of runs from the queue, as many as there are lanes
  void load_states(const LaneState &to) {
    running = 0;
    for (int lane = 0; lane < W && feed.next(feed.self, inputs[lane]); ++lane) {
      running |= 1u << lane;
      to.take(inputs[lane], lane, m, run.conditions);
      for (int other = 1; !lane && other < W; ++other) { // until others come, the first stands in all lanes
        inputs[other] = inputs[0];
        to.take(inputs[0], other, m, run.conditions);
      }
    }
  }
  void begin() {
    t = from, next = 0, row = -1, counts = Counts{};
    interval = SmoothInterval::around(run.discontinuities, from);
  }
  // values of the control sequences at a time
  void set_control(double time, Pack *control, Pack *input_values, double *parameters) {
    const ControlSequence &sequence = *run.conditions.sequence;
    const std::ptrdiff_t k = sequence.interval(time);
    if (k == row && !sequence.linear)
      return;
    row = k;
    for (int lane = 0; lane < W; ++lane)
      set_lane_control(m, ControlValues(sequence, inputs[lane].control, time), lane, control, input_values, parameters);
  }
  // lanes where numbers that are 0 times others are not 0: these are not finite
  static unsigned not_zero(const Pack &zero) {
    unsigned bad = 0;
    for (int lane = 0; lane < W; ++lane)
      bad |= zero[lane] == 0.0 ? 0u : 1u << lane;
    return bad;
  }
  // samples up to the time of the runs
  void record(const Pack *q, const Pack *v, const Pack *x) {
    for (; next < samples.count && is_reached(samples.times[next], t); ++next)
      for (int lane = 0; lane < W; ++lane)
        if (on(lane))
          put(inputs[lane], lane, q, v, x);
  }

private:
  void put(const SimdRunInput &to, int lane, const Pack *q, const Pack *v, const Pack *x) const {
    for (int k = 0; k < m.nq; ++k)
      to.samples_q[next * m.nq + k] = q[k][lane];
    for (int f = 0; f < m.nv; ++f)
      to.samples_v[next * m.nv + f] = v[f][lane];
    for (int k = 0; k < m.nx; ++k)
      to.samples_x[next * m.nx + k] = x[k][lane];
  }
};

} // namespace dalembert::DALEMBERT_ISA
