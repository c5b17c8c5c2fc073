#include "steppers/time_loop/step_attempt.hpp"

#include "elements/elements.hpp"
#include "steppers/methods/explicit_runge_kutta.hpp"
#include "steppers/methods/step_size_control.hpp"
#include "steppers/switching/monitor.hpp"
#include "steppers/switching/switch_location.hpp"
#include "tree/chart.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

// Near a singular position the loops pass rounding of coordinates on to velocities and accelerations, divided by their
// slack and its root. A step of a little other length, whose stages lie elsewhere, may do; if none of these does, it is
// taken with the error that rounding explains.
constexpr int max_near_tries = 6;

constexpr double retry_lengths[max_near_tries] = {0.87, 1.12, 0.75, 1.25, 0.65, 1.4};

void set_noise(const RunContext &i, double h, double slack) {
  const auto largest = [](const double *x, int n) {
    double most = 0.0;
    for (int k = 0; k < n; ++k)
      most = std::max(most, std::fabs(x[k]));
    return most;
  };
  const double size = 1.0 + largest(i.work.q, i.m.nq), velocity = largest(i.work.v, i.m.nv),
               floor = std::max(slack, 1e-10);
  const double rounding = 30.0 * 2.2e-16 * size;
  i.run.noise[1] = rounding * velocity * velocity * h / floor;
  i.run.noise[0] = i.run.noise[1] * h + rounding * velocity * h / std::sqrt(floor);
}

} // namespace

Outcome take_step(TimeLoop &loop, double h, double &error) {
  const RunContext &i = loop.at;
  error = 0.0;
  loop.work.near = false;
  if (!loop.adaptive)
    return loop.stepper.step(i, h, error);
  double &slack = loop.work.motion.system.loops.min_pivot;
  slack = 1.0;
  const Outcome outcome = loop.stepper.step(i, h, error);
  i.run.usual_min_pivot = std::max(i.run.usual_min_pivot, slack);
  if (!(slack < close_to_singular * i.run.usual_min_pivot) || !i.run.project || outcome == Outcome::callback_failed)
    return outcome;
  if (loop.stepper.implicit && outcome == Outcome::reached && error <= 1.0) // it has passed as it is
    return outcome;
  loop.work.near = true;
  if (i.run.near_singular_rejections > max_near_tries)
    set_noise(i, h, slack);
  const Outcome again = loop.stepper.step(i, h, error);
  i.run.noise[0] = i.run.noise[1] = 0.0;
  return again;
}

void advance_state(TimeLoop &loop, double h, double t1) {
  RunWorkspace &work = loop.work;
  Run &run = loop.at.run;
  loop.stepper.advance_state(loop.at);
  std::swap(work.q, work.q1);
  std::swap(work.v, work.v1);
  std::swap(work.x, work.x1);
  std::swap(work.a, work.a1);
  std::swap(work.dx, work.dx1);
  release_bristles(loop.at.m, work.motion.system.loops.ws, work.q, work.v, work.x);
  run.begin = run.t;
  run.length = h;
  run.t = t1;
  ++run.counts.steps;
  loop.pairs.step_made();
}

double first_step(TimeLoop &loop, double until) {
  const RunContext &i = loop.at;
  const ModelData &m = i.m;
  const Run &run = i.run;
  RunWorkspace &work = loop.work;
  const int n = increments(m);
  set_first_stage(m, work.v, work.a, work.dx, work.K);
  const double left = until - run.t, slope = measure(i, work.K, work.q, work.v, work.x);
  const double h = trial_length(state_size<double>(m, run, {work.q, work.v, work.x}), slope, left, run.max_step);
  for (int k = 0; k < n; ++k)
    work.z[k] = h * work.K[k];
  double *K1 = work.K + n;
  double bend = 0.0;
  if (displaced(i, run.t + h, work.z, work.qs, work.vs, work.xs) &&
      rates_in_chart(i, run.t + h, work.z, work.qs, work.vs, work.xs, K1) == Outcome::reached && all_finite(K1, n)) {
    for (int k = 0; k < n; ++k)
      work.error[k] = (K1[k] - work.K[k]) / h;
    bend = measure(i, work.error, work.q, work.v, work.x);
  }
  return first_length(h, slope, bend, loop.stepper.order, left, run.max_step);
}

namespace {

// The difference of the recorded times of a step, so that dense output repeats the same step; not above the chosen
// length, so that a step that is rejected becomes shorter.
double recorded_length(double t, double h, double end) {
  const double length = (end - t > h ? std::nextafter(end, t) : end) - t;
  return length > 0.0 ? length : h;
}

} // namespace

Outcome choose_length(TimeLoop &loop, double until, Attempt &attempt) {
  Run &run = loop.at.run;
  attempt.goal = std::min(until, run.interval.end);
  attempt.shortest = 4e-16 * std::max(std::fabs(run.t), 1e-12 * std::fabs(until));
  const double left = attempt.goal - run.t, wanted = std::min(run.step, run.max_step);
  attempt.to_switch = run.step_to_switch > 0.0 && run.step_to_switch < left;
  attempt.to_contact = !attempt.to_switch && run.step_to_contact > 0.0 && run.step_to_contact <= left;
  attempt.last = !attempt.to_switch && !attempt.to_contact && wanted * 1.0000001 >= left;
  if (attempt.to_switch)
    attempt.h = run.step_to_switch;
  else if (attempt.to_contact)
    attempt.h = run.step_to_contact;
  else if (attempt.last)
    attempt.h = left;
  else // two equal steps rather than one and a splinter
    attempt.h = 2.0 * wanted > left && loop.adaptive ? 0.5 * left : wanted;
  if (!attempt.last)
    attempt.h = recorded_length(run.t, attempt.h, attempt.end(run.t));
  if (!attempt.last && !attempt.to_switch && !attempt.to_contact && !(attempt.h > attempt.shortest))
    return Outcome::underflow;
  if (!attempt.to_switch)
    run.step_to_switch = 0.0;
  return Outcome::reached;
}

Outcome reduce_step(TimeLoop &loop, Outcome step, const Attempt &attempt, double until) {
  Run &run = loop.at.run;
  ++run.counts.rejected;
  loop.pairs.discard_attempt();
  run.worst = attempt.error;
  if (loop.work.near && loop.adaptive && run.near_singular_rejections < max_near_tries) {
    run.near_step = run.near_singular_rejections ? run.near_step : attempt.h;
    run.step = run.near_step * retry_lengths[run.near_singular_rejections++];
    return Outcome::reached;
  }
  run.near_singular_rejections += loop.work.near;
  run.rejected_last = 1;
  if (!loop.adaptive)
    return step;
  run.step = step != Outcome::reached ? 0.25 * attempt.h : attempt.h * reduced_step(attempt.error, loop.stepper.order);
  // Newton's method does not get across the rest of vector friction, whose direction turns there: steps before it are
  // as short as time is resolved, until the rest is within its tolerance.
  const double least =
      step == Outcome::newton_failed ? attempt.shortest : 1e-13 * std::max(std::fabs(until), std::fabs(run.t));
  return step != Outcome::reached && run.step < least ? step : Outcome::reached;
}

void halve_step(TimeLoop &loop, Attempt &attempt) {
  Run &run = loop.at.run;
  ++run.counts.rejected;
  run.rejected_last = 1;
  run.step = 0.5 * attempt.h;
  attempt.accepted = false;
}

Outcome take_and_judge(TimeLoop &loop, Attempt &attempt, double until) {
  Run &run = loop.at.run;
  clear_exits(loop.at);
  loop.pairs.begin_attempt();
  const Outcome step = take_step(loop, attempt.h, attempt.error);
  if (step == Outcome::callback_failed)
    return step;
  if (step != Outcome::reached || (loop.adaptive && attempt.error > 1.0)) {
    run.step_to_switch = run.step_to_contact = 0.0;
    attempt.accepted = false;
    return reduce_step(loop, step, attempt, until);
  }
  if (!attempt.to_switch)
    return Outcome::reached;
  if (attempt.h > 1e3 * attempt.shortest && strays(loop.at)) {
    run.step_to_switch = 0.0;
    halve_step(loop, attempt);
  } else if (improve_switch_time(loop.at, attempt.h)) {
    attempt.accepted = false;
  }
  return Outcome::reached;
}

void lengthen(TimeLoop &loop, const Attempt &attempt) {
  Run &run = loop.at.run;
  const bool was_noisy = run.near_singular_rejections > max_near_tries;
  run.counts.noisy += was_noisy;
  run.near_singular_rejections = 0;
  if (!loop.adaptive)
    return;
  run.step = loop.stepper.accept(loop.at, attempt.h, attempt.error);
  run.rejected_last = 0;
  if (was_noisy) // shorter steps would not be better ones
    run.step = std::max(run.step, run.near_step);
}

} // namespace dalembert::DALEMBERT_ISA
