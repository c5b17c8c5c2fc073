#include "system/projection.hpp"
#include "tree/manifold.hpp"

namespace dalembert::DALEMBERT_ISA {

// largest of n numbers in size; NaN if one is
static double largest(const double *x, int n) {
  double most = 0.0;
  for (int k = 0; k < n; ++k)
    if (!(std::fabs(x[k]) <= most))
      most = std::fabs(x[k]);
  return most;
}

bool project_positions(const ModelData &m, const Conditions &c, SystemRoom<double> &room, double *q, double *change, std::int64_t &rounds) {
  LoopRoom<double> &loops = room.loops;
  constexpr int most_rounds = 12;
  constexpr double settled = 1e-9; // the next change would be of the order of its square
  double before = 1e300;
  for (int round = 0; round < most_rounds; ++round) {
    evaluate_chords<double>(m, loops.ws, q, nullptr,
                            {.residual = loops.rhs, .values = loops.values, .leverage = loops.leverage, .opening = &loops.opening,
                             .active = c.active, .held = c.held});
    double open = 0.0;
    for (int i = 0; i < m.nc; ++i) {
      const bool bound = m.holonomic[i] && !(c.active && loops.leverage[i] == 0.0);
      loops.rhs[i] = bound ? room.targets[i] - loops.rhs[i] : 0.0;
      open = std::fabs(loops.rhs[i]) > open ? std::fabs(loops.rhs[i]) : open;
    }
    if (open < 1e-15)
      return true;
    ++rounds;
    const Factored factored = factor_loops(m, loops, q, c.placed);
    for (int f = 0; f < m.nv; ++f)
      change[f] = 0.0;
    correct_by(m, loops, factored, change, room.lambda);
    const double size = largest(change, m.nv);
    if (!(size < 1e3) || (round > 2 && size > 0.5 * before && size > settled))
      return false;
    integrate<double>(m, q, change, q);
    before = size;
    if (size < settled)
      return true;
  }
  return false;
}

void project_speeds(const ModelData &m, const Conditions &c, SystemRoom<double> &room, const double *q, double *v, double *change,
                    const unsigned char *held) {
  LoopRoom<double> &loops = room.loops;
  evaluate_chords<double>(
      m, loops.ws, q, nullptr,
      {.values = loops.values, .leverage = loops.leverage, .drift = loops.drift, .opening = &loops.opening, .active = c.active, .held = c.held});
  const Factored factored = factor_loops(m, loops, q, held);
  for (int round = 0; round < 2; ++round) {
    for (int k = 0; k < m.chord_count; ++k) {
      const ChordData &chord = m.chords[k];
      for (int j = 0; j < chord.rows; ++j) {
        double rate = room.targets[m.nc + chord.row + j] - loops.drift[chord.row + j];
        for (int s = 0; s < chord.supports; ++s)
          rate -= loops.values[chord.values + j * chord.supports + s] * v[m.support[chord.support + s]];
        loops.rhs[chord.row + j] = rate;
      }
    }
    for (int f = 0; f < m.nv; ++f)
      change[f] = 0.0;
    correct_by(m, loops, factored, change, room.lambda);
    for (int f = 0; f < m.nv; ++f)
      v[f] += change[f];
  }
}

// ---- packs

// Positions: a lane that has settled is left as it is while others go on.
static unsigned project_lane_positions(const ModelData &m, const Conditions &c, SystemRoom<Pack> &room, Pack *q, Pack *change) {
  LoopRoom<Pack> &loops = room.loops;
  constexpr int most_rounds = 8;
  constexpr double settled = 1e-9;
  unsigned done = 0, alone = 0;
  for (int round = 0; round < most_rounds; ++round) {
    evaluate_chords<Pack>(m, loops.ws, q, nullptr,
                          {.residual = loops.rhs, .values = loops.values, .leverage = loops.leverage, .opening = &loops.opening,
                           .active = c.active, .held = c.held});
    Pack open(0.0);
    for (int i = 0; i < m.nc; ++i) {
      loops.rhs[i] = m.holonomic[i] ? room.targets[i] - loops.rhs[i] : Pack(0.0);
      open = larger(open, absolute(loops.rhs[i]));
    }
    done |= bits(less(open, Pack(1e-15)));
    if ((done | alone) == every_lane)
      return alone;
    const Factored factored = factor_loops(m, loops, q, c.placed);
    alone |= factored.alone & ~done;
    for (int f = 0; f < m.nv; ++f)
      change[f] = Pack(0.0);
    correct_by(m, loops, factored, change, room.lambda);
    Pack size(0.0);
    for (int f = 0; f < m.nv; ++f) {
      for (int lane = 0; lane < W; ++lane)
        if ((done | alone) >> lane & 1u)
          change[f].set(lane, 0.0);
      size = larger(size, absolute(change[f]));
    }
    alone |= bits(opposite(less(size, Pack(1e3)))) & ~done;
    integrate<Pack>(m, q, change, q);
    done |= bits(less(size, Pack(settled)));
    if ((done | alone) == every_lane)
      return alone;
  }
  return every_lane & ~done;
}

unsigned project_lanes(const ModelData &m, const Conditions &c, SystemRoom<Pack> &room, Pack *q, Pack *v, Pack *change) {
  LoopRoom<Pack> &loops = room.loops;
  unsigned alone = project_lane_positions(m, c, room, q, change);
  evaluate_chords<Pack>(
      m, loops.ws, q, nullptr,
      {.values = loops.values, .leverage = loops.leverage, .drift = loops.drift, .opening = &loops.opening, .active = c.active, .held = c.held});
  const Factored factored = factor_loops(m, loops, q, c.paced);
  alone |= factored.alone;
  for (int round = 0; round < 2; ++round) {
    for (int k = 0; k < m.chord_count; ++k) {
      const ChordData &chord = m.chords[k];
      for (int j = 0; j < chord.rows; ++j) {
        Pack rate = room.targets[m.nc + chord.row + j] - loops.drift[chord.row + j];
        for (int s = 0; s < chord.supports; ++s)
          rate = rate - loops.values[chord.values + j * chord.supports + s] * v[m.support[chord.support + s]];
        loops.rhs[chord.row + j] = rate;
      }
    }
    for (int f = 0; f < m.nv; ++f)
      change[f] = Pack(0.0);
    correct_by(m, loops, factored, change, room.lambda);
    for (int f = 0; f < m.nv; ++f)
      v[f] = v[f] + change[f];
  }
  return alone;
}

} // namespace dalembert::DALEMBERT_ISA
