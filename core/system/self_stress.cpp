#include "system/self_stress.hpp"
#include "tree/kinematics.hpp"
#include <algorithm>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

// numbers up to which dependence of all rows together is looked for
constexpr std::int64_t most_numbers = std::int64_t(1) << 22;

std::size_t lay_out(const ModelData &m, std::byte *base, ShareRoom &room) {
  Arena arena{base};
  const std::int64_t n = m.nc, connections = connection_count(m);
  const bool general = n && n * std::max<std::int64_t>(6 * connections, std::max<std::int64_t>(n, m.nv)) <= most_numbers;
  // a chord's own states, or states of any rows
  room.most_states = general ? m.nc : m.spare_rows;
  room.most_rows = general ? n * n : 6 * std::int64_t(m.spare_rows);
  room.most_loads = general ? n * connections : m.spare_loads;
  room.states = 0;
  const std::size_t states = std::size_t(room.most_states);
  room.row_start = arena.take<std::int32_t>(states + 1);
  room.load_start = arena.take<std::int32_t>(states + 1);
  room.row = arena.take<std::int32_t>(std::size_t(room.most_rows));
  room.weight = arena.take<double>(std::size_t(room.most_rows));
  room.connection = arena.take<std::int32_t>(std::size_t(room.most_loads));
  room.load = arena.take<double>(6 * std::size_t(room.most_loads));
  room.scattered = arena.take<double>(6 * std::size_t(m.nc ? connections : 0));
  room.gram = arena.take<double>(states * states);
  room.side = arena.take<double>(states);
  room.effort = arena.take<double>(std::size_t(m.nc ? m.nv : 0));
  room.J = arena.take<double>(general ? std::size_t(n * m.nv) : 0);
  room.R = arena.take<double>(general ? std::size_t(n * n) : 0);
  room.left = arena.take<double>(general ? std::size_t(n) : 0);
  room.lambda_scaled = arena.take<double>(general ? std::size_t(n) : 0);
  room.order = arena.take<std::int32_t>(general ? std::size_t(n) : 0);
  if (!general)
    room.J = nullptr;
  return arena.used;
}

// ---- what a state does

static void begin_state(ShareRoom &room) {
  if (!room.states)
    room.row_start[0] = room.load_start[0] = 0;
  room.row_start[room.states + 1] = room.row_start[room.states];
  room.load_start[room.states + 1] = room.load_start[room.states];
}

static void add_row(ShareRoom &room, int row, double weight) {
  std::int32_t &end = room.row_start[room.states + 1];
  room.row[end] = row;
  room.weight[end++] = weight;
}

// [moment n; force f] at a point, world axes, to the second marker M of a connection; added to what the state has there
static void add_load(ShareRoom &room, int connection, const Vec3<double> &point, const Vec3<double> &marker, double sign, const Vec3<double> &n,
                     const Vec3<double> &f) {
  std::int32_t &end = room.load_start[room.states + 1];
  int k = room.load_start[room.states];
  while (k < end && room.connection[k] != connection)
    ++k;
  double *to = room.load + 6 * std::ptrdiff_t(k);
  if (k == end) {
    room.connection[end++] = connection;
    for (int i = 0; i < 6; ++i)
      to[i] = 0.0;
  }
  const Vec3<double> moment = n + cross(point - marker, f);
  const double parts[6] = {moment.x, moment.y, moment.z, f.x, f.y, f.z};
  for (int i = 0; i < 6; ++i)
    to[i] += sign * parts[i];
}

// A chord presses with [n; f] on B at its origin: its own load, and those of the hinges on the ways to its ends, each of
// which holds what acts on all that it carries.
static void press(const ModelData &m, const Workspace<double> &ws, ShareRoom &room, int k, const Vec3<double> &point, const Vec3<double> &n,
                  const Vec3<double> &f) {
  const ChordData &chord = m.chords[k];
  add_load(room, m.users + k, point, point, 1.0, n, f);
  int a = chord.body_a, b = chord.body_b;
  while (a != b) { // parent < child: step in from whichever is further out until they meet
    const bool at_b = b > a;
    int &i = at_b ? b : a;
    if (const int user = m.bodies[i].hinge) {
      const HingeMarker &marker = m.markers[user - 1];
      const double sign = (at_b ? -1.0 : 1.0) * (marker.outboard ? 1.0 : -1.0);
      add_load(room, user - 1, point, point_in_world(ws, marker.body, as_vec(marker.p_FM)), sign, n, f);
    }
    i = m.bodies[i].parent;
  }
}

// what the rows of the state that is being made do, chord by chord
static void load_state(const ModelData &m, SystemRoom<double> &system, ShareRoom &room) {
  Workspace<double> &ws = system.loops.ws;
  const int begin = room.row_start[room.states], end = room.row_start[room.states + 1];
  int known = -1;
  ChordRows<double> rows;
  ChordPlace<double> place;
  Vec3<double> n{0, 0, 0}, f{0, 0, 0};
  const auto flush = [&] {
    if (known >= 0)
      press(m, ws, room, known, place.B.p, mul(place.A.R, n), mul(place.A.R, f));
  };
  for (int k = begin; k < end; ++k) { // rows stand in their order
    int c = known < 0 ? 0 : known;
    while (room.row[k] >= m.chords[c].row + m.chords[c].rows)
      ++c;
    const ChordData &chord = m.chords[c];
    if (chord.form == ChordForm::coupling)
      continue;
    if (c != known) {
      flush();
      known = c;
      place = chord_place(m, ws, chord);
      rows.moving = false;
      chord_rows(m, ws, chord, place.relative, rows);
      n = f = {0, 0, 0};
    }
    const int j = room.row[k] - chord.row;
    n += scale(room.weight[k], rows.g[j].w);
    f += scale(room.weight[k], rows.g[j].v);
  }
  flush();
  ++room.states;
}

// ---- states

// the weights of lean rows (count of them, on n freedoms) in another row of their chord: least squares by Cholesky
static void weights_of(const double *P, int n, const int *lean, int count, int spare, double *weight) {
  const auto product_of = [&](int i, int j) {
    double sum = 0.0;
    for (int s = 0; s < n; ++s)
      sum += P[i * n + s] * P[j * n + s];
    return sum;
  };
  double L[6][6];
  for (int i = 0; i < count; ++i) {
    const double own = product_of(lean[i], lean[i]);
    for (int j = 0; j <= i; ++j) {
      double sum = i == j ? own : product_of(lean[i], lean[j]);
      for (int k = 0; k < j; ++k)
        sum -= L[i][k] * L[j][k];
      L[i][j] = i == j ? std::sqrt(sum > 1e-24 * own ? sum : 0.0) : L[j][j] > 0.0 ? sum / L[j][j] : 0.0;
    }
    weight[i] = product_of(spare, lean[i]);
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

// Begins the state of a row that its chord repeats in every configuration: that row less its parts along the lean ones.
// False if it holds something by itself, as it may close to a singular position.
static bool begin_repeat(const ModelData &m, const LoopRoom<double> &loops, const ChordData &chord, int spare, ShareRoom &room) {
  constexpr double nothing = 1e-6;   // of the largest entry of the chord's rows
  constexpr double rounding = 1e-11; // of an entry that demands something, scaled
  const int n = chord.supports;
  const double *P = loops.values + chord.values;
  int lean[6], count = 0;
  for (int j = 0; j < chord.rows; ++j)
    if (m.lean[chord.row + j])
      lean[count++] = j;
  double weight[6], left = 0.0, most = 0.0;
  weights_of(P, n, lean, count, spare, weight);
  for (int s = 0; s < n; ++s) {
    const double column = m.column_scale[m.support[chord.support + s]];
    double rest = P[spare * n + s];
    for (int i = 0; i < count; ++i)
      rest -= weight[i] * P[lean[i] * n + s];
    left = std::max(left, std::fabs(rest) * m.row_scale[chord.row + spare] * column);
    for (int j = 0; j < chord.rows; ++j)
      most = std::max(most, std::fabs(P[j * n + s]) * m.row_scale[chord.row + j] * column);
  }
  if (left > std::max(nothing * most, rounding))
    return false;
  begin_state(room);
  for (int j = 0, i = 0; j < chord.rows; ++j) {
    if (j == spare) {
      add_row(room, chord.row + j, 1.0);
    } else if (i < count && lean[i] == j) {
      if (std::fabs(weight[i]) > 1e-8)
        add_row(room, chord.row + j, -weight[i]);
      ++i;
    }
  }
  return true;
}

static void find_repeats(const ModelData &m, const Conditions &c, SystemRoom<double> &system, ShareRoom &room) {
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    for (int j = 0; (!c.active || c.active[k]) && j < chord.rows; ++j)
      if (!m.lean[chord.row + j] && begin_repeat(m, system.loops, chord, j, room))
        load_state(m, system, room);
  }
}

// P with rows and columns scaled, dense, and the sizes of its rows; returns how many rows hold, in room.order
static int scale_rows(const ModelData &m, const Conditions &c, const LoopRoom<double> &loops, ShareRoom &room, const unsigned char *still) {
  const std::ptrdiff_t nv = m.nv;
  for (std::ptrdiff_t k = 0; k < m.nc * nv; ++k)
    room.J[k] = 0.0;
  int rows = 0;
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    for (int j = 0; (!c.active || c.active[k]) && j < chord.rows; ++j) {
      const int row = chord.row + j;
      double square = 0.0;
      for (int s = 0; s < chord.supports; ++s) {
        const int f = m.support[chord.support + s];
        if (still && still[f])
          continue;
        const double entry = m.row_scale[row] * loops.values[chord.values + j * chord.supports + s] * m.column_scale[f];
        room.J[row * nv + f] = entry;
        square += entry * entry;
      }
      room.left[row] = std::sqrt(square);
      room.order[rows++] = row;
    }
  }
  return rows;
}

// Rows made orthogonal, the one with the largest part left first, until nothing is left; returns how many were taken. Their
// parts along each other are left in R.
static int take_rows(const ModelData &m, const LoopRoom<double> &loops, ShareRoom &room, int rows) {
  const std::ptrdiff_t n = m.nc, nv = m.nv;
  double *J = room.J, *R = room.R, *left = room.left;
  double largest = 1.0;
  for (int i = 0; i < rows; ++i)
    largest = std::max(largest, left[room.order[i]]);
  const double opening = 30.0 * loops.opening, tolerance = largest * (opening < 1e-8 ? 1e-8 : opening > 1e-5 ? 1e-5 : opening);
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
      if (left[room.order[i]] > 1.001 * left[room.order[best]])
        best = i;
    const int p = room.order[best];
    std::rotate(room.order + rank, room.order + best, room.order + best + 1);
    double *w = J + p * nv;
    for (int k = 0; k < rank; ++k) // again, against what rounding has left
      R[k * n + p] += part_along(J + room.order[k] * nv, w);
    const double length = norm(w);
    if (!(length > tolerance))
      return rank;
    R[rank * n + p] = length;
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      w[f] /= length;
    for (int i = rank + 1; i < rows; ++i) {
      double *other = J + room.order[i] * nv;
      R[rank * n + room.order[i]] = part_along(w, other);
      left[room.order[i]] = norm(other);
    }
  }
  return rows;
}

// dependence of all rows: each that is left, as minus a combination of those that were taken
static void find_dependences(const ModelData &m, const Conditions &c, SystemRoom<double> &system, ShareRoom &room, const unsigned char *still) {
  const std::ptrdiff_t n = m.nc;
  const double *R = room.R;
  const int rows = scale_rows(m, c, system.loops, room, still), rank = take_rows(m, system.loops, room, rows);
  std::sort(room.order + rank, room.order + rows);
  double *y = room.lambda_scaled;
  for (int i = rank; i < rows; ++i) {
    const int p = room.order[i];
    for (int k = 0; k < m.nc; ++k)
      y[k] = 0.0;
    for (int k = rank - 1; k >= 0; --k) {
      double sum = R[k * n + p];
      for (int l = k + 1; l < rank; ++l)
        sum += R[k * n + room.order[l]] * y[room.order[l]];
      y[room.order[k]] = -sum / R[k * n + room.order[k]];
    }
    y[p] = 1.0;
    begin_state(room);
    for (int k = 0; k < m.nc; ++k)
      if (std::fabs(y[k]) > 1e-8)
        add_row(room, k, y[k] * m.row_scale[k]);
    load_state(m, system, room);
  }
}

int find_states(const ModelData &m, const Conditions &c, SystemRoom<double> &system, ShareRoom &room, const unsigned char *still) {
  room.states = 0;
  if (!m.nc)
    return 0;
  if (factored_last(system.loops).envelope == Envelope::lean || !room.J)
    find_repeats(m, c, system, room);
  else
    find_dependences(m, c, system, room, still);
  return room.states;
}

// ---- shares

// couplings count by their multipliers
static bool is_coupling(const ModelData &m, int row) {
  int k = m.chord_count - 1;
  while (k >= 0 && m.chords[k].row > row)
    --k;
  return m.chords[k].form == ChordForm::coupling;
}

// product of state i with what stands in `scattered`, under (1)
static double product(const ModelData &m, const ShareRoom &room, int i) {
  const double square = m.length * m.length;
  double sum = 0.0;
  for (int k = room.load_start[i]; k < room.load_start[i + 1]; ++k) {
    const double *a = room.load + 6 * std::ptrdiff_t(k), *b = room.scattered + 6 * std::ptrdiff_t(room.connection[k]);
    sum += a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + square * (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
  }
  return sum;
}

static double coupled_product(const ModelData &m, const ShareRoom &room, int i, const double *lambda) {
  double sum = 0.0;
  for (int k = room.row_start[i]; k < room.row_start[i + 1]; ++k) {
    const int row = room.row[k];
    if (is_coupling(m, row))
      sum += room.weight[k] * lambda[row] / (m.row_scale[row] * m.row_scale[row]);
  }
  return sum;
}

// products of the states with each other, lower half
static void fill_gram(const ModelData &m, ShareRoom &room, bool couplings) {
  const int n = room.states;
  double *G = room.gram, *scratch = room.scattered;
  for (int k = 0; k < 6 * connection_count(m); ++k)
    scratch[k] = 0.0;
  for (int i = 0; i < n; ++i) {
    for (int k = room.load_start[i]; k < room.load_start[i + 1]; ++k)
      for (int c = 0; c < 6; ++c)
        scratch[6 * std::ptrdiff_t(room.connection[k]) + c] = room.load[6 * std::ptrdiff_t(k) + c];
    for (int j = 0; j <= i; ++j)
      G[std::ptrdiff_t(i) * n + j] = product(m, room, j);
    for (int k = room.load_start[i]; k < room.load_start[i + 1]; ++k)
      for (int c = 0; c < 6; ++c)
        scratch[6 * std::ptrdiff_t(room.connection[k]) + c] = 0.0;
  }
  for (int i = 0; couplings && i < n; ++i)
    for (int j = 0; j <= i; ++j)
      for (int k = room.row_start[i]; k < room.row_start[i + 1]; ++k)
        for (int l = room.row_start[j]; l < room.row_start[j + 1]; ++l)
          if (room.row[k] == room.row[l] && is_coupling(m, room.row[k]))
            G[std::ptrdiff_t(i) * n + j] += room.weight[k] * room.weight[l] / (m.row_scale[room.row[k]] * m.row_scale[room.row[k]]);
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
static void add_state(const ShareRoom &room, int i, double factor, double *loads, double *lambda) {
  for (int k = room.load_start[i]; k < room.load_start[i + 1]; ++k)
    for (int c = 0; c < 6; ++c)
      loads[6 * std::ptrdiff_t(room.connection[k]) + c] += factor * room.load[6 * std::ptrdiff_t(k) + c];
  for (int k = room.row_start[i]; k < room.row_start[i + 1]; ++k)
    lambda[room.row[k]] += factor * room.weight[k];
}

// The largest effort, N m, that states times their factors hold after all: close to a singular position rows that seem to
// repeat others still demand something, and it must not be lost.
static double held_effort(const ModelData &m, const LoopRoom<double> &loops, ShareRoom &room, const double *factors) {
  double *effort = room.effort, largest = 0.0;
  for (int f = 0; f < m.nv; ++f)
    effort[f] = 0.0;
  for (int i = 0; i < room.states; ++i)
    for (int k = room.row_start[i], c = 0; k < room.row_start[i + 1]; ++k) { // rows stand in their order
      while (room.row[k] >= m.chords[c].row + m.chords[c].rows)
        ++c;
      const ChordData &chord = m.chords[c];
      const double *P = loops.values + chord.values + std::ptrdiff_t(room.row[k] - chord.row) * chord.supports;
      for (int s = 0; s < chord.supports; ++s)
        effort[m.support[chord.support + s]] += factors[i] * room.weight[k] * P[s];
    }
  for (int f = 0; f < m.nv; ++f)
    largest = std::max(largest, std::fabs(effort[f]) * m.column_scale[f]);
  return largest;
}

void share_least(const ModelData &m, const LoopRoom<double> &loops, ShareRoom &room, double *loads, double *lambda) {
  constexpr double rounding = 1e-6; // of the largest load
  const int n = room.states, numbers = 6 * connection_count(m);
  if (!n)
    return;
  const bool couplings = m.chords[m.chord_count - 1].form == ChordForm::coupling; // they come last
  for (int k = 0; k < numbers; ++k)
    room.scattered[k] = loads[k];
  for (int i = 0; i < n; ++i)
    room.side[i] = product(m, room, i) + (couplings ? coupled_product(m, room, i, lambda) : 0.0);
  fill_gram(m, room, couplings);
  solve_gram(room.gram, n, room.side);
  for (int i = 0; i < n; ++i)
    add_state(room, i, -room.side[i], loads, lambda);
  double largest = 0.0;
  for (int k = 0; k < numbers; ++k)
    largest = std::max(largest, std::fabs(loads[k]) * (k % 6 < 3 ? 1.0 : m.length));
  if (held_effort(m, loops, room, room.side) > rounding * largest)
    for (int i = 0; i < n; ++i)
      add_state(room, i, room.side[i], loads, lambda);
}

void mark_unique(const ModelData &m, const ShareRoom &room, double *marks) {
  constexpr double nothing = 1e-7; // of the largest component of a state
  for (int k = 0; k < 6 * connection_count(m); ++k)
    marks[k] = 1.0;
  for (int i = 0; i < room.states; ++i) {
    double largest = 0.0;
    for (int pass = 0; pass < 2; ++pass)
      for (int k = room.load_start[i]; k < room.load_start[i + 1]; ++k)
        for (int c = 0; c < 6; ++c) {
          const double size = std::fabs(room.load[6 * std::ptrdiff_t(k) + c]) * (c < 3 ? 1.0 : m.length);
          if (!pass)
            largest = size > largest ? size : largest;
          else if (size > nothing * largest)
            marks[6 * std::ptrdiff_t(room.connection[k]) + c] = 0.0;
        }
  }
}

} // namespace dalembert::DALEMBERT_ISA
