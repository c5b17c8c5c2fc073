#include "system/dynamics.hpp"
#include "constraints/coupling_rows.hpp"
#include "elements/elements.hpp"
#include "elements/measures.hpp"
#include "system/drives.hpp"
#include "tree/inverse_dynamics.hpp"
#include "tree/kinematics.hpp"
#include <algorithm>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

template <class T> std::size_t lay_out(const ModelData &m, std::byte *base, SystemRoom<T> &room) {
  Arena arena{base};
  arena.skip(lay_out(m, base, room.loops));
  const std::size_t nv = std::size_t(m.nv);
  for (T **each : {&room.tau, &room.efforts, &room.control, &room.passed})
    *each = arena.take<T>(nv);
  room.asked = arena.take<T>(std::size_t(m.actuator_count));
  room.cut = arena.take<T>(std::size_t(m.cut_nv));
  room.targets = arena.take<T>(3 * std::size_t(m.nc));
  room.lambda = arena.take<T>(std::size_t(m.nc));
  room.values = arena.take<T>(std::size_t(m.programs.most_values));
  room.signals = arena.take<T>(std::size_t(m.signal_count));
  room.unused = arena.take<T>(std::size_t(m.nx));
  room.feedback = arena.take<T>(std::size_t(m.feedback_count));
  room.margins = arena.take<T>(std::size_t(m.threshold_count));
  room.sides = arena.take<double>(std::size_t(m.threshold_count));
  room.numbers = arena.take<double>(std::size_t(m.programs.most_values));
  room.hosted = arena.take<double>(3 * std::size_t(m.hosted_laws));
  room.loads = arena.take<double>(6 * std::size_t(m.users));
  return arena.used;
}

bool consult(const ModelData &m, const Conditions &c, SystemRoom<double> &room, const StateOf<double> &s) {
  const bool pushed = c.host && c.host->pushes;
  for (int f = 0; !pushed && f < m.nv; ++f)
    room.efforts[f] = 0.0;
  if (c.host && !c.host->evaluate(c.host->self, s.t, s.q, s.v, s.x, room.hosted, room.efforts, room.loads))
    return false;
  if (c.answers) {
    const std::ptrdiff_t row = std::upper_bound(c.answers->times, c.answers->times + c.answers->count, s.t) - c.answers->times - 1;
    for (int f = 0; row >= 0 && f < m.nv; ++f)
      room.efforts[f] += c.answers->tau[row * m.nv + f];
  }
  for (int f = 0; f < m.nv; ++f)
    room.control[f] = room.efforts[f];
  for (int f = 0; s.tau && f < m.nv; ++f)
    room.efforts[f] += s.tau[f];
  return true;
}

// loads from outside and from elements; efforts of elements join those from outside in tau
template <class T>
static void apply_loads(const ModelData &m, const Conditions &c, SystemRoom<T> &room, const Surroundings<T> &at, const StateOf<T> &s,
                        bool in_world) {
  Workspace<T> &ws = room.loops.ws;
  if constexpr (std::is_same_v<T, double>) {
    if (c.host && c.host->pushes)
      subtract_loads(m, ws, room.loads);
    for (int f = 0; f < m.nv; ++f)
      room.tau[f] = room.efforts[f];
  } else {
    for (int f = 0; f < m.nv; ++f)
      room.tau[f] = s.tau ? s.tau[f] : T(0.0);
    for (int f = 0; s.control && f < m.nv; ++f)
      room.tau[f] = room.tau[f] + s.control[f];
  }
  if (s.loads)
    subtract_loads(m, ws, s.loads);
  for (int f = 0; f < m.cut_nv; ++f)
    room.cut[f] = T(0.0);
  if (!m.element_count && !m.actuator_count)
    return;
  if (m.looks_at_bodies && !in_world) {
    place_in_world(m, ws);
    move_in_world(m, ws, s.v);
  }
  apply_elements(m, ws, at, s.q, s.v, room.tau, room.cut);
}

// Baumgarte 1972: gamma += 2 alpha (P v - rate) + beta^2 (phi - target); phi in rhs
template <class T> static void stabilize(const ModelData &m, const Conditions &c, SystemRoom<T> &room, const T *v) {
  LoopRoom<T> &loops = room.loops;
  for (int i = 0; i < m.nc; ++i)
    loops.rhs[i] = loops.rhs[i] - room.targets[i];
  drop_turns(m, loops.rhs);
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    for (int j = 0; j < chord.rows; ++j) {
      const int row = chord.row + j;
      T rate = loops.drift[row] - room.targets[m.nc + row];
      for (int s = 0; s < chord.supports; ++s)
        rate = rate + loops.values[chord.values + j * chord.supports + s] * v[m.support[chord.support + s]];
      loops.gamma[row] = loops.gamma[row] + c.stabilization[0] * rate;
      if (m.holonomic[row])
        loops.gamma[row] = loops.gamma[row] + c.stabilization[1] * loops.rhs[row];
    }
  }
}

// rows at the state: values, leverage, opening, and P' v less what drives demand in gamma
template <class T> static void evaluate_rows(const ModelData &m, const Conditions &c, SystemRoom<T> &room, const StateOf<T> &s) {
  LoopRoom<T> &loops = room.loops;
  const bool stabilized = c.stabilization[0] != 0.0 || c.stabilization[1] != 0.0;
  loops.ws.t = s.t;
  set_targets(m, s.t, room.hosted, room.targets);
  evaluate_chords<T>(m, loops.ws, s.q, s.v,
                     {.residual = stabilized ? loops.rhs : nullptr, .bias = loops.gamma, .values = loops.values, .leverage = loops.leverage,
                      .drift = stabilized ? loops.drift : nullptr, .opening = &loops.opening, .active = c.active, .held = c.held});
  for (int i = 0; i < m.nc; ++i)
    loops.gamma[i] = loops.gamma[i] - room.targets[2 * m.nc + i]; // P a + gamma is what the law says, not zero
  if (stabilized)
    stabilize(m, c, room, s.v);
}

template <class T> unsigned solve_motion(const ModelData &m, const Conditions &c, SystemRoom<T> &room, const StateOf<T> &s, T *a, T *dx) {
  Workspace<T> &ws = room.loops.ws;
  prescribe(m, c.given, s.t, room.hosted, a);
  for (int f = 0; s.prescribed && c.given && f < m.nv; ++f)
    if (c.given[f])
      a[f] = s.prescribed[f];
  if (m.nc)
    evaluate_rows(m, c, room, s);
  start_forward(m, ws, s.q, s.v, m.nc > 0);
  apply_loads(m, c, room, surroundings(c, room, s, dx), s, m.nc > 0);
  finish_forward(m, ws, room.tau, c.given, a, static_cast<T *>(nullptr));
  return m.nc ? close_loops(m, room.loops, c.given, a, room.lambda) : 0u;
}

void look_at_thresholds(const ModelData &m, const Conditions &c, SystemRoom<double> &room, const StateOf<double> &s) {
  room.loops.ws.t = s.t;
  start_forward(m, room.loops.ws, s.q, s.v, false);
  apply_loads(m, c, room, surroundings(c, room, s, static_cast<double *>(nullptr)), s, false);
}

static DALEMBERT_INLINE bool holds(const Conditions &c, int chord) { return !c.active || c.active[chord]; }

// couplings act at hinges: what they give need not be supplied
template <class T>
static void take_couplings(const ModelData &m, const Conditions &c, Workspace<T> &ws, const StateOf<T> &s, const T *a, const T *lambda, T *passed,
                           T *seconds) {
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    if (chord.form != ChordForm::coupling || !holds(c, k))
      continue;
    CouplingRow<T> row;
    coupling_row(m, ws, chord, s.q, seconds ? s.v : nullptr, row);
    T second = row.bias;
    for (int j = 0; j < chord.supports; ++j) {
      const int f = m.support[chord.support + j];
      const T factor = row.coefficient(m, chord, j);
      passed[f] = passed[f] - factor * lambda[chord.row];
      second = second + factor * a[f];
    }
    if (seconds)
      seconds[chord.row] = second;
  }
}

template <class T> Load<T> answer_chord(const ModelData &m, Workspace<T> &ws, const ChordData &chord, const T *lambda, T *seconds) {
  const ChordPlace<T> place = chord_place(m, ws, chord);
  ChordRows<T> rows;
  rows.moving = seconds != nullptr;
  chord_rows(m, ws, chord, place.relative, rows);
  Motion<T> acceleration{zero3<T>(), zero3<T>()};
  if (seconds)
    acceleration = chord_acceleration(m, ws, chord, place);
  Load<T> load{zero3<T>(), zero3<T>()};
  for (int j = 0; j < rows.count; ++j) {
    const Motion<T> &g = rows.g[j];
    if (seconds)
      seconds[chord.row + j] = rows.bias[j] + dot(g.w, acceleration.w) + dot(g.v, acceleration.v);
    load.n += scale(lambda[chord.row + j], g.w);
    load.f += scale(lambda[chord.row + j], g.v);
  }
  return {mul(place.A.R, load.n), mul(place.A.R, load.f)};
}

// what the rows of chords do to bodies, for known multipliers; on the way second rates of the rows
template <class T>
static void push_chords(const ModelData &m, const Conditions &c, Workspace<T> &ws, const T *lambda, T *seconds) {
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    if (chord.form == ChordForm::coupling || !holds(c, k)) { // of couplings see take_couplings
      for (int j = 0; seconds && j < chord.rows; ++j)
        seconds[chord.row + j] = T(0.0);
      continue;
    }
    const Load<T> load = answer_chord(m, ws, chord, lambda, seconds);
    const auto push = [&](int body, const Load<T> &part) {
      ws.p_A[body].n -= part.n;
      ws.p_A[body].f -= part.f;
    };
    seen<T>(m, chord, [&](const auto &numbers) {
      const Vec3<T> p_B = lift<T>(as_vec(numbers.p_FB));
      push_pair(ws, chord.body_a, chord.body_b, p_B, point_in_world(ws, chord.body_b, p_B), load.n, load.f, push);
    });
  }
}

template <class T>
void balance(const ModelData &m, const Conditions &c, SystemRoom<T> &room, const Surroundings<T> &at, const StateOf<T> &s, const T *a,
             const T *lambda, T *seconds, bool in_world) {
  Workspace<T> &ws = room.loops.ws;
  ws.t = s.t;
  ws.held = c.held;
  in_world = in_world || m.chord_count;
  start_inverse(m, ws, s.q, s.v, a, room.passed);
  if (in_world) {
    place_in_world(m, ws);
    move_in_world(m, ws, s.v);
  }
  apply_loads(m, c, room, at, s, in_world);
  push_chords(m, c, ws, lambda, seconds);
  finish_inverse(m, ws, a, room.passed);
  take_couplings(m, c, ws, s, a, lambda, room.passed, seconds);
}

template <class T> void chord_loads(const ModelData &m, const Conditions &c, SystemRoom<T> &room, const T *lambda, T *out) {
  Workspace<T> &ws = room.loops.ws;
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    Load<T> load{zero3<T>(), zero3<T>()};
    if (chord.form != ChordForm::coupling) {
      const ChordPlace<T> place = chord_place(m, ws, chord);
      if (holds(c, k)) {
        ChordRows<T> rows;
        rows.moving = false;
        chord_rows(m, ws, chord, place.relative, rows);
        for (int j = 0; j < rows.count; ++j) {
          load.n += scale(lambda[chord.row + j], rows.g[j].w);
          load.f += scale(lambda[chord.row + j], rows.g[j].v);
        }
      }
      if (chord.nv) {
        HingeFace<T> face;
        chord_face(m, ws, chord, place.relative, face);
        for (int j = 0; j < chord.nv; ++j) {
          load.n += scale(room.cut[chord.v + j], face.D[j].w);
          load.f += scale(room.cut[chord.v + j], face.D[j].v);
        }
      }
      load = {mul(place.A.R, load.n), mul(place.A.R, load.f)};
    }
    T *to = out + 6 * k;
    to[0] = load.n.x, to[1] = load.n.y, to[2] = load.n.z, to[3] = load.f.x, to[4] = load.f.y, to[5] = load.f.z;
  }
}

template std::size_t lay_out(const ModelData &, std::byte *, SystemRoom<double> &);
template std::size_t lay_out(const ModelData &, std::byte *, SystemRoom<Pack> &);
template unsigned solve_motion(const ModelData &, const Conditions &, SystemRoom<double> &, const StateOf<double> &, double *, double *);
template unsigned solve_motion(const ModelData &, const Conditions &, SystemRoom<Pack> &, const StateOf<Pack> &, Pack *, Pack *);
template void balance(const ModelData &, const Conditions &, SystemRoom<double> &, const Surroundings<double> &, const StateOf<double> &,
                      const double *, const double *, double *, bool);
template void balance(const ModelData &, const Conditions &, SystemRoom<Pack> &, const Surroundings<Pack> &, const StateOf<Pack> &, const Pack *,
                      const Pack *, Pack *, bool);
template std::size_t lay_out(const ModelData &, std::byte *, SystemRoom<Dual> &);
template void balance(const ModelData &, const Conditions &, SystemRoom<Dual> &, const Surroundings<Dual> &, const StateOf<Dual> &, const Dual *,
                      const Dual *, Dual *, bool);
template Load<Dual> answer_chord(const ModelData &, Workspace<Dual> &, const ChordData &, const Dual *, Dual *);
template void chord_loads(const ModelData &, const Conditions &, SystemRoom<Dual> &, const Dual *, Dual *);
template void chord_loads(const ModelData &, const Conditions &, SystemRoom<double> &, const double *, double *);
template void chord_loads(const ModelData &, const Conditions &, SystemRoom<Pack> &, const Pack *, Pack *);

} // namespace dalembert::DALEMBERT_ISA
