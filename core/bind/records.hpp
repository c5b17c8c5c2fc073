// What an integrator records: states of steps or samples, branches of laws, and parameters that were set.
#pragma once

#include "bind/batch.hpp"
#include <bit>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace dalembert::bind {

// Rows of element states as they come in. Many of them are bristles of contacts that are open: of long rows those that
// are not zero are kept.
class StateRows {
public:
  explicit StateRows(std::size_t width) : width(width) {}

  void append(const double *x) {
    if (width <= long_row)
      return dense.append(x, x + width);
    for (std::size_t k = 0; k < width; ++k)
      if (std::bit_cast<std::uint64_t>(x[k]))
        entries.push_back({rows, k, x[k]});
    ++rows;
  }
  // all rows, which leave
  GrowingArray<double> take() {
    if (width <= long_row)
      return std::exchange(dense, {});
    GrowingArray<double> all = GrowingArray<double>::zeros(rows * width);
    for (const Entry &each : entries)
      all[each.row * width + each.place] = each.value;
    entries.clear();
    rows = 0;
    return all;
  }
  void reserve(std::size_t count) {
    if (width <= long_row)
      dense.reserve(count * width);
  }

private:
  static constexpr std::size_t long_row = 256;
  struct Entry {
    std::size_t row, place;
    double value;
  };
  std::size_t width, rows = 0;
  GrowingArray<double> dense;
  GrowingArray<Entry> entries;
};

// rows of numbers as they come in
struct Records {
  Records(std::size_t nq, std::size_t nv, std::size_t nx) : nq(nq), nv(nv), nx(nx), x(nx) {}

  std::size_t nq, nv, nx;
  GrowingArray<double> t{}, q{}, v{}, a{};
  StateRows x;
  std::vector<double> steps{};                        // where steps ended, while samples were recorded
  std::vector<double> switch_times{}, switch_sides{}; // of switching functions, from a time on

  static void switched(void *self, double t, const double *sides, int count) {
    Records &r = *static_cast<Records *>(self);
    r.switch_times.push_back(t);
    r.switch_sides.insert(r.switch_sides.end(), sides, sides + count);
  }
  static void stepped(void *self, double t) { static_cast<Records *>(self)->steps.push_back(t); }
  static bool record(void *self, double t, const double *q, const double *v, const double *x, const double *a) {
    Records &r = *static_cast<Records *>(self);
    r.t.push_back(t);
    r.q.append(q, q + r.nq), r.v.append(v, v + r.nv), r.x.append(x);
    if (a)
      r.a.append(a, a + r.nv);
    return true;
  }
  static bool drop(void *, double, const double *, const double *, const double *, const double *) { return true; }
  nb::tuple take() {
    const npy_intp n = npy_intp(t.size());
    const npy_intp rates = npy_intp(nv ? a.size() / nv : 0);
    GrowingArray<double> states = x.take();
    return nb::make_tuple(take_doubles(t, {n}), take_doubles(q, {n, npy_intp(nq)}), take_doubles(v, {n, npy_intp(nv)}),
                          take_doubles(states, {n, npy_intp(nx)}), take_doubles(a, {rates, npy_intp(nv)}));
  }
  void reserve(std::size_t rows) {
    t.reserve(rows), q.reserve(rows * nq), v.reserve(rows * nv), x.reserve(rows), a.reserve(rows * nv);
  }
};

// Parameters of elements that were set during a run: each change from a time on.
struct ParameterLog {
  struct Change {
    double t;
    std::size_t friction_changes; // changes of friction before it that were not taken yet
    double usual_min_pivot;       // of the loops, up to it
    std::size_t end;              // of its values
  };
  struct Value {
    std::int32_t place;
    double value;
  };
  std::deque<Change> changes{}; // no element moves as they grow
  std::deque<Value> values{};

  // (t, friction changes before, usual pivots), a row per change; (change, place, value), a row per value
  nb::tuple take() {
    std::vector<double> rows, numbers;
    std::size_t first = 0;
    for (std::size_t k = 0; k < changes.size(); first = changes[k++].end) {
      const Change &c = changes[k];
      rows.insert(rows.end(), {c.t, double(c.friction_changes), c.usual_min_pivot});
      for (std::size_t j = first; j < c.end; ++j)
        numbers.insert(numbers.end(), {double(k), double(values[j].place), values[j].value});
    }
    nb::tuple result = nb::make_tuple(doubles(rows.data(), {npy_intp(changes.size()), 3}),
                                      doubles(numbers.data(), {npy_intp(numbers.size() / 3), 3}));
    clear();
    return result;
  }
  void clear() {
    changes.clear();
    values.clear();
  }
};

} // namespace dalembert::bind
