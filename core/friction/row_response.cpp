#include "friction/row_response.hpp"
#include "constraints/loop_constraints.hpp"
#include "constraints/loop_response.hpp"
#include "system/dynamics.hpp"
#include "tree/kinematics.hpp"
#include "tree/outputs.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

LoopWorkspace<double> &loops_of(const RunContext &i) { return i.work.motion.system.loops; }

const unsigned char *pointer(const std::vector<unsigned char> &marks) { return marks.empty() ? nullptr : marks.data(); }

} // namespace

void row_motion(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, double *s, double *u) {
  const ModelData &m = i.m;
  if (f.has_cut_rows) {
    Workspace<double> &ws = loops_of(i).ws;
    ws.t = i.run.interval.clamp(t);
    place_and_move(m, ws, q, v);
    cut_joints(m, ws, f.cut_q.data(), f.cut_v.data(), nullptr);
  }
  for (int k = 0; k < f.count(); ++k) {
    const FrictionRow &row = f.rows[std::size_t(k)];
    s[k] = row.coordinate < 0      ? std::numeric_limits<double>::quiet_NaN()
           : row.coordinate < m.nq ? q[row.coordinate]
                                   : f.cut_q[std::size_t(row.coordinate - m.nq)];
    u[k] = row.place < m.nv ? v[row.place] : f.cut_v[std::size_t(row.place - m.nv)];
  }
}

void row_accelerations(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, const double *a,
                       double *out) {
  const ModelData &m = i.m;
  if (f.has_cut_rows) {
    Workspace<double> &ws = loops_of(i).ws;
    ws.t = i.run.interval.clamp(t);
    place_and_move(m, ws, q, v);
    compute_accelerations(m, ws, a);
    cut_joints(m, ws, f.cut_q.data(), f.cut_v.data(), f.cut_a.data());
  }
  for (int k = 0; k < f.count(); ++k) {
    const int place = f.rows[std::size_t(k)].place;
    out[k] = place < m.nv ? a[place] : f.cut_a[std::size_t(place - m.nv)];
  }
}

// Factors of trees and loops at a configuration; between them `rows` sees the frames.
template <class Rows> static Factored factor_response(const RunContext &i, FrictionRun &f, double t, const double *q,
                                                      const unsigned char *marks, Rows &&rows) {
  const ModelData &m = i.m;
  LoopWorkspace<double> &loops = loops_of(i);
  loops.ws.t = i.run.interval.clamp(t);
  if (!m.nc) {
    factorize<double>(m, loops.ws, q, marks);
    return {};
  }
  evaluate_loop_constraints<double>(m, loops.ws, q, nullptr,
                                    {.values = loops.values,
                                     .leverage = loops.leverage,
                                     .opening = &loops.opening,
                                     .active = i.run.conditions.constraint_active,
                                     .held = pointer(f.cut_locked)});
  rows();
  return factor_loops(m, loops, q, marks);
}

void respond_to_vectors(const RunContext &i, FrictionRun &f, double t, const double *q,
                        const std::vector<unsigned char> &prescribed, int count, const double *vectors, double *D) {
  const unsigned char *marks = pointer(prescribed);
  const Factored factored = factor_response(i, f, t, q, marks, [] {});
  for (int k = 0; k < count; ++k)
    respond_to_row(i.m, loops_of(i), factored, marks, vectors + k * i.m.nv, D + k * i.m.nv,
                   i.work.motion.system.lambda);
}

void respond(const RunContext &i, FrictionRun &f, double t, const double *q,
             const std::vector<unsigned char> &prescribed, const std::vector<int> &rows) {
  const ModelData &m = i.m;
  LoopWorkspace<double> &loops = loops_of(i);
  const unsigned char *marks = pointer(prescribed);
  const int n = f.count(), nv = m.nv;
  const Factored factored = factor_response(i, f, t, q, marks, [&] {
    for (const int k : rows) {
      double *row = f.J.data() + std::ptrdiff_t(k) * nv;
      if (f.rows[std::size_t(k)].place < nv)
        continue;
      double coordinate;
      cut_coordinate(m, loops.ws, m.loop_constraints[f.constraint[std::size_t(k)]], f.part[std::size_t(k)], coordinate,
                     row);
    }
  });
  for (const int k : rows) {
    double *row = f.J.data() + std::ptrdiff_t(k) * nv, *d = f.D.data() + std::ptrdiff_t(k) * nv;
    if (const int place = f.rows[std::size_t(k)].place; place < nv) {
      std::fill_n(row, nv, 0.0);
      row[place] = 1.0;
    }
    f.own[std::size_t(k)] = respond_to_row(m, loops, factored, marks, row, d, i.work.motion.system.lambda);
  }
  for (const int k : rows)
    for (const int j : rows) {
      if (j > k)
        continue;
      double sum = 0.0, other = 0.0;
      for (int e = 0; e < nv; ++e) {
        sum += f.J[std::size_t(k * nv + e)] * f.D[std::size_t(j * nv + e)];
        other += f.J[std::size_t(j * nv + e)] * f.D[std::size_t(k * nv + e)];
      }
      f.A[std::size_t(k * n + j)] = f.A[std::size_t(j * n + k)] = 0.5 * (sum + other);
    }
}

bool evaluate_rows(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, const double *x,
                   double *accelerations) {
  if (!rates(i, t, q, v, x, i.work.a1, i.work.dx1))
    return false;
  row_accelerations(i, f, t, q, v, i.work.a1, accelerations);
  return true;
}

bool evaluate_rows_and_sizes(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v,
                             const double *x, const std::vector<int> &rows, double *accelerations, double *sizes) {
  const ModelData &m = i.m;
  if (!evaluate_rows(i, f, t, q, v, x, accelerations))
    return false;
  if (m.nc) { // with all loops open
    Conditions &c = i.run.conditions;
    const unsigned char *active = c.constraint_active;
    copy(i.work.a1, m.nv, i.work.change);
    c.constraint_active = f.opened.data();
    const bool done = rates(i, t, q, v, x, i.work.a1, i.work.dx1);
    c.constraint_active = active;
    if (!done)
      return false;
    if (!all_finite(i.work.a1, m.nv)) // the trees alone lack inertia
      copy(i.work.change, m.nv, i.work.a1);
  }
  double energies[2];
  Workspace<double> &ws = loops_of(i).ws;
  place_and_move(m, ws, q, i.work.a1);
  energy(m, ws, q, i.work.a1, energies);
  const double size = f.weight + std::sqrt(std::max(2.0 * energies[0], 0.0));
  for (const int k : rows)
    sizes[k] = f.own[std::size_t(k)] > 0.0 ? size / std::sqrt(f.own[std::size_t(k)]) : 0.0;
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
