#include "system/newton/fronts.hpp"

namespace dalembert::DALEMBERT_ISA {

// X3 y of the parent
template <class T> static void carry_motion(const NewtonWorkspace &work, int body, const T *from, T *to) {
  const double *p = work.apart + 3 * std::ptrdiff_t(body);
  for (int block = 0; block < 18; block += 6) {
    const T *w = from + block, *v = w + 3;
    to[block] = w[0], to[block + 1] = w[1], to[block + 2] = w[2];
    to[block + 3] = v[0] + (p[2] * w[1] - p[1] * w[2]);
    to[block + 4] = v[1] + (p[0] * w[2] - p[2] * w[0]);
    to[block + 5] = v[2] + (p[1] * w[0] - p[0] * w[1]);
  }
}

// y += s_q dq + s_v dv + s_a da for one degree of freedom
template <class T>
static DALEMBERT_INLINE void add_column(const double *column, const T &dq, const T &dv, const T &da, T *y) {
  for (int a = 0; a < 6; ++a) {
    y[a] += column[12 + a] * dq + column[18 + a] * dv + column[a] * da;
    y[6 + a] += column[6 + a] * dq + column[a] * dv;
    y[12 + a] += column[a] * dq;
  }
}

// What v0 and a0 make of loads and rows, to their other side.
template <class T> static void take_given(const ModelData &m, const NewtonWorkspace &work, NewtonFactors<T> &factors,
                                          const T *v0, const T *a0) {
  const FrontTables &fronts = m.fronts;
  std::fill_n(factors.y0, 18, T(0.0));
  for (int i = 1; i <= m.nb; ++i) {
    const FrontData &front = fronts.fronts[i];
    T *y = factors.y0 + 18 * std::ptrdiff_t(i), *h = factors.h + 6 * std::ptrdiff_t(i);
    carry_motion(work, i, factors.y0 + 18 * std::ptrdiff_t(m.bodies[i].parent), y);
    const int by = mover_of(m, i).v;
    for (int k = 0; k < front.moves; ++k)
      add_column(work.columns + 24 * (std::ptrdiff_t(front.column) + k), T(0.0), v0[by + k], a0[by + k], y);
    const double *own = work.own + std::ptrdiff_t(i) * 108;
    for (int r = 0; r < 6; ++r)
      for (int k = 0; k < 18; ++k)
        h[r] -= own[r * 18 + k] * y[k];
    for (int t = front.tap; t < front.tap + front.taps; ++t) {
      const LabelAtBodyData &tap = fronts.taps[t];
      const LabelData &label = fronts.labels[tap.label];
      const int n = label.size;
      const double *P = work.taps + tap.numbers, *B = P + 18 * n;
      for (int r = 0; r < n; ++r)
        for (int k = 0; k < 18; ++k)
          factors.x[label.first + r] -= P[r * 18 + k] * y[k];
      for (int r = 0; label.kind == LabelKind::dofs && r < 6; ++r)
        for (int k = 0; k < n; ++k)
          h[r] -= B[6 * n + r * n + k] * v0[label.first + k] + B[12 * n + r * n + k] * a0[label.first + k];
    }
  }
  for (int l = 0; l < fronts.link_count; ++l) {
    const LabelLinkData &link = fronts.links[l];
    const LabelData &row = fronts.labels[link.row], &label = fronts.labels[link.column];
    if (label.kind != LabelKind::dofs)
      continue;
    const std::ptrdiff_t n = label.size, block = n * row.size;
    const double *E = work.links + link.numbers;
    for (int i = 0; i < row.size; ++i)
      for (int k = 0; k < n; ++k)
        factors.x[row.first + i] -=
            E[block + i * n + k] * v0[label.first + k] + E[2 * block + i * n + k] * a0[label.first + k];
  }
}

template <class T>
static void solve_inward(const ModelData &m, const NewtonWorkspace &work, NewtonFactors<T> &factors, const T *a0) {
  const FrontTables &fronts = m.fronts;
  const std::int32_t *exchange = factors.exchange;
  for (int i = m.nb; i >= 0; --i) {
    const Front<T> front(fronts.fronts[i], factors.matrix);
    const std::int32_t *unknown = fronts.unknowns + front.data.unknown;
    T *h = factors.h + 6 * std::ptrdiff_t(i), *x = factors.x;
    const double *columns = work.columns + 24 * std::ptrdiff_t(front.data.column);
    for (int k = 0; k < front.data.moves; ++k)
      for (int a = 0; a < 6; ++a)
        x[mover_of(m, i).v + k] += columns[24 * k + a] * h[a];
    for (int k = 0; k < front.leaving; ++k)
      if (work.fixed[unknown[k]])
        x[unknown[k]] = unknown[k] < m.nv && a0 ? -a0[unknown[k]] : T(0.0);
    for (int k = 0; k < front.leaving; ++k)
      std::swap(x[unknown[k]], x[unknown[exchange[k]]]);
    for (int r = 1; r < front.leaving; ++r)
      for (int k = 0; k < r; ++k)
        x[unknown[r]] -= product(front.row(r)[k], x[unknown[k]]);
    for (int r = 0; r < 6; ++r)
      for (int k = 0; k < front.leaving; ++k)
        h[r] -= product(front.load(r)[k], x[unknown[k]]);
    for (int r = 0; r < front.open; ++r)
      for (int k = 0; k < front.leaving; ++k)
        x[unknown[front.leaving + r]] -= product(front.row(front.leaving + 6 + r)[k], x[unknown[k]]);
    exchange += front.leaving;
    if (!i || !m.bodies[i].parent)
      continue;
    T *to = factors.h + 6 * std::ptrdiff_t(m.bodies[i].parent);
    const double *p = work.apart + 3 * std::ptrdiff_t(i);
    to[0] += h[0] + (p[1] * h[5] - p[2] * h[4]);
    to[1] += h[1] + (p[2] * h[3] - p[0] * h[5]);
    to[2] += h[2] + (p[0] * h[4] - p[1] * h[3]);
    to[3] += h[3], to[4] += h[4], to[5] += h[5];
  }
}

template <class T> static void solve_outward(const ModelData &m, const NewtonWorkspace &work, const StepRates<T> &rates,
                                             NewtonFactors<T> &factors) {
  const FrontTables &fronts = m.fronts;
  std::fill_n(factors.y, 18, T(0.0));
  for (int i = 0; i <= m.nb; ++i) {
    const Front<T> front(fronts.fronts[i], factors.matrix);
    const std::int32_t *unknown = fronts.unknowns + front.data.unknown;
    T *y = factors.y + 18 * std::ptrdiff_t(i), *x = factors.x;
    if (i)
      carry_motion(work, i, factors.y + 18 * std::ptrdiff_t(m.bodies[i].parent), y);
    for (int r = front.leaving - 1; r >= 0; --r) {
      const T *row = front.row(r);
      T sum = x[unknown[r]] - inner(18, row + front.leaving, y);
      for (int k = r + 1; k < front.leaving; ++k)
        sum -= product(row[k], x[unknown[k]]);
      for (int k = 0; k < front.open; ++k)
        sum -= product(row[front.leaving + 18 + k], x[unknown[front.leaving + k]]);
      x[unknown[r]] = sum / row[r];
    }
    if (!i || !front.data.moves)
      continue;
    const BodyData &mover = mover_of(m, i);
    const Tied<T> tied(mover, rates);
    const T *dq = x + mover.v;
    for (int k = 0; k < front.data.moves; ++k) {
      T dv(0.0), da(0.0);
      if (tied.mixed)
        for (int j = 0; j < mover.nv; ++j)
          dv += tied.g1[k][j] * dq[j], da += tied.g2[k][j] * dq[j];
      else
        dv = rates.rate * dq[k], da = rates.second * dq[k];
      add_column(work.columns + 24 * (std::ptrdiff_t(front.data.column) + k), dq[k], dv, da, y);
    }
  }
}

template <class T> void solve_fronts(const ModelData &m, const NewtonWorkspace &work, const StepRates<T> &rates,
                                     NewtonFactors<T> &factors, const T *v0, const T *a0) {
  std::fill_n(factors.h, 6 * (std::size_t(m.nb) + 1), T(0.0));
  if (v0)
    take_given(m, work, factors, v0, a0);
  solve_inward(m, work, factors, a0);
  solve_outward(m, work, rates, factors);
}

template <class T> void solve_radau(const ModelData &m, const NewtonWorkspace &work, const StepRates<T> &rates,
                                    NewtonFactors<T> &factors, T *given, const T *r1, const T *r2, const T *r3, T *dxi,
                                    T *dv, T *dx) {
  T *v0 = given, *a0 = given + m.nv, *x = factors.x;
  std::fill_n(x, m.fronts.unknown_count, T(0.0));
  for (int f = 0; f < m.nv; ++f) {
    v0[f] = -r1[f];
    a0[f] = -product(rates.rate, r1[f]) - r2[f];
  }
  const auto states = [&](int k) { return x + m.fronts.labels[m.fronts.states_of[k]].first; };
  for (int k = 0; k < m.element_count; ++k)
    if (m.elements[k].states)
      std::copy_n(r3 + m.elements[k].state, m.elements[k].states, states(k));
  solve_fronts(m, work, rates, factors, v0, a0);
  for (int f = 0; f < m.nv; ++f) {
    dv[f] = product(rates.rate, x[f]) + v0[f];
    dxi[f] = x[f];
  }
  for (int i = 1; rates.turning && i <= m.nb; ++i)
    if (has_quaternion(m.bodies[i]))
      for_chart_slopes(m.bodies[i], rates.turning,
                       [&](int row, int column, double entry) { dv[row] -= entry * x[column]; });
  for (int k = 0; k < m.element_count; ++k)
    if (m.elements[k].states)
      std::copy_n(states(k), m.elements[k].states, dx + m.elements[k].state);
}

template void solve_fronts(const ModelData &, const NewtonWorkspace &, const StepRates<double> &,
                           NewtonFactors<double> &, const double *, const double *);
template void solve_fronts(const ModelData &, const NewtonWorkspace &, const StepRates<Complex> &,
                           NewtonFactors<Complex> &, const Complex *, const Complex *);

template void solve_radau(const ModelData &, const NewtonWorkspace &, const StepRates<double> &,
                          NewtonFactors<double> &, double *, const double *, const double *, const double *, double *,
                          double *, double *);
template void solve_radau(const ModelData &, const NewtonWorkspace &, const StepRates<Complex> &,
                          NewtonFactors<Complex> &, Complex *, const Complex *, const Complex *, const Complex *,
                          Complex *, Complex *, Complex *);

} // namespace dalembert::DALEMBERT_ISA
