#include "events/event_values.hpp"
#include "constraints/loop_constraints.hpp"
#include "elements/program.hpp"
#include "events/event_actions.hpp"
#include "steppers/run_report.hpp"
#include "tree/kinematics.hpp"
#include "tree/outputs.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int point_numbers = 18; // rotation, position, [angular velocity; velocity]
constexpr int position_at = 9, velocity_at = 12;

bool needs(const EventRun &e, ChannelKind kind) { return e.needs[int(kind)]; }

// the parts of a report that channels take
bool evaluate_parts(const RunContext &i, EventRun &e, double t, const double *q, const double *v, const double *x) {
  const auto wanted = [&](ChannelKind kind, std::vector<double> &part) {
    return needs(e, kind) ? part.data() : nullptr;
  };
  Report out;
  out.a = wanted(ChannelKind::acceleration, e.a);
  out.tau = wanted(ChannelKind::effort, e.tau);
  out.lambda = wanted(ChannelKind::multiplier, e.lambda);
  out.loads = wanted(ChannelKind::load, e.loads);
  out.signals = wanted(ChannelKind::signal, e.signals);
  out.elements.forces = wanted(ChannelKind::element_force, e.forces);
  out.energy = wanted(ChannelKind::energy, e.energy);
  return evaluate_report(i, e.report_memory.block->data, t, q, v, x, out);
}

void evaluate_motion(const RunContext &i, EventRun &e, double t, const double *q, const double *v) {
  const ModelData &m = i.m;
  Workspace<double> &ws = i.work.motion.system.loops.ws;
  ws.t = i.run.interval.clamp(t);
  if (needs(e, ChannelKind::cut_position) || needs(e, ChannelKind::cut_velocity)) {
    place_and_move(m, ws, q, v);
    cut_joints(m, ws, e.cut_q.data(), e.cut_v.data(), nullptr);
  }
  for (std::size_t k = 0; k < e.points.size(); ++k) {
    double *motion = e.point_motion.data() + point_numbers * k;
    if (needs(e, ChannelKind::point_position))
      point_poses(m, ws, e.points[k].data, q, motion);
    if (needs(e, ChannelKind::point_velocity))
      point_velocities(m, ws, e.points[k].data, q, v, motion + velocity_at);
  }
}

double channel_value(const EventRun &e, const EventChannel &channel, double t, const double *q, const double *v,
                     const double *x) {
  const std::size_t k = std::size_t(channel.index), part = std::size_t(channel.component);
  switch (channel.kind) {
  case ChannelKind::time:
    return t;
  case ChannelKind::position:
    return q[k];
  case ChannelKind::velocity:
    return v[k];
  case ChannelKind::state:
    return x[k];
  case ChannelKind::cut_position:
    return e.cut_q[k];
  case ChannelKind::cut_velocity:
    return e.cut_v[k];
  case ChannelKind::point_position:
    return e.point_motion[point_numbers * k + position_at + part];
  case ChannelKind::point_velocity:
    return e.point_motion[point_numbers * k + velocity_at + part];
  case ChannelKind::acceleration:
    return e.a[k];
  case ChannelKind::effort:
    return e.tau[k];
  case ChannelKind::multiplier:
    return e.lambda[k];
  case ChannelKind::load:
    return e.loads[k];
  case ChannelKind::signal:
    return e.signals[k];
  case ChannelKind::element_force:
    return e.forces[k];
  case ChannelKind::energy:
    return e.energy[k];
  }
  return 0.0;
}

} // namespace

void prepare_events(const RunContext &i, EventRun &e) {
  const ModelData &m = i.m;
  const auto size = [](std::vector<double> &part, int n) { part.assign(std::size_t(n), 0.0); };
  for (const EventChannel &channel : e.channels)
    e.needs[int(channel.kind)] = true;
  e.values.assign(e.functions.size(), 0.0);
  e.ignored.resize(e.functions.size(), 0);
  size(e.inputs, int(e.channels.size()));
  size(e.numbers, e.programs.max_values);
  size(e.point_motion, point_numbers * int(e.points.size()));
  size(e.cut_q, m.cut_nq), size(e.cut_v, m.cut_nv);
  size(e.a, m.nv), size(e.tau, m.nv), size(e.lambda, m.nc), size(e.loads, 6 * connection_count(m));
  size(e.signals, m.signal_count), size(e.forces, m.measure_count), size(e.energy, energy_count);
  prepare_actions(i, e);
  if (e.needs_report() || !e.actions.empty())
    e.report_memory.block = std::make_unique<Block>(report_bytes(m));
}

bool event_values(const RunContext &i, EventRun &e, double t, const double *q, const double *v, const double *x,
                  double *values) {
  constexpr double turn = 2.0 * 3.141592653589793;
  evaluate_motion(i, e, t, q, v);
  if (e.needs_report() && !evaluate_parts(i, e, t, q, v, x))
    return false;
  const double *states = needs(e, ChannelKind::state) ? all_states(i, x).x : x;
  for (std::size_t k = 0; k < e.channels.size(); ++k)
    e.inputs[k] = channel_value(e, e.channels[k], t, q, v, states);
  for (std::size_t k = 0; k < e.functions.size(); ++k) {
    const EventFunction &function = e.functions[k];
    if (e.ignored[k]) {
      values[k] = 1.0;
      continue;
    }
    double found;
    if (function.channel >= 0)
      found = e.inputs[std::size_t(function.channel)];
    else
      run_program<double>(i.m, e.programs, e.programs.programs[function.program], e.inputs.data(), e.numbers.data(),
                          &found);
    values[k] = found - function.value;
    if (function.turn)
      values[k] -= turn * std::floor(values[k] / turn + 0.5);
    if (!std::isfinite(values[k])) {
      e.failure = {std::int32_t(k), t, found};
      return false;
    }
  }
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
