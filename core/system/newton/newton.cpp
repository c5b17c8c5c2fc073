#include "system/newton/fronts.hpp"

namespace dalembert::DALEMBERT_ISA {

static int max_moves(const ModelData &m) {
  int most = 1;
  for (int i = 1; i <= m.nb; ++i)
    most = std::max(most, int(m.fronts.fronts[i].moves));
  return most;
}

std::size_t lay_out(const ModelData &m, std::byte *base, NewtonWorkspace &work) {
  Arena arena{base};
  if (!m.fronts.label_count)
    return 0;
  const std::size_t n = std::size_t(m.nb) + 1, columns = std::size_t(m.fronts.column_count);
  work.max_moves = max_moves(m);
  work.own = arena.take<double>(108 * n);
  work.columns = arena.take<double>(24 * columns);
  work.bent = arena.take<double>(columns * std::size_t(work.max_moves));
  work.passed = arena.take<double>(6 * n);
  work.apart = arena.take<double>(3 * n);
  work.taps = arena.take<double>(std::size_t(m.fronts.tap_numbers));
  work.links = arena.take<double>(std::size_t(m.fronts.link_numbers));
  work.fixed = arena.take<unsigned char>(std::size_t(m.fronts.unknown_count));
  return arena.used;
}

template <class T> std::size_t lay_out(const ModelData &m, std::byte *base, NewtonFactors<T> &factors) {
  Arena arena{base};
  if (!m.fronts.label_count)
    return 0;
  const std::size_t n = std::size_t(m.nb) + 1, unknowns = std::size_t(m.fronts.unknown_count);
  factors.matrix = arena.take<T>(std::size_t(m.fronts.matrix_numbers));
  factors.exchange = arena.take<std::int32_t>(unknowns);
  factors.y = arena.take<T>(18 * n);
  factors.y0 = arena.take<T>(18 * n);
  factors.h = arena.take<T>(6 * n);
  factors.x = arena.take<T>(unknowns);
  factors.s = arena.take<T>(18 * std::size_t(max_moves(m)));
  factors.size = arena.take<double>(unknowns);
  return arena.used;
}

bool has_frontal_solver(const ModelData &m, const Conditions &c) {
  return m.fronts.label_count > 0 && !m.feedback_count && c.stabilization[0] == 0.0 && c.stabilization[1] == 0.0 &&
         !(c.callbacks && (c.callbacks->gives_forces || c.callbacks->depends_on_state));
}

bool use_frontal_solver(const ModelData &m, const Conditions &c, bool kept) {
  return (kept ? m.fronts.pays_kept : m.fronts.pays_fresh) && has_frontal_solver(m, c);
}

// what is stamped at a body: the body itself, taps, links, ones
template <class T> static void stamp_front(const ModelData &m, const NewtonWorkspace &work, const StepRates<T> &rates,
                                           const Front<T> &front, int body) {
  const FrontTables &fronts = m.fronts;
  const double *own = work.own + std::ptrdiff_t(body) * 108;
  for (int r = 0; body && r < 6; ++r)
    for (int k = 0; k < 18; ++k)
      front.load(r)[front.leaving + k] += own[r * 18 + k];
  for (int t = front.data.tap; t < front.data.tap + front.data.taps; ++t) {
    const LabelAtBodyData &tap = fronts.taps[t];
    const LabelData &label = fronts.labels[tap.label];
    const int n = label.size, row = front.row_of(tap.offset), column = front.column_of(tap.offset);
    const double *P = work.taps + tap.numbers, *B = P + 18 * n;
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < 18; ++j)
        front.row(row + k)[front.leaving + j] += P[k * 18 + j];
    const bool moving = label.kind == LabelKind::dofs;
    for (int r = 0; r < 6; ++r)
      for (int k = 0; k < n; ++k)
        front.load(r)[column + k] +=
            moving ? B[r * n + k] + rates.rate * B[6 * n + r * n + k] + rates.second * B[12 * n + r * n + k]
                   : T(B[r * n + k]);
  }
  for (int l = front.data.link; l < front.data.link + front.data.links; ++l) {
    const LabelLinkData &link = fronts.links[l];
    const LabelData &row_label = fronts.labels[link.row], &label = fronts.labels[link.column];
    const int rows = row_label.size, n = label.size, row = front.row_of(link.row_offset),
              column = front.column_of(link.column_offset);
    const double *E = work.links + link.numbers;
    const std::ptrdiff_t block = std::ptrdiff_t(rows) * n;
    if (label.kind != LabelKind::dofs) {
      for (int i = 0; i < rows; ++i)
        for (int k = 0; k < n; ++k)
          front.row(row + i)[column + k] += E[i * n + k];
      continue;
    }
    const Tied<T> tied(m.bodies[label.owner], rates);
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < n; ++k) {
        const double *e = E + i * n;
        T sum(e[k]);
        if (!tied.mixed)
          sum += rates.rate * e[block + k] + rates.second * e[2 * block + k];
        for (int j = 0; tied.mixed && j < n; ++j)
          sum += tied.g1[j][k] * e[block + j] + tied.g2[j][k] * e[2 * block + j];
        front.row(row + i)[column + k] += sum;
      }
  }
  for (int k = 0, at = 0; k < front.data.labels; ++k) {
    const LabelData &label = fronts.labels[fronts.leaving[front.data.label + k]];
    for (int j = 0; j < label.size; ++j, ++at)
      if (label.kind == LabelKind::states)
        front.row(at)[at] += rates.rate;
      else if (label.kind == LabelKind::port || label.kind == LabelKind::constraint || label.kind == LabelKind::signals)
        front.row(at)[at] += 1.0;
  }
}

// (2), (4): the column and row of the degrees of freedom that move the body
template <class T> static void joint_front(const ModelData &m, const NewtonWorkspace &work, const StepRates<T> &rates,
                                           const Front<T> &front, int body, T *s) {
  const int n = front.data.moves;
  if (!n)
    return;
  const double *columns = work.columns + 24 * std::ptrdiff_t(front.data.column);
  const double *bent = work.bent + std::ptrdiff_t(front.data.column) * work.max_moves;
  const Tied<T> tied(mover_of(m, body), rates);
  for (int k = 0; k < n; ++k) {
    const double *own = columns + 24 * k;
    for (int a = 0; a < 6; ++a) {
      s[a * n + k] = T(own[12 + a]);
      s[(6 + a) * n + k] = T(own[6 + a]);
      s[(12 + a) * n + k] = T(own[a]);
    }
    for (int j = tied.mixed ? 0 : k; j < (tied.mixed ? n : k + 1); ++j) {
      const double *other = columns + 24 * j;
      const T g1 = tied.first(rates, j, k), g2 = tied.second(rates, j, k);
      for (int a = 0; a < 6; ++a) {
        s[a * n + k] += g1 * other[18 + a] + g2 * other[a];
        s[(6 + a) * n + k] += g1 * other[a];
      }
    }
  }
  const int row = front.row_of(front.data.own), column = front.column_of(front.data.own);
  for (int r = 0; r < front.rows(); ++r) {
    T *to = front.row(r) + column;
    const T *G = front.row(r) + front.leaving;
    if (n == 1)
      to[0] += inner(18, G, s);
    else
      for (int a = 0; a < 18; ++a)
        add(n, G[a], s + a * n, to);
  }
  for (int k = 0; k < n; ++k) {
    for (int a = 0; a < 6; ++a)
      add(front.width, columns[24 * k + a], front.load(a), front.row(row + k));
    for (int j = 0; j < n; ++j)
      front.row(row + k)[column + j] += bent[k * work.max_moves + j];
  }
  const double *F = work.passed + 6 * std::ptrdiff_t(body);
  const Vec3<double> moment{F[0], F[1], F[2]}, force{F[3], F[4], F[5]};
  for (int k = 0; k < n; ++k) {
    const double *H = columns + 24 * k;
    const Vec3<double> w{H[0], H[1], H[2]}, v{H[3], H[4], H[5]};
    const Vec3<double> turned = cross(w, moment) + cross(v, force), pushed = cross(w, force);
    const double change[6] = {turned.x, turned.y, turned.z, pushed.x, pushed.y, pushed.z};
    for (int a = 0; a < 6; ++a)
      front.load(a)[column + k] += change[a];
  }
}

// rows that are replaced
template <class T> static void fix_rows(const ModelData &m, const NewtonWorkspace &work, const StepRates<T> &rates,
                                        const Front<T> &front) {
  const FrontTables &fronts = m.fronts;
  const std::int32_t *unknown = fronts.unknowns + front.data.unknown;
  for (int k = 0, at = 0; k < front.data.labels; at += fronts.labels[fronts.leaving[front.data.label + k]].size, ++k) {
    const LabelData &label = fronts.labels[fronts.leaving[front.data.label + k]];
    for (int j = 0; j < label.size; ++j) {
      if (!work.fixed[unknown[at + j]])
        continue;
      T *row = front.row(at + j);
      std::fill_n(row, front.width, T(0.0));
      row[at + j] = T(1.0);
      if (label.kind != LabelKind::dofs)
        continue;
      const Tied<T> tied(m.bodies[label.owner], rates);
      for (int i = 0; i < label.size; ++i)
        row[at + i] = tied.second(rates, j, i);
    }
  }
}

// unknowns [begin, end) of those that leave, with exchanges among them
template <class T>
static bool eliminate(const Front<T> &front, int begin, int end, std::int32_t *exchange, double *size) {
  constexpr double singular = 1e-20;
  for (int r = begin; r < end; ++r) {
    size[r] = 0.0;
    for (int k = begin; k < end; ++k)
      size[r] = std::max(size[r], size_of(front.row(r)[k]));
    if (!(size[r] > 0.0 && std::isfinite(size[r])))
      return false;
  }
  for (int k = begin; k < end; ++k) {
    int pivot = k;
    for (int r = k + 1; r < end; ++r)
      if (size_of(front.row(r)[k]) * size[pivot] > size_of(front.row(pivot)[k]) * size[r])
        pivot = r;
    exchange[k] = pivot;
    if (pivot != k) {
      std::swap_ranges(front.row(k), front.row(k) + front.width, front.row(pivot));
      std::swap(size[k], size[pivot]);
    }
    T *row = front.row(k);
    if (!(size_of(row[k]) > singular * size[k]))
      return false;
    const T inverse = 1.0 / row[k];
    for (int r = k + 1; r < front.rows(); ++r) {
      T *other = front.row(r);
      const T factor = product(other[k], inverse);
      other[k] = factor;
      if (factor != T(0.0))
        add(front.width - k - 1, -factor, row + k + 1, other + k + 1);
    }
  }
  return true;
}

// Rows of multipliers, after all else that leaves: their pivots by themselves are known now, and a part of these makes
// rows that repeat others harmless. One that nothing moves is left out.
template <class T> static void part_rows(const ModelData &m, const NewtonWorkspace &work, const Front<T> &front) {
  const std::int32_t *unknown = m.fronts.unknowns + front.data.unknown;
  for (int r = front.leaving - front.data.multipliers; r < front.leaving; ++r) {
    T *row = front.row(r);
    if (size_of(row[r]) > 0.0) {
      row[r] += 1e-12 * row[r];
      continue;
    }
    std::fill_n(row, front.width, T(0.0));
    row[r] = T(1.0);
    work.fixed[unknown[r]] = 1;
  }
}

// what is left, moved to the origin of the parent and added there
template <class T> static void hand_on(const ModelData &m, const NewtonWorkspace &work, const Front<T> &front,
                                       const Front<T> &parent, int body) {
  const double *p = work.apart + 3 * std::ptrdiff_t(body);
  const bool ground = !m.bodies[body].parent;
  const int first = front.leaving, width = front.width - first;
  const std::int32_t *into = m.fronts.into + front.data.into;
  if (!ground)
    for (int k = 0; k < 3; ++k) { // n += p x f
      const int l = (k + 1) % 3, r = (k + 2) % 3;
      add(width, p[l], front.load(3 + r) + first, front.load(k) + first);
      add(width, -p[r], front.load(3 + l) + first, front.load(k) + first);
    }
  for (int r = ground ? 6 : 0; r < 6 + front.open; ++r) {
    T *from = front.row(first + r) + first;
    T *to = r < 6 ? parent.load(r) : parent.row(parent.row_of(into[r - 6]));
    for (int block = 0; !ground && block < 18; block += 6) { // by w: p x (by v)
      T *w = from + block, *v = w + 3, *sum = to + parent.leaving + block;
      sum[0] += w[0] + p[1] * v[2] - p[2] * v[1];
      sum[1] += w[1] + p[2] * v[0] - p[0] * v[2];
      sum[2] += w[2] + p[0] * v[1] - p[1] * v[0];
      sum[3] += v[0], sum[4] += v[1], sum[5] += v[2];
    }
    for (int k = 0; k < front.open; ++k)
      to[parent.column_of(into[k])] += from[18 + k];
  }
}

template <class T> bool factor_fronts(const ModelData &m, const NewtonWorkspace &work, const StepRates<T> &rates,
                                      NewtonFactors<T> &factors) {
  const FrontTables &fronts = m.fronts;
  std::fill_n(factors.matrix, fronts.matrix_numbers, T(0.0));
  std::int32_t *exchange = factors.exchange;
  for (int i = m.nb; i >= 0; --i) {
    const Front<T> front(fronts.fronts[i], factors.matrix);
    stamp_front(m, work, rates, front, i);
    joint_front(m, work, rates, front, i, factors.s);
    fix_rows(m, work, rates, front);
    const int plain = front.leaving - front.data.multipliers;
    if (!eliminate(front, 0, plain, exchange, factors.size))
      return false;
    part_rows(m, work, front);
    if (!eliminate(front, plain, front.leaving, exchange, factors.size))
      return false;
    exchange += front.leaving;
    if (i)
      hand_on(m, work, front, Front<T>(fronts.fronts[front.data.next], factors.matrix), i);
  }
  return true;
}

template std::size_t lay_out(const ModelData &, std::byte *, NewtonFactors<double> &);
template std::size_t lay_out(const ModelData &, std::byte *, NewtonFactors<Complex> &);
template bool factor_fronts(const ModelData &, const NewtonWorkspace &, const StepRates<double> &,
                            NewtonFactors<double> &);
template bool factor_fronts(const ModelData &, const NewtonWorkspace &, const StepRates<Complex> &,
                            NewtonFactors<Complex> &);

} // namespace dalembert::DALEMBERT_ISA
