// Inputs of laws that are earlier values of coordinates, velocities and element states of a run.
//
// Between two rows of the past a coordinate is the quintic through values, velocities and accelerations at both ends,
// an element state the cubic through values and rates; y(s), s the fraction of the time h between them:
//
//     y = c_0 + c_1 s + ... + c_5 s^5,     y' = (c_1 + 2 c_2 s + ... + 5 c_5 s^4) / h                               (1)
//
// Before the first row an input has a constant value, after the last that of the last row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace dalembert {

enum class DelayedKind : std::int32_t { position, velocity, state };

struct DelayedInput {
  DelayedKind kind;
  std::int32_t place, rate; // of its coordinate and the velocity of that; or of the element state, twice
  double delay;             // s
  double before;            // its value before the run began
};

struct DelayedInputs {
  static constexpr int levels = 3, terms = 6; // numbers of a row and of a piece for each input

  std::vector<DelayedInput> inputs;
  std::vector<double> t;      // of the rows
  std::vector<double> rows;   // rows x inputs x levels: value, rate and second rate
  std::vector<double> pieces; // from each row to the next, rows x inputs x terms

  // adds a row, behind the first `kept` ones
  void add(std::size_t kept, double time, const double *q, const double *v, const double *x, const double *a,
           const double *dx) {
    const std::size_t n = inputs.size();
    t.resize(kept), rows.resize(kept * n * levels), pieces.resize((kept ? kept - 1 : 0) * n * terms);
    t.push_back(time);
    for (const DelayedInput &input : inputs) {
      const bool state = input.kind == DelayedKind::state;
      rows.push_back(state ? x[input.place] : q[input.place]);
      rows.push_back(state ? dx[input.place] : v[input.rate]);
      rows.push_back(state ? 0.0 : a[input.rate]);
    }
    if (!kept)
      return;
    const double h = time - t[kept - 1];
    pieces.resize(kept * n * terms, 0.0);
    for (std::size_t k = 0; k < n && h > 0.0; ++k)
      set_piece(h, rows.data() + ((kept - 1) * n + k) * levels, rows.data() + (kept * n + k) * levels,
                inputs[k].kind != DelayedKind::state, pieces.data() + ((kept - 1) * n + k) * terms);
  }

  // an input at a time of the run
  double value(std::size_t number, double now) const {
    const DelayedInput &input = inputs[number];
    const double time = now - input.delay;
    if (t.empty() || time < t.front())
      return input.before;
    const std::size_t k = std::size_t(std::upper_bound(t.begin(), t.end(), time) - t.begin()) - 1;
    const bool rate = input.kind == DelayedKind::velocity;
    if (k + 1 >= t.size() || t[k] == time)
      return rows[(k * inputs.size() + number) * levels + rate];
    const double h = t[k + 1] - t[k], s = (time - t[k]) / h;
    const double *c = pieces.data() + (k * inputs.size() + number) * terms;
    double sum = 0.0;
    for (int power = terms - 1; power >= int(rate); --power)
      sum = sum * s + (rate ? power * c[power] : c[power]);
    return rate ? sum / h : sum;
  }

  // the laws of callbacks: three numbers each (see Callbacks)
  static bool evaluate(void *self, std::int64_t, double now, const double *, const double *, const double *,
                       double *laws, double *, double *) {
    const DelayedInputs &me = *static_cast<const DelayedInputs *>(self);
    for (std::size_t k = 0; k < me.inputs.size(); ++k) {
      laws[3 * k] = me.value(k, now);
      laws[3 * k + 1] = laws[3 * k + 2] = 0.0;
    }
    return true;
  }

private:
  // (1) from values and rates at both ends. In very short intervals the displacement is rounding, or what closing loops
  // has added, and would spoil the rates: there that of the rates is taken.
  static void set_piece(double h, const double *first, const double *last, bool quintic, double *c) {
    constexpr double eps = std::numeric_limits<double>::epsilon(), loop_rounding = 1e3;
    const double d0 = h * first[1], d1 = h * last[1];
    double b0 = 0.0, b1 = 0.0, by_rates = (d0 + d1) / 2, changes = std::numeric_limits<double>::infinity();
    if (quintic) {
      b0 = h * h * first[2], b1 = h * h * last[2];
      by_rates += (b0 - b1) / 12;
      changes = std::fabs(b1 - b0) + std::fabs(d1 - d0 - (b0 + b1) / 2);
    }
    double rise = last[0] - first[0];
    const double away = std::fabs(rise - by_rates), size = std::max(std::fabs(first[0]), std::fabs(last[0]));
    if (away <= 4 * eps * size || (away > changes && away <= loop_rounding * eps * std::max(1.0, size)))
      rise = by_rates;
    c[0] = first[0], c[1] = d0;
    if (!quintic) {
      c[2] = 3 * rise - 2 * d0 - d1, c[3] = -2 * rise + d0 + d1, c[4] = c[5] = 0.0;
      return;
    }
    b0 /= 2, b1 /= 2;
    const double r = rise - d0 - b0, r1 = d1 - d0 - 2 * b0, r2 = 2 * b1 - 2 * b0;
    c[2] = b0, c[3] = 10 * r - 4 * r1 + r2 / 2, c[4] = -15 * r + 7 * r1 - r2, c[5] = 6 * r - 3 * r1 + r2 / 2;
  }
};

} // namespace dalembert
