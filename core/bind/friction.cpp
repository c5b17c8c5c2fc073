#include "bind/friction.hpp"
#include "bind/kernel_methods.hpp"
#include <algorithm>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <utility>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

std::vector<double> numbers_of(const nb::dict &given, const char *name) {
  const Doubles values = nb::cast<Doubles>(given[name]);
  return {values.data(), values.data() + values.size()};
}

template <class N> std::vector<N> whole_of(const nb::dict &given, const char *name) {
  const Places values = nb::cast<Places>(given[name]);
  return {values.data(), values.data() + values.size()};
}

std::vector<unsigned char> marks_of(const nb::dict &given, const char *name) {
  return whole_of<unsigned char>(given, name);
}

template <class V> nb::object array_of(const V &values) {
  const std::vector<double> numbers(values.begin(), values.end());
  return doubles(numbers.data(), {npy_intp(numbers.size())});
}

std::vector<unsigned char> copy_marks(const unsigned char *marks, int count) {
  return marks ? std::vector<unsigned char>(marks, marks + count) : std::vector<unsigned char>(std::size_t(count), 0);
}

void set_progress(const nb::dict &given, std::size_t n, FrictionProgress &progress) {
  const std::vector<double> hold = numbers_of(given, "hold");
  progress.times = numbers_of(given, "change_times");
  progress.changed = marks_of(given, "changed");
  progress.held = marks_of(given, "held");
  if (progress.changed.size() != progress.times.size() * n || progress.held.size() != n || hold.size() != 4)
    throw nb::value_error("the progress of friction does not fit the rows");
  progress.rest_tol_factor = hold[0], progress.hold_time = hold[1];
  progress.held_until = hold[2], progress.next_review = hold[3];
}

} // namespace

void fill_friction(const ModelData &m, const Run &run, const nb::dict &given, FrictionRun &f) {
  const std::vector<std::int32_t> indices = whole_of<std::int32_t>(given, "indices");
  const std::vector<double> numbers = numbers_of(given, "numbers");
  const std::size_t n = indices.size() / 7;
  if (numbers.size() != 7 * n)
    throw nb::value_error("the rows of friction do not fit");
  for (std::size_t k = 0; k < n; ++k) {
    const std::int32_t *index = indices.data() + 7 * k;
    const double *number = numbers.data() + 7 * k;
    const std::int32_t sizes[7] = {m.nv + m.cut_nv,   m.nq + m.cut_nq, m.parameter_count, m.parameter_count,
                                   m.parameter_count, m.signal_count,  std::int32_t(n)};
    for (int j = 0; j < 7; ++j)
      if (index[j] >= sizes[j] || (j == 0 && index[j] < 0))
        throw nb::value_error("a row of friction does not fit the model");
    f.rows.push_back({index[0], index[1], index[2], index[3], index[4], index[5], index[6], number[0], number[1],
                      number[2], number[3], number[4], number[5], number[6]});
  }
  const std::vector<std::int32_t> switches = whole_of<std::int32_t>(given, "switches");
  for (std::size_t k = 0; k + 1 < switches.size(); k += 2) {
    if (switches[k] < 0 || switches[k] > 2 || switches[k + 1] < 0 || std::size_t(switches[k + 1]) >= n)
      throw nb::value_error("a switching function of friction does not fit");
    f.switches.push_back({SwitchKind(switches[k]), switches[k + 1]});
  }
  f.position_tol = nb::cast<double>(given["position_tol"]);
  f.span = nb::cast<double>(given["span"]);
  f.weight = nb::cast<double>(given["weight"]);
  f.longest_step = nb::cast<double>(given["max_step"]);
  f.longest_stuck_step = std::min(f.longest_step, nb::cast<double>(given["stuck_step"]));
  f.pauses = nb::cast<bool>(given["pauses"]);
  f.undetermined = nb::cast<bool>(given["undetermined"]);
  set_progress(given, n, f.progress);
  f.passed = whole_of<std::int32_t>(given, "passed");
  f.modes.sign = numbers_of(given, "sign"), f.modes.side = numbers_of(given, "side");
  f.modes.stuck = marks_of(given, "stuck"), f.modes.immobile = marks_of(given, "immobile");
  f.modes.locked = whole_of<std::int32_t>(given, "locked");
  f.modes.holding_laws = whole_of<std::int32_t>(given, "holding_laws");
  f.modes.sliding_laws = whole_of<std::int32_t>(given, "sliding_laws");
  f.holding.resize(n);
  f.holding.holds = !f.modes.locked.empty();
  f.holding.group = whole_of<std::int32_t>(given, "holding_group");
  f.holding.dependent = whole_of<std::int32_t>(given, "dependent");
  f.holding.unbounded_below = marks_of(given, "unbounded_below");
  f.holding.unbounded_above = marks_of(given, "unbounded_above");
  f.holding.coupling = numbers_of(given, "coupling"), f.holding.scale = numbers_of(given, "scale");
  for (const std::size_t size :
       {f.modes.sign.size(), f.modes.side.size(), f.modes.stuck.size(), f.modes.immobile.size()})
    if (size != n)
      throw nb::value_error("the modes of friction do not fit the rows");
  const std::size_t holding = n + f.modes.holding_laws.size(); // laws that hold are rows after all others
  for (const std::size_t size : {f.holding.unbounded_below.size(), f.holding.unbounded_above.size(),
                                 f.holding.scale.size(), f.holding.group.size()})
    if (size < n)
      throw nb::value_error("the limits of holding efforts do not fit the rows");
  for (const std::vector<std::int32_t> *each : {&f.modes.holding_laws, &f.modes.sliding_laws})
    if (std::any_of(each->begin(), each->end(), [&](std::int32_t k) { return k < 0 || k >= m.switching_count; }))
      throw nb::value_error("a law that holds rows does not exist");
  const auto check_rows = [](const std::vector<std::int32_t> &rows, std::size_t count) {
    if (std::any_of(rows.begin(), rows.end(), [&](std::int32_t k) { return k < 0 || std::size_t(k) >= count; }))
      throw nb::value_error("a locked row does not exist");
  };
  check_rows(f.modes.locked, n), check_rows(f.holding.dependent, holding);
  if (f.holding.coupling.size() != f.modes.locked.size() * f.holding.dependent.size())
    throw nb::value_error("the coupling of dependent rows does not fit");
  const Conditions &c = run.conditions;
  f.prescribed[0] = copy_marks(c.acceleration_prescribed, m.nv);
  f.prescribed[1] = copy_marks(c.velocity_prescribed, m.nv);
  f.prescribed[2] = copy_marks(c.position_prescribed, m.nv);
  f.cut_locked = copy_marks(c.cut_velocity_locked, m.cut_nv);
  for (const std::int32_t k : f.modes.locked) {
    const int place = f.rows[std::size_t(k)].place;
    if (place >= m.nv)
      f.cut_locked[std::size_t(place - m.nv)] = 0;
    else
      for (std::vector<unsigned char> &marks : f.prescribed)
        marks[std::size_t(place)] = 0;
  }
}

void add_friction(nb::module_ &module) {
  module.def(
      "solve_bounded_qp",
      [](const Doubles &A, const Doubles &b, const Doubles &lower, const Doubles &upper) {
        const std::size_t n = b.size();
        if (A.size() != n * n || lower.size() != n || upper.size() != n)
          throw nb::value_error("the sizes of the program do not fit");
        BoundedQp qp;
        qp.reserve(int(n));
        if (!qp.solve(int(n), A.data(), b.data(), lower.data(), upper.data(), nullptr))
          throw std::runtime_error("no solution was found");
        return nb::make_tuple(array_of(qp.x), array_of(qp.w), qp.free.members());
      },
      nb::arg("A"), nb::arg("b"), nb::arg("lower"), nb::arg("upper"));
  module.def(
      "solve_ellipsoid_qp",
      [](const Doubles &A, const Doubles &b, const Doubles &lower, const Doubles &upper, const Places &group,
         const Doubles &f) {
        const std::size_t n = b.size();
        if (A.size() != n * n || lower.size() != n || upper.size() != n || group.size() != n || f.size() != n)
          throw nb::value_error("the sizes of the program do not fit");
        const std::vector<std::int32_t> groups(group.data(), group.data() + n);
        EllipsoidQp qp;
        qp.reserve(int(n));
        if (!qp.solve({int(n), A.data(), b.data(), lower.data(), upper.data(), groups.data(), f.data(), nullptr}))
          throw std::runtime_error("no solution was found");
        return nb::make_tuple(array_of(qp.x), array_of(qp.w), qp.free.members(), qp.turns);
      },
      nb::arg("A"), nb::arg("b"), nb::arg("lower"), nb::arg("upper"), nb::arg("group"), nb::arg("f"));
  module.def(
      "minimal_widening",
      [](const Doubles &h, const Doubles &lower, const Doubles &upper, const Doubles &f, const Doubles &coupling,
         const Doubles &wide, const Places &group) {
        const std::size_t l = h.size(), n = lower.size();
        if (n < l || upper.size() != n || f.size() != n || wide.size() != n || group.size() != n ||
            coupling.size() != l * (n - l))
          throw nb::value_error("the sizes of the problem do not fit");
        const std::vector<std::int32_t> groups(group.data(), group.data() + n);
        const int most = groups.empty() ? -1 : *std::max_element(groups.begin(), groups.end());
        BoundWidening problem;
        problem.reserve(int(n));
        return problem.solve({int(l), int(n - l), h.data(), lower.data(), upper.data(), f.data(), wide.data(),
                              coupling.data(), groups.data(), most + 1});
      },
      nb::arg("h"), nb::arg("lower"), nb::arg("upper"), nb::arg("f"), nb::arg("coupling"), nb::arg("wide"),
      nb::arg("group"));
}

nb::dict friction_progress(const FrictionRun &f) {
  const FrictionProgress &p = f.progress;
  nb::dict found;
  found["change_times"] = array_of(p.times), found["changed"] = array_of(p.changed), found["held"] = array_of(p.held);
  found["hold"] = nb::make_tuple(p.rest_tol_factor, p.hold_time, p.held_until, p.next_review);
  return found;
}

nb::tuple friction_failure(const FrictionRun &f) {
  const char *kinds[] = {"", "no solution", "stagnation", "not finite"};
  return nb::make_tuple(kinds[int(f.failure)], f.failed_rows, f.failed_changes, f.failed_time);
}

nb::dict take_modes(std::vector<ModeLog> &modes, std::size_t rows) {
  std::vector<double> offsets{0.0}, times, signs, codes, impacts, unloaded;
  nb::list holds;
  for (std::size_t run = 0; run < modes.size(); ++run) {
    const ModeLog &log = modes[run];
    times.insert(times.end(), log.times.begin(), log.times.end());
    signs.insert(signs.end(), log.signs.begin(), log.signs.end());
    codes.insert(codes.end(), log.codes.begin(), log.codes.end());
    offsets.push_back(double(times.size()));
    for (const auto &[t, impact] : log.impacts)
      impacts.insert(impacts.end(), {double(run), t, double(impact.row), double(impact.side), impact.speed});
    for (const auto &[t, hold] : log.holds)
      holds.append(nb::make_tuple(run, t, hold.rows, hold.changes, hold.time));
    for (const std::int32_t row : log.unloaded)
      unloaded.insert(unloaded.end(), {double(run), double(row)});
  }
  modes.clear();
  nb::dict found;
  found["holds"] = holds;
  found["offsets"] = array_of(offsets), found["times"] = array_of(times);
  found["signs"] = doubles(signs.data(), {npy_intp(times.size()), npy_intp(rows)});
  found["codes"] = doubles(codes.data(), {npy_intp(times.size()), npy_intp(rows)});
  found["impacts"] = doubles(impacts.data(), {npy_intp(impacts.size() / 5), 5});
  found["unloaded"] = doubles(unloaded.data(), {npy_intp(unloaded.size() / 2), 2});
  return found;
}

namespace {

using Changes = std::vector<FrictionChange>;

// One number of each row of each change, (changes, rows); marks are bytes.
template <class S, class Part> nb::object by_rows(const Changes &changes, std::size_t rows, Part &&part) {
  const nb::object array =
      new_array({npy_intp(changes.size()), npy_intp(rows)}, sizeof(S) == 1 ? NPY_BOOL : NPY_DOUBLE);
  S *out = data_of<S>(array);
  for (const FrictionChange &change : changes)
    out = std::copy_n(part(change).begin(), rows, out);
  return array;
}

// Numbers of all changes one after the other, and how many each change has.
template <class Part> nb::tuple in_parts(const Changes &changes, Part &&part) {
  std::vector<double> counts, numbers;
  for (const FrictionChange &change : changes) {
    counts.push_back(double(part(change).size()));
    numbers.insert(numbers.end(), part(change).begin(), part(change).end());
  }
  return nb::make_tuple(array_of(numbers), array_of(counts));
}

// Impacts of all changes, (impacts, 4): number of the change, row, side, speed.
nb::object impacts_of(const Changes &changes) {
  std::vector<double> numbers;
  for (std::size_t k = 0; k < changes.size(); ++k)
    for (const StopImpact &impact : changes[k].impacts)
      numbers.insert(numbers.end(), {double(k), double(impact.row), double(impact.side), impact.speed});
  return doubles(numbers.data(), {npy_intp(numbers.size() / 4), 4});
}

} // namespace

nb::object take_changes(FrictionRun &f) {
  const Changes changes = std::exchange(f.changes, {});
  if (changes.empty())
    return nb::none();
  const std::size_t rows = f.rows.size(), size = changes.front().after.size();
  const HoldingLimits &holding = f.holding;
  const auto scalars = [&](auto &&part) {
    std::vector<double> numbers;
    for (const FrictionChange &change : changes)
      numbers.push_back(double(part(change)));
    return array_of(numbers);
  };
  nb::dict found;
  found["t"] = scalars([](const FrictionChange &c) { return c.t; });
  found["velocities_jumped"] = scalars([](const FrictionChange &c) { return c.velocities_jumped; });
  found["before"] = by_rows<double>(changes, size, [](const FrictionChange &c) -> auto & { return c.before; });
  found["after"] = by_rows<double>(changes, size, [](const FrictionChange &c) -> auto & { return c.after; });
  found["sign"] = by_rows<double>(changes, rows, [](const FrictionChange &c) -> auto & { return c.modes.sign; });
  found["side"] = by_rows<double>(changes, rows, [](const FrictionChange &c) -> auto & { return c.modes.side; });
  found["stuck"] =
      by_rows<unsigned char>(changes, rows, [](const FrictionChange &c) -> auto & { return c.modes.stuck; });
  found["immobile"] =
      by_rows<unsigned char>(changes, rows, [](const FrictionChange &c) -> auto & { return c.modes.immobile; });
  found["locked"] = in_parts(changes, [](const FrictionChange &c) -> auto & { return c.modes.locked; });
  found["holding_laws"] = in_parts(changes, [](const FrictionChange &c) -> auto & { return c.modes.holding_laws; });
  found["sliding_laws"] = in_parts(changes, [](const FrictionChange &c) -> auto & { return c.modes.sliding_laws; });
  found["passed"] = in_parts(changes, [](const FrictionChange &c) -> auto & { return c.passed; });
  found["unloaded"] = in_parts(changes, [](const FrictionChange &c) -> auto & { return c.unloaded; });
  found["impacts"] = impacts_of(changes);
  found["dependent"] = array_of(holding.dependent);
  found["unbounded_below"] = array_of(holding.unbounded_below);
  found["unbounded_above"] = array_of(holding.unbounded_above);
  found["coupling"] = array_of(holding.coupling), found["scale"] = array_of(holding.scale);
  found["holding_group"] = array_of(holding.group);
  nb::list holds;
  for (std::size_t k = 0; k < changes.size(); ++k)
    if (const HoldNote &hold = changes[k].hold; !hold.rows.empty())
      holds.append(nb::make_tuple(k, hold.rows, hold.changes, hold.time));
  found["holds"] = holds;
  nb::list jams, gains;
  for (std::size_t k = 0; k < changes.size(); ++k) {
    if (!changes[k].jams.empty())
      jams.append(nb::make_tuple(k, changes[k].jams, changes[k].jam_gain));
    if (!changes[k].gain_rows.empty())
      gains.append(nb::make_tuple(k, changes[k].gain_rows, changes[k].gain));
  }
  found["jams"] = jams, found["gains"] = gains;
  return found;
}

} // namespace dalembert::bind
