#include "system/report.hpp"
#include "system/drives.hpp"
#include "tree/kinematics.hpp"
#include "tree/joint_maps.hpp"
#include "tree/outputs.hpp"
#include <cstring>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, ReportRoom &room) {
  Arena arena{base};
  arena.skip(lay_out(m, base, room.motion, true));
  const std::size_t nv = std::size_t(m.nv);
  room.duals = arena.take<Dual>(std::size_t(m.programs.most_values));
  for (double **each : {&room.a, &room.tau, &room.applied})
    *each = arena.take<double>(nv);
  room.cut = arena.take<double>(std::size_t(m.cut_nv));
  for (double **each : {&room.energies, &room.losses, &room.gains})
    *each = arena.take<double>(std::size_t(m.element_count));
  return arena.used;
}

static void copy(const double *from, int count, double *to) {
  if (to && to != from && count)
    std::memcpy(to, from, std::size_t(count) * sizeof(double));
}

// by how much rows and their rates are missed
static void put_rows(const ModelData &m, const Conditions &c, SystemRoom<double> &system, const StateOf<double> &s, const Report &out) {
  LoopRoom<double> &loops = system.loops;
  loops.ws.t = s.t;
  set_targets(m, s.t, system.hosted, system.targets);
  evaluate_chords<double>(m, loops.ws, s.q, nullptr, {.residual = loops.rhs, .values = loops.values, .drift = loops.drift, .active = c.active, .held = c.held});
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    const bool holds = !c.active || c.active[k];
    for (int j = 0; j < chord.rows; ++j) {
      const int row = chord.row + j;
      double rate = loops.drift[row] - system.targets[m.nc + row];
      for (int i = 0; i < chord.supports; ++i)
        rate += loops.values[chord.values + j * chord.supports + i] * s.v[m.support[chord.support + i]];
      if (out.residual)
        out.residual[row] = holds && m.holonomic[row] ? loops.rhs[row] - system.targets[row] : 0.0;
      if (out.rate)
        out.rate[row] = holds ? rate : 0.0;
    }
  }
  if (out.residual)
    drop_turns(m, out.residual);
}

// rates that rows have by themselves or by drives, into drift; whether there are any
static bool rows_move(const ModelData &m, const Conditions &c, SystemRoom<double> &system, const StateOf<double> &s) {
  double *drift = system.loops.drift;
  bool any = false;
  system.loops.ws.t = s.t;
  set_targets(m, s.t, system.hosted, system.targets);
  evaluate_chords<double>(m, system.loops.ws, s.q, nullptr, {.drift = drift, .active = c.active, .held = c.held});
  for (int i = 0; i < m.nc; ++i) {
    drift[i] = system.targets[m.nc + i] - drift[i];
    any = any || drift[i] != 0.0;
  }
  return any;
}

// power that comes from outside: of drives, locks, hinge forces, loads, and rows that move by themselves or are driven
static double outside_power(const ModelData &m, const Conditions &c, ReportRoom &room, const StateOf<double> &s) {
  SystemRoom<double> &system = room.motion.system;
  Workspace<double> &ws = system.loops.ws;
  double power = 0.0;
  for (int f = 0; f < m.nv; ++f)
    power += (c.given && c.given[f] ? system.passed[f] - room.applied[f] : system.efforts[f]) * s.v[f];
  for (int k = 0; k < m.actuator_count; ++k) // what actuators could not give
    if (const int f = m.ports[m.actuators[k].port].freedom; f >= 0 && !(c.given && c.given[f]))
      power -= (1.0 - given_part(m.actuators[k], system.asked[k])) * system.control[f] * s.v[f];
  const double *pushed = c.host && c.host->pushes ? system.loads : nullptr;
  for (const double *loads : {pushed, s.loads})
    for (int i = 1; loads && i <= m.nb; ++i) {
      const BodyData &b = m.bodies[i];
      if (!b.user)
        continue;
      const double *g = loads + 6 * std::ptrdiff_t(b.user - 1);
      power += dot(as_vec(g), mul(ws.X_W[i].R, ws.w[i])) + dot(as_vec(g + 3), point_velocity(ws, i, as_vec(b.p_FB)));
    }
  if (m.nc && rows_move(m, c, system, s))
    for (int i = 0; i < m.nc; ++i)
      power += room.motion.loads.lambda[i] * system.loops.drift[i];
  return power;
}

namespace {

// what has to be worked out for what is wanted
struct Needs {
  bool elements; // a record of the elements
  bool passes;   // loads that connections pass on
  bool moves;    // accelerations
  bool placed;   // frames in the world, with velocities

  Needs(const ModelData &m, const Conditions &c, const Report &out) {
    const ElementRecords &e = out.elements;
    elements = e.measures || e.rates || e.forces || e.energies || e.losses || e.gains || e.loads || e.taken || e.ends || out.signals || out.asked || out.applied || out.cut_effort ||
               out.energy;
    passes = out.loads || out.unique || out.cut_a || (out.lambda && m.nc) || (out.held && (c.given || c.held)) || ((out.tau || out.energy) && c.given);
    moves = out.a || out.dx || out.tau || out.held || out.margins || passes || (elements && (m.feedback_count || c.sides));
    placed = elements || out.cut_q || out.cut_v;
  }
};

} // namespace

static void put_held(const ModelData &m, const Conditions &c, const ReportRoom &room, double *held) {
  const SystemRoom<double> &system = room.motion.system;
  for (int f = 0; f < m.nv; ++f)
    held[f] = c.given && c.given[f] ? system.passed[f] - system.tau[f] : 0.0;
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    for (int j = 0; j < chord.nv; ++j) {
      const bool holds = chord.held && c.held && c.held[chord.v + j];
      held[m.nv + chord.v + j] = holds ? room.motion.loads.lambda[chord.row + chord.rows - chord.nv + j] : 0.0;
    }
  }
}

static void put_motion(const ModelData &m, const Conditions &c, ReportRoom &room, const Needs &need, const Report &out) {
  const SystemRoom<double> &system = room.motion.system;
  for (int f = 0; f < m.nv; ++f)
    room.tau[f] = c.given && c.given[f] ? system.passed[f] : system.tau[f];
  copy(room.tau, m.nv, out.tau);
  for (int k = 0; out.margins && k < m.threshold_count; ++k)
    out.margins[k] = c.sides ? system.margins[k] : 0.0;
  if (out.held)
    put_held(m, c, room, out.held);
  if (!need.passes)
    return;
  copy(room.motion.loads.lambda, m.nc, out.lambda);
  copy(room.motion.loads.loads, 6 * connection_count(m), out.loads);
  if (!out.unique)
    return;
  if (c.given) // what drives exert is no load that has to vanish
    find_states(m, c, room.motion.system, room.motion.loads.shares, c.given);
  mark_unique(m, room.motion.loads.shares, out.unique);
}

static void put_elements(const ModelData &m, const Conditions &c, ReportRoom &room, const StateOf<double> &s, const Report &out) {
  SystemRoom<double> &system = room.motion.system;
  Workspace<double> &ws = system.loops.ws;
  ElementRecords records = out.elements;
  if (out.energy || records.energies || records.losses || records.gains) { // found together
    records.energies = records.energies ? records.energies : room.energies;
    records.losses = records.losses ? records.losses : room.losses;
    records.gains = records.gains ? records.gains : room.gains;
  }
  record_elements(m, ws, surroundings(c, system, s, system.unused), room.duals, s.q, s.v, room.applied, room.cut, records);
  copy(room.applied, m.nv, out.applied);
  copy(room.cut, m.cut_nv, out.cut_effort);
  copy(system.signals, m.signal_count, out.signals);
  copy(system.asked, m.actuator_count, out.asked);
  if (!out.energy)
    return;
  double stored = 0.0, lost = modal_loss(m, s.v), brought = 0.0;
  for (int k = 0; k < m.element_count; ++k)
    stored += records.energies[k], lost += records.losses[k], brought += records.gains[k];
  out.energy[2] = stored, out.energy[3] = lost, out.energy[4] = brought;
  out.energy[5] = outside_power(m, c, room, s);
  energy(m, ws, s.q, s.v, out.energy);
}

bool report(const ModelData &m, const Conditions &c, ReportRoom &room, const StateOf<double> &s, const Report &out) {
  SystemRoom<double> &system = room.motion.system;
  Needs need(m, c, out);
  double *a = out.a ? out.a : room.a;
  if (out.energy && m.nc && !need.passes) { // what rows that move pass on is power
    if (!consult(m, c, system, s))
      return false;
    if (rows_move(m, c, system, s))
      need.passes = need.moves = true;
  }
  if (need.moves && !dynamics(m, c, room.motion, s, a, out.dx ? out.dx : system.unused))
    return false;
  if (!need.moves && (need.elements || out.residual || out.rate) && !consult(m, c, system, s))
    return false;
  if (need.passes) // leaves the frames in the world
    connection_loads(m, c, system, room.motion.loads, s, a);
  else if (need.placed)
    place_and_move(m, system.loops.ws, s.q, s.v);
  if (need.moves)
    put_motion(m, c, room, need, out);
  if (out.cut_q || out.cut_v || out.cut_a)
    cut_hinges(m, system.loops.ws, out.cut_q, out.cut_v, out.cut_a);
  if (need.elements)
    put_elements(m, c, room, s, out);
  if (out.residual || out.rate)
    put_rows(m, c, system, s, out);
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
