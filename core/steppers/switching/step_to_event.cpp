#include "steppers/switching/step_to_event.hpp"
#include "contact/contact_impulses.hpp"
#include "events/event_values.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int max_takes = 100;
constexpr double same_length = 1e-13; // of the step: closer lengths are one
constexpr double just_before = 1e-6;  // of the step: where the sign before a crossing is taken
constexpr double first_addition =
    1e-12; // of the step: to a length that ends before the crossing, grown from try to try

class StepToEvent {
public:
  StepToEvent(const Stepper &stepper, const RunContext &i, double whole)
      : stepper(stepper), i(i), e(*i.run.events), whole(whole), function(std::size_t(e.passed.front())),
        passed(e.passed), before(e.values), values(e.values.size()) {}

  Outcome run(double &h, Crossing &crossing) {
    Outcome outcome = find_sign(crossing.fraction);
    double at = crossing.fraction * whole, addition = first_addition * whole;
    bool beyond = false;
    for (low = 0.0; outcome == Outcome::reached && low < whole;) {
      outcome = take(at);
      if (outcome != Outcome::reached || beyond_at_end())
        break;
      low = at, g_low = g;
      at = std::min(at + addition, whole), addition *= 16.0;
    }
    beyond = outcome == Outcome::reached && low < whole;
    if (!beyond) {
      crossing = {};
      return outcome == Outcome::reached ? find_crossing_in_whole() : outcome;
    }
    outcome = narrow(at);
    h = length, crossing.fraction = 1.0;
    e.passed = passed;
    return outcome;
  }

private:
  const Stepper &stepper;
  const RunContext &i;
  EventRun &e;
  const double whole;
  const std::size_t function;
  const std::vector<std::int32_t> passed;
  const std::vector<double> before;
  std::vector<double> values;
  double sign = 1.0, length = 0.0, g = 0.0, low = 0.0, g_low = 0.0;

  bool evaluate(double t, const double *q, const double *v, const double *x) {
    if (!event_values(i, e, t, q, v, x, values.data()))
      return false;
    g = values[function];
    return true;
  }

  Outcome find_sign(double fraction) {
    const Outcome outcome = interpolate(stepper, i, whole, std::max(fraction - just_before, 0.5 * fraction));
    if (outcome != Outcome::reached)
      return outcome;
    if (!evaluate(i.run.t + fraction * whole, i.work.qs, i.work.vs, i.work.xs))
      return Outcome::callback_failed;
    sign = g < 0.0 || (g == 0.0 && before[function] < 0.0) ? -1.0 : 1.0;
    g_low = before[function];
    return Outcome::reached;
  }

  // a step of a length, in place of the last one
  Outcome take(double at) {
    double error = 0.0;
    undo_step(i.m, *i.run.contacts);
    const Outcome outcome = stepper.step(i, at, error);
    if (outcome != Outcome::reached)
      return outcome;
    length = at;
    return evaluate(i.run.t + at, i.work.q1, i.work.v1, i.work.x1) ? Outcome::reached : Outcome::callback_failed;
  }
  bool beyond_at_end() const { return sign * g <= 0.0; }

  // the shortest length that ends beyond, by the rule of false position (Illinois); the last step taken has it
  Outcome narrow(double high) {
    double g_high = g;
    int side = 0;
    for (int round = 0; round < max_takes && high - low > same_length * whole && g_high != 0.0; ++round) {
      double at = sign * g_low > 0.0 ? (low * g_high - high * g_low) / (g_high - g_low) : 0.5 * (low + high);
      if (!(at > low && at < high) || round % 8 == 7)
        at = 0.5 * (low + high);
      if (!(at > low && at < high))
        break;
      const Outcome outcome = take(at);
      if (outcome != Outcome::reached)
        return outcome;
      const bool beyond = beyond_at_end();
      (beyond ? high : low) = at, (beyond ? g_high : g_low) = g;
      if (side == (beyond ? 1 : -1))
        (beyond ? g_low : g_high) *= 0.5;
      side = beyond ? 1 : -1;
    }
    return length == high ? Outcome::reached : take(high);
  }

  // events that only are recorded
  Outcome find_crossing_in_whole() {
    Crossing none;
    e.values = before;
    const Outcome outcome = find_crossing(stepper, i, whole, none);
    e.passed.clear();
    return outcome;
  }
};

} // namespace

Outcome end_step_at_event(const Stepper &stepper, const RunContext &i, double &h, Crossing &crossing) {
  return StepToEvent(stepper, i, h).run(h, crossing);
}

} // namespace dalembert::DALEMBERT_ISA
