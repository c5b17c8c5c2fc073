#include "bind/friction.hpp"
#include "bind/kernel_methods.hpp"
#include <algorithm>
#include <nanobind/stl/vector.h>
#include <stdexcept>

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

} // namespace

void fill_friction(const ModelData &m, const Run &run, const nb::dict &given, FrictionRun &f) {
  const std::vector<std::int32_t> indices = whole_of<std::int32_t>(given, "indices");
  const std::vector<double> numbers = numbers_of(given, "numbers");
  const std::size_t n = indices.size() / 6;
  if (numbers.size() != 7 * n)
    throw nb::value_error("the rows of friction do not fit");
  for (std::size_t k = 0; k < n; ++k) {
    const std::int32_t *index = indices.data() + 6 * k;
    const double *number = numbers.data() + 7 * k;
    const std::int32_t sizes[6] = {m.nv + m.cut_nv,   m.nq + m.cut_nq,   m.parameter_count,
                                   m.parameter_count, m.parameter_count, m.signal_count};
    for (int j = 0; j < 6; ++j)
      if (index[j] >= sizes[j] || (j == 0 && index[j] < 0))
        throw nb::value_error("a row of friction does not fit the model");
    f.rows.push_back({index[0], index[1], index[2], index[3], index[4], index[5], number[0], number[1], number[2],
                      number[3], number[4], number[5], number[6]});
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
  f.rest_tol_factor = nb::cast<double>(given["rest_tol_factor"]);
  f.change_times = numbers_of(given, "change_times");
  f.modes.sign = numbers_of(given, "sign"), f.modes.side = numbers_of(given, "side");
  f.modes.stuck = marks_of(given, "stuck"), f.modes.immobile = marks_of(given, "immobile");
  f.modes.locked = whole_of<std::int32_t>(given, "locked");
  f.holding.holds = !f.modes.locked.empty();
  f.holding.dependent = whole_of<std::int32_t>(given, "dependent");
  f.holding.unbounded_below = marks_of(given, "unbounded_below");
  f.holding.unbounded_above = marks_of(given, "unbounded_above");
  f.holding.coupling = numbers_of(given, "coupling"), f.holding.scale = numbers_of(given, "scale");
  for (const std::size_t size :
       {f.modes.sign.size(), f.modes.side.size(), f.modes.stuck.size(), f.modes.immobile.size(),
        f.holding.unbounded_below.size(), f.holding.unbounded_above.size(), f.holding.scale.size()})
    if (size != n)
      throw nb::value_error("the modes of friction do not fit the rows");
  const auto outside = [&](std::int32_t row) { return row < 0 || std::size_t(row) >= n; };
  for (const std::vector<std::int32_t> *each : {&f.modes.locked, &f.holding.dependent})
    if (std::any_of(each->begin(), each->end(), outside))
      throw nb::value_error("a locked row does not exist");
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
}

nb::dict take_modes(std::vector<ModeLog> &modes, std::size_t rows) {
  std::vector<double> offsets{0.0}, times, signs, codes, impacts, unloaded;
  for (std::size_t run = 0; run < modes.size(); ++run) {
    const ModeLog &log = modes[run];
    times.insert(times.end(), log.times.begin(), log.times.end());
    signs.insert(signs.end(), log.signs.begin(), log.signs.end());
    codes.insert(codes.end(), log.codes.begin(), log.codes.end());
    offsets.push_back(double(times.size()));
    for (const auto &[t, impact] : log.impacts)
      impacts.insert(impacts.end(), {double(run), t, double(impact.row), double(impact.side), impact.speed});
    for (const std::int32_t row : log.unloaded)
      unloaded.insert(unloaded.end(), {double(run), double(row)});
  }
  modes.clear();
  nb::dict found;
  found["offsets"] = array_of(offsets), found["times"] = array_of(times);
  found["signs"] = doubles(signs.data(), {npy_intp(times.size()), npy_intp(rows)});
  found["codes"] = doubles(codes.data(), {npy_intp(times.size()), npy_intp(rows)});
  found["impacts"] = doubles(impacts.data(), {npy_intp(impacts.size() / 5), 5});
  found["unloaded"] = doubles(unloaded.data(), {npy_intp(unloaded.size() / 2), 2});
  return found;
}

nb::list take_changes(FrictionRun &f) {
  nb::list changes;
  for (const FrictionChange &change : f.changes) {
    nb::dict found;
    found["t"] = change.t;
    found["velocities_jumped"] = change.velocities_jumped;
    found["before"] = array_of(change.before), found["after"] = array_of(change.after);
    found["sign"] = array_of(change.modes.sign), found["side"] = array_of(change.modes.side);
    found["stuck"] = array_of(change.modes.stuck), found["immobile"] = array_of(change.modes.immobile);
    found["locked"] = array_of(change.modes.locked);
    found["dependent"] = array_of(change.holding.dependent);
    found["unbounded_below"] = array_of(change.holding.unbounded_below);
    found["unbounded_above"] = array_of(change.holding.unbounded_above);
    found["coupling"] = array_of(change.holding.coupling), found["scale"] = array_of(change.holding.scale);
    nb::list impacts;
    for (const StopImpact &impact : change.impacts)
      impacts.append(nb::make_tuple(impact.row, impact.side, impact.speed));
    found["impacts"] = impacts;
    found["unloaded"] = array_of(change.unloaded);
    changes.append(found);
  }
  f.changes.clear();
  return changes;
}

} // namespace dalembert::bind
