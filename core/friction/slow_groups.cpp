#include "friction/slow_groups.hpp"
#include "friction/row_response.hpp"
#include "friction/switching_values.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double stuck_drift = 100.0; // rest tolerances: faster stuck rows were hit; slower ones drifted by projection
constexpr double driven_on = 1e-6;    // of the velocity before: what is left after a stop is no rounding

std::size_t at(int k) { return std::size_t(k); }

// friction of a row in (1) without that of its load, relative to the other rows of its group
double weight_of(const Change &c, int row) {
  const std::vector<FrictionRow> &rows = c.f.rows;
  double most = 0.0;
  for (const std::int32_t k : c.f.groups[at(rows[at(row)].group)])
    most = std::max(most, friction_limits(c.f, rows[at(k)], nullptr).sliding);
  return most > 0.0 ? friction_limits(c.f, rows[at(row)], nullptr).sliding / most : 1.0;
}

// The velocities (1) of the rows w.chosen, which `stop_rows` could not stop: the independent rows S that it stopped move
// by z again, the others D by T z, T = A_DS A_SS^-1:
//
//     (W_S W_S + T' W_D W_D T) z = -T' W_D W_D u_D
void keep_slowest_velocities(Change &c) {
  ChangeWorkspace &w = c.w;
  FrictionRun &f = c.f;
  const std::vector<int> &set = f.independent.members();
  const std::size_t m = set.size();
  if (!m)
    return;
  std::fill_n(w.squared.begin(), m * m, 0.0);
  std::fill_n(w.stop_b.begin(), m, 0.0);
  for (std::size_t j = 0; j < m; ++j) {
    const double weight = weight_of(c, set[j]);
    w.squared[j * m + j] = weight * weight;
  }
  for (const int k : w.chosen) {
    if (f.independent.contains(k))
      continue;
    double *T = w.impulses.data();
    for (std::size_t j = 0; j < m; ++j)
      T[j] = f.A[at(k * c.n + set[j])];
    f.independent.solve(T);
    const double weight = weight_of(c, k), square = weight * weight;
    for (std::size_t j = 0; j < m; ++j) {
      w.stop_b[j] += square * w.u[at(k)] * T[j];
      for (std::size_t l = 0; l < m; ++l)
        w.squared[j * m + l] += square * T[j] * T[l];
    }
  }
  for (std::size_t j = 0; j < m; ++j)
    w.stop_lower[j] = -w.unlimited[j];
  if (!f.qp.solve(int(m), w.squared.data(), w.stop_b.data(), w.stop_lower.data(), w.unlimited.data(), nullptr))
    return;
  double *impulse = w.impulses.data();
  std::copy_n(f.qp.x.begin(), m, impulse);
  f.independent.solve(impulse);
  for (std::size_t j = 0; j < m; ++j)
    for (int dof = 0; dof < c.i.m.nv; ++dof)
      c.v()[dof] += impulse[j] * f.D[at(set[j] * c.i.m.nv + dof)];
  read_motion(c);
}

} // namespace

bool was_sliding(const Change &c, int row) {
  const std::int32_t group = c.f.rows[at(row)].group;
  if (group < 0)
    return c.w.before.sign[at(row)] != 0.0;
  const std::vector<std::int32_t> &rows = c.f.groups[at(group)];
  return std::any_of(rows.begin(), rows.end(), [&](std::int32_t k) { return c.w.before.sign[at(k)] != 0.0; });
}

void find_starting_groups(Change &c) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  std::fill(w.starting.begin(), w.starting.end(), 0);
  const auto slow = [&](const std::vector<std::int32_t> &group) {
    const int first = group[0];
    return was_sliding(c, first) && w.speed[at(first)] > 0.0 && w.speed[at(first)] <= c.rest_tol(first);
  };
  if (std::none_of(f.groups.begin(), f.groups.end(), slow))
    return;
  double *a = w.free_accelerations.data();
  c.failed = c.failed || !evaluate_rows(c.i, f, c.i.run.t, c.q(), c.v(), c.i.work.x, a);
  for (const std::vector<std::int32_t> &group : f.groups) {
    double growth = 0.0;
    for (const std::int32_t k : group)
      growth += w.u[at(k)] * a[k];
    for (const std::int32_t k : group)
      w.starting[at(k)] = slow(group) && growth > 0.0;
  }
}

void mark_slow_rows(Change &c) {
  for (int k = 0; k < c.n; ++k) {
    const double tolerance = c.rest_tol(k) * (c.w.before.stuck[at(k)] ? stuck_drift : 1.0);
    c.w.at_rest[at(k)] = c.f.movable[at(k)] && c.w.speed[at(k)] <= tolerance && !c.w.starting[at(k)];
  }
}

void stop_slow_groups(Change &c) {
  ChangeWorkspace &w = c.w;
  if (c.f.groups.empty())
    return;
  w.chosen.clear();
  double before = 0.0, after = 0.0;
  for (int k = 0; k < c.n; ++k)
    if (c.f.rows[at(k)].group >= 0 && (w.at_rest[at(k)] || w.marks[at(k)])) {
      w.chosen.push_back(k);
      before = std::max(before, std::fabs(w.u[at(k)]));
    }
  if (before == 0.0)
    return;
  find_response(c, c.f.prescribed[1], w.chosen);
  stop_rows(c, w.chosen);
  read_motion(c);
  for (const int k : w.chosen)
    after = std::max(after, std::fabs(w.u[at(k)]));
  if (after > driven_on * before)
    keep_slowest_velocities(c);
  mark_slow_rows(c);
}

} // namespace dalembert::DALEMBERT_ISA
