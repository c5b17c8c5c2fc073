#include "system/self_stress.hpp"
#include "tree/kinematics.hpp"
#include <algorithm>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

// numbers up to which dependence of all rows together is looked for
constexpr std::int64_t max_numbers = std::int64_t(1) << 22;

std::size_t lay_out(const ModelData &m, std::byte *base, SelfStressWorkspace &work) {
  Arena arena{base};
  const std::int64_t n = m.nc, connections = connection_count(m);
  const bool general = n && n * std::max<std::int64_t>(6 * connections, std::max<std::int64_t>(n, m.nv)) <= max_numbers;
  // a loop constraint's own states, or states of any rows
  work.max_states = general ? m.nc : m.spare_rows;
  work.max_rows = general ? n * n : 6 * std::int64_t(m.spare_rows);
  work.max_loads = general ? n * connections : m.spare_loads;
  work.states = 0;
  const std::size_t states = std::size_t(work.max_states);
  work.row_start = arena.take<std::int32_t>(states + 1);
  work.load_start = arena.take<std::int32_t>(states + 1);
  work.row = arena.take<std::int32_t>(std::size_t(work.max_rows));
  work.weight = arena.take<double>(std::size_t(work.max_rows));
  work.connection = arena.take<std::int32_t>(std::size_t(work.max_loads));
  work.load = arena.take<double>(6 * std::size_t(work.max_loads));
  work.scattered = arena.take<double>(6 * std::size_t(m.nc ? connections : 0));
  work.gram = arena.take<double>(states * states);
  work.side = arena.take<double>(states);
  work.effort = arena.take<double>(std::size_t(m.nc ? m.nv : 0));
  work.J = arena.take<double>(general ? std::size_t(n * m.nv) : 0);
  work.R = arena.take<double>(general ? std::size_t(n * n) : 0);
  work.left = arena.take<double>(general ? std::size_t(n) : 0);
  work.lambda_scaled = arena.take<double>(general ? std::size_t(n) : 0);
  work.order = arena.take<std::int32_t>(general ? std::size_t(n) : 0);
  if (!general)
    work.J = nullptr;
  return arena.used;
}

// ---- what a state does

static void begin_state(SelfStressWorkspace &work) {
  if (!work.states)
    work.row_start[0] = work.load_start[0] = 0;
  work.row_start[work.states + 1] = work.row_start[work.states];
  work.load_start[work.states + 1] = work.load_start[work.states];
}

static void add_row(SelfStressWorkspace &work, int row, double weight) {
  std::int32_t &end = work.row_start[work.states + 1];
  work.row[end] = row;
  work.weight[end++] = weight;
}

// [moment n; force f] at a point, world axes, to the second marker M of a connection; added to what the state has there
static void add_load(SelfStressWorkspace &work, int connection, const Vec3<double> &point, const Vec3<double> &marker,
                     double sign, const Vec3<double> &n, const Vec3<double> &f) {
  std::int32_t &end = work.load_start[work.states + 1];
  int k = work.load_start[work.states];
  while (k < end && work.connection[k] != connection)
    ++k;
  double *to = work.load + 6 * std::ptrdiff_t(k);
  if (k == end) {
    work.connection[end++] = connection;
    for (int i = 0; i < 6; ++i)
      to[i] = 0.0;
  }
  const Vec3<double> moment = n + cross(point - marker, f);
  const double parts[6] = {moment.x, moment.y, moment.z, f.x, f.y, f.z};
  for (int i = 0; i < 6; ++i)
    to[i] += sign * parts[i];
}

// A loop constraint presses with [n; f] on B at its origin: its own load, and those of the joints on the ways to its
// ends, each of which holds what acts on all that it carries.
static void press(const ModelData &m, const Workspace<double> &ws, SelfStressWorkspace &work, int k,
                  const Vec3<double> &point, const Vec3<double> &n, const Vec3<double> &f) {
  const LoopConstraintData &constraint = m.loop_constraints[k];
  add_load(work, m.users + k, point, point, 1.0, n, f);
  int a = constraint.body_a, b = constraint.body_b;
  while (a != b) { // parent < child: step in from whichever is further out until they meet
    const bool at_b = b > a;
    int &i = at_b ? b : a;
    if (const int user = m.bodies[i].joint) {
      const JointMarkerData &marker = m.markers[user - 1];
      const double sign = (at_b ? -1.0 : 1.0) * (marker.outboard ? 1.0 : -1.0);
      add_load(work, user - 1, point, point_in_world(ws, marker.body, as_vec(marker.p_FM)), sign, n, f);
    }
    i = m.bodies[i].parent;
  }
}

// what the rows of the state that is being made do, constraint by constraint
static void load_state(const ModelData &m, SystemWorkspace<double> &system, SelfStressWorkspace &work) {
  Workspace<double> &ws = system.loops.ws;
  const int begin = work.row_start[work.states], end = work.row_start[work.states + 1];
  int known = -1;
  LoopConstraintRows<double> rows;
  LoopConstraintPose<double> place;
  Vec3<double> n{0, 0, 0}, f{0, 0, 0};
  const auto flush = [&] {
    if (known >= 0)
      press(m, ws, work, known, place.B.p, mul(place.A.R, n), mul(place.A.R, f));
  };
  for (int k = begin; k < end; ++k) { // rows stand in their order
    int c = known < 0 ? 0 : known;
    while (work.row[k] >= m.loop_constraints[c].row + m.loop_constraints[c].rows)
      ++c;
    const LoopConstraintData &constraint = m.loop_constraints[c];
    if (constraint.form == LoopConstraintForm::coupling)
      continue;
    if (c != known) {
      flush();
      known = c;
      place = loop_constraint_pose(m, ws, constraint);
      rows.moving = false;
      loop_constraint_rows(m, ws, constraint, place.relative, rows);
      n = f = {0, 0, 0};
    }
    const int j = work.row[k] - constraint.row;
    n += scale(work.weight[k], rows.g[j].w);
    f += scale(work.weight[k], rows.g[j].v);
  }
  flush();
  ++work.states;
}

// ---- states

// the weights of independent rows (count of them, on n degrees of freedom) in another row of their loop constraint:
// least squares by Cholesky
static void weights_of(const double *P, int n, const int *independent, int count, int spare, double *weight) {
  const auto product_of = [&](int i, int j) {
    double sum = 0.0;
    for (int s = 0; s < n; ++s)
      sum += P[i * n + s] * P[j * n + s];
    return sum;
  };
  double L[6][6];
  for (int i = 0; i < count; ++i) {
    const double own = product_of(independent[i], independent[i]);
    for (int j = 0; j <= i; ++j) {
      double sum = i == j ? own : product_of(independent[i], independent[j]);
      for (int k = 0; k < j; ++k)
        sum -= L[i][k] * L[j][k];
      L[i][j] = i == j ? std::sqrt(sum > 1e-24 * own ? sum : 0.0) : L[j][j] > 0.0 ? sum / L[j][j] : 0.0;
    }
    weight[i] = product_of(spare, independent[i]);
    for (int k = 0; k < i; ++k)
      weight[i] -= L[i][k] * weight[k];
    weight[i] = L[i][i] > 0.0 ? weight[i] / L[i][i] : 0.0;
  }
  for (int i = count - 1; i >= 0; --i) {
    for (int k = i + 1; k < count; ++k)
      weight[i] -= L[k][i] * weight[k];
    weight[i] = L[i][i] > 0.0 ? weight[i] / L[i][i] : 0.0;
  }
}

// Begins the state of a row that its loop constraint repeats in every configuration: that row less its parts along the
// independent ones. False if it holds something by itself, as it may close to a singular position.
static bool begin_repeat(const ModelData &m, const LoopWorkspace<double> &loops, const LoopConstraintData &constraint,
                         int spare, SelfStressWorkspace &work) {
  constexpr double nothing = 1e-6;   // of the largest entry of the loop constraint's rows
  constexpr double rounding = 1e-11; // of an entry that demands something, scaled
  const int n = constraint.supports;
  const double *P = loops.values + constraint.values;
  int independent[6], count = 0;
  for (int j = 0; j < constraint.rows; ++j)
    if (m.independent[constraint.row + j])
      independent[count++] = j;
  double weight[6], left = 0.0, most = 0.0;
  weights_of(P, n, independent, count, spare, weight);
  for (int s = 0; s < n; ++s) {
    const double column = m.column_scale[m.support[constraint.support + s]];
    double rest = P[spare * n + s];
    for (int i = 0; i < count; ++i)
      rest -= weight[i] * P[independent[i] * n + s];
    left = std::max(left, std::fabs(rest) * m.row_scale[constraint.row + spare] * column);
    for (int j = 0; j < constraint.rows; ++j)
      most = std::max(most, std::fabs(P[j * n + s]) * m.row_scale[constraint.row + j] * column);
  }
  if (left > std::max(nothing * most, rounding))
    return false;
  begin_state(work);
  for (int j = 0, i = 0; j < constraint.rows; ++j) {
    if (j == spare) {
      add_row(work, constraint.row + j, 1.0);
    } else if (i < count && independent[i] == j) {
      if (std::fabs(weight[i]) > 1e-8)
        add_row(work, constraint.row + j, -weight[i]);
      ++i;
    }
  }
  return true;
}

static void find_repeats(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system,
                         SelfStressWorkspace &work) {
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int j = 0; (!c.constraint_active || c.constraint_active[k]) && j < constraint.rows; ++j)
      if (!m.independent[constraint.row + j] && begin_repeat(m, system.loops, constraint, j, work))
        load_state(m, system, work);
  }
}

// P with rows and columns scaled, dense, and the sizes of its rows; returns how many rows hold, in work.order
static int scale_rows(const ModelData &m, const Conditions &c, const LoopWorkspace<double> &loops,
                      SelfStressWorkspace &work, const unsigned char *still) {
  const std::ptrdiff_t nv = m.nv;
  for (std::ptrdiff_t k = 0; k < m.nc * nv; ++k)
    work.J[k] = 0.0;
  int rows = 0;
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int j = 0; (!c.constraint_active || c.constraint_active[k]) && j < constraint.rows; ++j) {
      const int row = constraint.row + j;
      double square = 0.0;
      for (int s = 0; s < constraint.supports; ++s) {
        const int f = m.support[constraint.support + s];
        if (still && still[f])
          continue;
        const double entry =
            m.row_scale[row] * loops.values[constraint.values + j * constraint.supports + s] * m.column_scale[f];
        work.J[row * nv + f] = entry;
        square += entry * entry;
      }
      work.left[row] = std::sqrt(square);
      work.order[rows++] = row;
    }
  }
  return rows;
}

// Rows made orthogonal, the one with the largest part left first, until nothing is left; returns how many were taken.
// Their parts along each other are left in R.
static int take_rows(const ModelData &m, const LoopWorkspace<double> &loops, SelfStressWorkspace &work, int rows) {
  const std::ptrdiff_t n = m.nc, nv = m.nv;
  double *J = work.J, *R = work.R, *left = work.left;
  double largest = 1.0;
  for (int i = 0; i < rows; ++i)
    largest = std::max(largest, left[work.order[i]]);
  const double tolerance = largest * independence(loops.opening); // the rule by which accelerations are found
  const auto part_along = [nv](const double *e, double *w) { // takes it away
    double along = 0.0;
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      along += e[f] * w[f];
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      w[f] -= along * e[f];
    return along;
  };
  const auto norm = [nv](const double *x) {
    double sum = 0.0;
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      sum += x[f] * x[f];
    return std::sqrt(sum);
  };
  for (int rank = 0; rank < rows; ++rank) {
    int best = rank;
    for (int i = rank + 1; i < rows; ++i) // among rows that serve equally well, the earlier ones are taken
      if (left[work.order[i]] > 1.001 * left[work.order[best]])
        best = i;
    const int p = work.order[best];
    std::rotate(work.order + rank, work.order + best, work.order + best + 1);
    double *w = J + p * nv;
    for (int k = 0; k < rank; ++k) // again, against what rounding has left
      R[k * n + p] += part_along(J + work.order[k] * nv, w);
    const double length = norm(w);
    if (!(length > tolerance))
      return rank;
    R[rank * n + p] = length;
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      w[f] /= length;
    for (int i = rank + 1; i < rows; ++i) {
      double *other = J + work.order[i] * nv;
      R[rank * n + work.order[i]] = part_along(w, other);
      left[work.order[i]] = norm(other);
    }
  }
  return rows;
}

// dependence of all rows: each that is left, as minus a combination of those that were taken
static void find_dependences(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system,
                             SelfStressWorkspace &work, const unsigned char *still) {
  const std::ptrdiff_t n = m.nc;
  const double *R = work.R;
  const int rows = scale_rows(m, c, system.loops, work, still), rank = take_rows(m, system.loops, work, rows);
  std::sort(work.order + rank, work.order + rows);
  double *y = work.lambda_scaled;
  for (int i = rank; i < rows; ++i) {
    const int p = work.order[i];
    for (int k = 0; k < m.nc; ++k)
      y[k] = 0.0;
    for (int k = rank - 1; k >= 0; --k) {
      double sum = R[k * n + p];
      for (int l = k + 1; l < rank; ++l)
        sum += R[k * n + work.order[l]] * y[work.order[l]];
      y[work.order[k]] = -sum / R[k * n + work.order[k]];
    }
    y[p] = 1.0;
    begin_state(work);
    for (int k = 0; k < m.nc; ++k)
      if (std::fabs(y[k]) > 1e-8)
        add_row(work, k, y[k] * m.row_scale[k]);
    load_state(m, system, work);
  }
}

int find_self_stress(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system,
                     SelfStressWorkspace &work, const unsigned char *still) {
  work.states = 0;
  if (!m.nc)
    return 0;
  if (factored_last(system.loops).envelope == Envelope::independent || !work.J)
    find_repeats(m, c, system, work);
  else
    find_dependences(m, c, system, work, still);
  return work.states;
}

// ---- shares

// couplings count by their multipliers
static bool is_coupling(const ModelData &m, int row) {
  int k = m.loop_constraint_count - 1;
  while (k >= 0 && m.loop_constraints[k].row > row)
    --k;
  return m.loop_constraints[k].form == LoopConstraintForm::coupling;
}

// product of state i with what stands in `scattered`, under (1)
static double product(const ModelData &m, const SelfStressWorkspace &work, int i) {
  const double square = m.length * m.length;
  double sum = 0.0;
  for (int k = work.load_start[i]; k < work.load_start[i + 1]; ++k) {
    const double *a = work.load + 6 * std::ptrdiff_t(k), *b = work.scattered + 6 * std::ptrdiff_t(work.connection[k]);
    sum += a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + square * (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
  }
  return sum;
}

static double coupled_product(const ModelData &m, const SelfStressWorkspace &work, int i, const double *lambda) {
  double sum = 0.0;
  for (int k = work.row_start[i]; k < work.row_start[i + 1]; ++k) {
    const int row = work.row[k];
    if (is_coupling(m, row))
      sum += work.weight[k] * lambda[row] / (m.row_scale[row] * m.row_scale[row]);
  }
  return sum;
}

// products of the states with each other, lower half
static void fill_gram(const ModelData &m, SelfStressWorkspace &work, bool couplings) {
  const int n = work.states;
  double *G = work.gram, *scratch = work.scattered;
  for (int k = 0; k < 6 * connection_count(m); ++k)
    scratch[k] = 0.0;
  for (int i = 0; i < n; ++i) {
    for (int k = work.load_start[i]; k < work.load_start[i + 1]; ++k)
      for (int c = 0; c < 6; ++c)
        scratch[6 * std::ptrdiff_t(work.connection[k]) + c] = work.load[6 * std::ptrdiff_t(k) + c];
    for (int j = 0; j <= i; ++j)
      G[std::ptrdiff_t(i) * n + j] = product(m, work, j);
    for (int k = work.load_start[i]; k < work.load_start[i + 1]; ++k)
      for (int c = 0; c < 6; ++c)
        scratch[6 * std::ptrdiff_t(work.connection[k]) + c] = 0.0;
  }
  for (int i = 0; couplings && i < n; ++i)
    for (int j = 0; j <= i; ++j)
      for (int k = work.row_start[i]; k < work.row_start[i + 1]; ++k)
        for (int l = work.row_start[j]; l < work.row_start[j + 1]; ++l)
          if (work.row[k] == work.row[l] && is_coupling(m, work.row[k]))
            G[std::ptrdiff_t(i) * n + j] +=
                work.weight[k] * work.weight[l] / (m.row_scale[work.row[k]] * m.row_scale[work.row[k]]);
}

// G x = b by Cholesky, in place; the states are independent
static void solve_gram(double *G, int n, double *b) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      double *row = G + std::ptrdiff_t(i) * n;
      const double *other = G + std::ptrdiff_t(j) * n;
      double sum = row[j];
      for (int k = 0; k < j; ++k)
        sum -= row[k] * other[k];
      row[j] = i == j ? std::sqrt(sum > 1e-300 ? sum : 1e-300) : sum / other[j];
    }
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k)
      b[i] -= G[std::ptrdiff_t(i) * n + k] * b[k];
    b[i] /= G[std::ptrdiff_t(i) * (n + 1)];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k)
      b[i] -= G[std::ptrdiff_t(k) * n + i] * b[k];
    b[i] /= G[std::ptrdiff_t(i) * (n + 1)];
  }
}

// adds factor times state i to loads and multipliers
static void add_state(const SelfStressWorkspace &work, int i, double factor, double *loads, double *lambda) {
  for (int k = work.load_start[i]; k < work.load_start[i + 1]; ++k)
    for (int c = 0; c < 6; ++c)
      loads[6 * std::ptrdiff_t(work.connection[k]) + c] += factor * work.load[6 * std::ptrdiff_t(k) + c];
  for (int k = work.row_start[i]; k < work.row_start[i + 1]; ++k)
    lambda[work.row[k]] += factor * work.weight[k];
}

// The largest effort, N m, that states times their factors hold after all: close to a singular position rows that seem
// to repeat others still demand something, and it must not be lost.
static double held_effort(const ModelData &m, const LoopWorkspace<double> &loops, SelfStressWorkspace &work,
                          const double *factors) {
  double *effort = work.effort, largest = 0.0;
  for (int f = 0; f < m.nv; ++f)
    effort[f] = 0.0;
  for (int i = 0; i < work.states; ++i)
    for (int k = work.row_start[i], c = 0; k < work.row_start[i + 1]; ++k) { // rows stand in their order
      while (work.row[k] >= m.loop_constraints[c].row + m.loop_constraints[c].rows)
        ++c;
      const LoopConstraintData &constraint = m.loop_constraints[c];
      const double *P =
          loops.values + constraint.values + std::ptrdiff_t(work.row[k] - constraint.row) * constraint.supports;
      for (int s = 0; s < constraint.supports; ++s)
        effort[m.support[constraint.support + s]] += factors[i] * work.weight[k] * P[s];
    }
  for (int f = 0; f < m.nv; ++f)
    largest = std::max(largest, std::fabs(effort[f]) * m.column_scale[f]);
  return largest;
}

void minimum_norm_loads(const ModelData &m, const LoopWorkspace<double> &loops, SelfStressWorkspace &work,
                        double *loads, double *lambda) {
  constexpr double rounding = 1e-6; // of the largest load
  const int n = work.states, numbers = 6 * connection_count(m);
  if (!n)
    return;
  // they come last
  const bool couplings = m.loop_constraints[m.loop_constraint_count - 1].form == LoopConstraintForm::coupling;
  for (int k = 0; k < numbers; ++k)
    work.scattered[k] = loads[k];
  for (int i = 0; i < n; ++i)
    work.side[i] = product(m, work, i) + (couplings ? coupled_product(m, work, i, lambda) : 0.0);
  fill_gram(m, work, couplings);
  solve_gram(work.gram, n, work.side);
  for (int i = 0; i < n; ++i)
    add_state(work, i, -work.side[i], loads, lambda);
  double largest = 0.0;
  for (int k = 0; k < numbers; ++k)
    largest = std::max(largest, std::fabs(loads[k]) * (k % 6 < 3 ? 1.0 : m.length));
  if (held_effort(m, loops, work, work.side) > rounding * largest)
    for (int i = 0; i < n; ++i)
      add_state(work, i, work.side[i], loads, lambda);
}

void mark_determined(const ModelData &m, const SelfStressWorkspace &work, double *marks) {
  constexpr double nothing = 1e-7; // of the largest component of a state
  for (int k = 0; k < 6 * connection_count(m); ++k)
    marks[k] = 1.0;
  for (int i = 0; i < work.states; ++i) {
    double largest = 0.0;
    for (int pass = 0; pass < 2; ++pass)
      for (int k = work.load_start[i]; k < work.load_start[i + 1]; ++k)
        for (int c = 0; c < 6; ++c) {
          const double size = std::fabs(work.load[6 * std::ptrdiff_t(k) + c]) * (c < 3 ? 1.0 : m.length);
          if (!pass)
            largest = size > largest ? size : largest;
          else if (size > nothing * largest)
            marks[6 * std::ptrdiff_t(work.connection[k]) + c] = 0.0;
        }
  }
}

} // namespace dalembert::DALEMBERT_ISA
