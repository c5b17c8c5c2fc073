#include "steppers/time_loop/samples.hpp"

#include "steppers/time_loop/step_attempt.hpp"
#include <utility>

namespace dalembert::DALEMBERT_ISA {

Outcome sample(TimeLoop &loop, double h, double t1, Samples &samples, const Recorder &recorder) {
  RunWorkspace &work = loop.work;
  bool prepared = false;
  while (samples.next < samples.count && samples.times[samples.next] <= t1) {
    const double t = samples.times[samples.next];
    const double *q = work.q1, *v = work.v1, *x = work.x1;
    if (t < t1) {
      Outcome outcome = prepared ? Outcome::reached : loop.stepper.prepare(loop.at, h);
      prepared = true;
      if (outcome == Outcome::reached)
        outcome = interpolate(loop.stepper, loop.at, h, (t - loop.at.run.t) / h);
      if (outcome != Outcome::reached)
        return outcome;
      q = work.qs, v = work.vs, x = work.xs;
    }
    ++samples.next;
    if (!recorder.record(recorder.self, t, q, v, x, nullptr))
      return Outcome::stopped;
  }
  return Outcome::reached;
}

Outcome prepare_dense(TimeLoop &loop, double h, const double *q1, const double *v1, const double *x1) {
  RunWorkspace &work = loop.work;
  const ModelData &m = loop.at.m;
  Run &run = loop.at.run;
  if (loop.stepper.dense_from_stages) { // that they were accurate enough is known
    double error;
    const bool before = std::exchange(run.error_control_off, true);
    const Outcome outcome = take_step(loop, h, error);
    run.error_control_off = before;
    if (outcome != Outcome::reached)
      return outcome;
  }
  copy(q1, m.nq, work.q1);
  copy(v1, m.nv, work.v1);
  copy(x1, m.nx, work.x1);
  if (!rates(loop.at, run.t + h, work.q1, work.v1, work.x1, work.a1, work.dx1))
    return Outcome::callback_failed;
  return loop.stepper.prepare(loop.at, h);
}

Outcome sample_before_change(TimeLoop &loop, double t1, const std::vector<double> &end, Samples &samples,
                             const Recorder &recorder) {
  RunWorkspace &work = loop.work;
  const double h = t1 - loop.at.run.t, *q1 = end.data(), *v1 = q1 + loop.at.m.nq;
  Outcome outcome = Outcome::reached;
  for (bool prepared = false; samples.next < samples.count && samples.times[samples.next] < t1; prepared = true) {
    const double t = samples.times[samples.next++];
    if (!prepared)
      outcome = prepare_dense(loop, h, q1, v1, v1 + loop.at.m.nv);
    if (outcome == Outcome::reached)
      outcome = interpolate(loop.stepper, loop.at, h, (t - loop.at.run.t) / h);
    if (outcome != Outcome::reached)
      return outcome;
    if (!recorder.record(recorder.self, t, work.qs, work.vs, work.xs, nullptr))
      return Outcome::stopped;
  }
  return outcome;
}

bool record_at_change(const TimeLoop &loop, bool after, Samples &samples, const Recorder &recorder) {
  const RunWorkspace &work = loop.work;
  const double t = loop.at.run.t;
  if (!samples.times)
    return recorder.record(recorder.self, t, work.q, work.v, work.x, work.a);
  if (!after && recorder.stepped)
    recorder.stepped(recorder.self, t);
  for (; after && samples.next < samples.count && samples.times[samples.next] <= t; ++samples.next)
    if (!recorder.record(recorder.self, t, work.q, work.v, work.x, nullptr))
      return false;
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
