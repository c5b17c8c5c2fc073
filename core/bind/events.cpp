#include "bind/events.hpp"
#include "bind/kernel_methods.hpp"
#include "model/complete/parts.hpp"
#include <algorithm>
#include <nanobind/stl/vector.h>
#include <stdexcept>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

std::vector<std::int32_t> whole_of(const nb::dict &given, const char *name) {
  const Places values = nb::cast<Places>(given[name]);
  return {values.data(), values.data() + values.size()};
}

std::vector<double> numbers_of(const nb::dict &given, const char *name) {
  const Doubles values = nb::cast<Doubles>(given[name]);
  return {values.data(), values.data() + values.size()};
}

// number of values of each kind of channel
std::int32_t channel_size(const ModelData &m, const EventRun &e, ChannelKind kind) {
  switch (kind) {
  case ChannelKind::time:
    return 1;
  case ChannelKind::position:
    return m.nq;
  case ChannelKind::velocity:
  case ChannelKind::acceleration:
  case ChannelKind::effort:
    return m.nv;
  case ChannelKind::state:
    return m.nx;
  case ChannelKind::cut_position:
    return m.cut_nq;
  case ChannelKind::cut_velocity:
    return m.cut_nv;
  case ChannelKind::point_position:
  case ChannelKind::point_velocity:
    return std::int32_t(e.points.size());
  case ChannelKind::multiplier:
    return m.nc;
  case ChannelKind::load:
    return 6 * connection_count(m);
  case ChannelKind::signal:
    return m.signal_count;
  case ChannelKind::element_force:
    return m.measure_count;
  case ChannelKind::energy:
    return 3;
  }
  return 0;
}

void fill_points(const nb::dict &given, EventRun &e) {
  for (const nb::handle &each : nb::cast<nb::list>(given["points"])) {
    if (!is_made(each.ptr(), points_type()))
      throw nb::type_error("give points");
    const BoundPoints &found = *nb::inst_ptr<BoundPoints>(each);
    EventPoint &point = e.points.emplace_back();
    point.frames = found.frames, point.nodes = found.nodes, point.data = found.data;
    point.data.frames = point.frames.data();
    point.data.nodes = found.data.nodes ? point.nodes.data() : nullptr;
    if (point.data.count != 1)
      throw nb::value_error("give one point at a time");
  }
}

void fill_programs(const nb::dict &given, EventRun &e) {
  const std::vector<std::int32_t> counts = whole_of(given, "programs"), code = whole_of(given, "instructions");
  e.rows.constants = numbers_of(given, "constants");
  e.rows.outputs = whole_of(given, "outputs");
  for (std::size_t k = 0; k + 4 < code.size(); k += 5)
    e.rows.instructions.push_back({Operation(code[k]), code[k + 1], code[k + 2], code[k + 3], code[k + 4], 0});
  std::int32_t first = 0, output = 0;
  for (const std::int32_t count : counts) {
    ProgramData program{};
    program.first = first, program.count = count, program.output = output++, program.outputs = 1;
    first += count;
    e.rows.programs.push_back(program);
  }
  try {
    e.programs = complete_programs(e.rows, std::int32_t(e.channels.size()), {}, {});
  } catch (const std::invalid_argument &error) {
    throw nb::value_error(error.what());
  }
}

// number of items that an action of a kind may name
std::int32_t action_size(const ModelData &m, const EventRun &e, ActionKind kind) {
  switch (kind) {
  case ActionKind::bounce_coordinate:
  case ActionKind::lock:
  case ActionKind::release:
    return m.nv;
  case ActionKind::bounce_point:
    return std::int32_t(e.points.size());
  case ActionKind::set:
    return m.parameter_count;
  case ActionKind::open:
  case ActionKind::close:
    return m.loop_constraint_count;
  }
  return 0;
}

void fill_actions(const ModelData &m, const nb::dict &given, EventRun &e) {
  const std::vector<std::int32_t> counts = whole_of(given, "action_counts"), indices = whole_of(given, "actions");
  const std::vector<double> numbers = numbers_of(given, "action_numbers");
  e.soon = nb::cast<double>(given["soon"]);
  if (counts.size() != e.functions.size() || numbers.size() / 4 != indices.size() / 3)
    throw nb::value_error("the actions do not fit the events");
  for (std::size_t k = 0; 3 * k + 2 < indices.size(); ++k) {
    const std::int32_t *index = indices.data() + 3 * k;
    const double *number = numbers.data() + 4 * k;
    const EventAction action{ActionKind(index[0]), index[1], index[2], number[0], {number[1], number[2], number[3]}};
    const bool known = index[0] >= 0 && index[0] < action_kind_count;
    const bool spans = known && (action.kind == ActionKind::lock || action.kind == ActionKind::release);
    if (!known || action.index < 0 || action.index >= action_size(m, e, action.kind) ||
        (spans && (action.end <= action.index || action.end > m.nv || action.end - action.index > 6)))
      throw nb::value_error("an action of an event does not fit the model");
    e.actions.push_back(action);
  }
  std::int32_t first = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    EventFunction &function = e.functions[k];
    function.acts_here = counts[k] >= 0;
    function.action = first, function.actions = std::max(counts[k], 0);
    if (counts[k] > max_actions)
      throw nb::value_error("an event has too many actions");
    first += function.actions;
  }
  if (std::size_t(first) != e.actions.size())
    throw nb::value_error("the actions do not fit the events");
}

} // namespace

void fill_events(const ModelData &m, const nb::dict &given, EventRun &e) {
  fill_points(given, e);
  const std::vector<std::int32_t> channels = whole_of(given, "channels"), functions = whole_of(given, "functions");
  const std::vector<std::int32_t> ends = whole_of(given, "ends");
  const std::vector<double> thresholds = numbers_of(given, "thresholds");
  for (std::size_t k = 0; k + 2 < channels.size(); k += 3) {
    const EventChannel channel{ChannelKind(channels[k]), channels[k + 1], channels[k + 2]};
    const int parts = channel.kind == ChannelKind::point_position   ? 3
                      : channel.kind == ChannelKind::point_velocity ? 6
                                                                    : 1;
    if (channels[k] < 0 || channels[k] >= channel_kind_count || channel.index < 0 ||
        channel.index >= channel_size(m, e, channel.kind) || channel.component < 0 || channel.component >= parts)
      throw nb::value_error("a channel of an event does not fit the model");
    e.channels.push_back(channel);
  }
  fill_programs(given, e);
  if (functions.size() != 5 * thresholds.size() || ends.size() != thresholds.size())
    throw nb::value_error("the event functions do not fit");
  for (std::size_t k = 0; k < thresholds.size(); ++k) {
    const std::int32_t *f = functions.data() + 5 * k;
    if (f[0] >= std::int32_t(e.channels.size()) ||
        (f[0] < 0 && (f[1] < 0 || f[1] >= std::int32_t(e.rows.programs.size()))))
      throw nb::value_error("an event function does not fit");
    e.functions.push_back({f[0], f[1], f[2], f[3] != 0, f[4] != 0, thresholds[k], 0, 0, false, ends[k] != 0});
  }
  fill_actions(m, given, e);
}

nb::tuple take_log(EventLog &log, npy_intp width) {
  const npy_intp n = npy_intp(log.t.size());
  nb::tuple found = nb::make_tuple(log.event, doubles(log.t.data(), {n}), doubles(log.states.data(), {n, width}),
                                   doubles(log.energy.data(), {n}), doubles(log.dissipated.data(), {n}), log.acted);
  log.clear();
  return found;
}

nb::tuple take_logs(std::vector<EventLog> &logs, npy_intp width) {
  EventLog all;
  std::vector<std::int64_t> counts;
  const auto append = [](auto &to, const auto &from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const EventLog &log : logs) {
    counts.push_back(std::int64_t(log.t.size()));
    append(all.event, log.event), append(all.t, log.t), append(all.states, log.states);
    append(all.energy, log.energy), append(all.dissipated, log.dissipated), append(all.acted, log.acted);
  }
  logs.clear();
  return nb::make_tuple(counts, take_log(all, width));
}

} // namespace dalembert::bind
