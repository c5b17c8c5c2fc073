#include "system/projection.hpp"
#include "numerics/largest.hpp"
#include "system/drives.hpp"
#include "tree/manifold.hpp"

namespace dalembert::DALEMBERT_ISA {

// Rows that depend on others are left to them; open by more than this, of the characteristic length or rad, they
// contradict them.
constexpr double contradicting = 1e-6;

bool project_positions(const ModelData &m, const Conditions &c, SystemWorkspace<double> &work, double *q,
                       double *change, std::int64_t &rounds) {
  LoopWorkspace<double> &loops = work.loops;
  constexpr int max_rounds = 12;
  constexpr double settled = 1e-9; // the next change would be of the order of its square
  double before = 1e300;
  for (int round = 0; round < max_rounds; ++round) {
    evaluate_loop_constraints<double>(m, loops.ws, q, nullptr,
                                      {.residual = loops.rhs,
                                       .values = loops.values,
                                       .leverage = loops.leverage,
                                       .opening = &loops.opening,
                                       .active = c.constraint_active,
                                       .held = c.cut_velocity_locked});
    double open = 0.0, widest = 0.0;
    for (int i = 0; i < m.nc; ++i) {
      const bool bound = m.holonomic[i] && !(c.constraint_active && loops.leverage[i] == 0.0);
      loops.rhs[i] = bound ? work.targets[i] - loops.rhs[i] : 0.0;
    }
    wrap_driven_angles(m, loops.rhs);
    for (int i = 0; i < m.nc; ++i) {
      open = std::fabs(loops.rhs[i]) > open ? std::fabs(loops.rhs[i]) : open;
      const double scaled = m.row_scale[i] * std::fabs(loops.rhs[i]);
      widest = scaled > widest ? scaled : widest;
    }
    if (open < 1e-15)
      return true;
    ++rounds;
    const Factored factored = factor_loops(m, loops, q, c.position_prescribed);
    for (int f = 0; f < m.nv; ++f)
      change[f] = 0.0;
    solve_rows(m, loops, factored, change, work.lambda);
    const double size = largest(change, m.nv);
    if (!(size < 1e3) || (round > 2 && size > 0.5 * before && size > settled))
      return false;
    integrate<double>(m, q, change, q);
    before = size;
    if (size < settled)
      return !(widest > contradicting);
  }
  return false;
}

// Velocities v by the least change that gives the rows their rates: what drives demand, or none at all.
template <class T> static void correct_speeds(const ModelData &m, SystemWorkspace<T> &work, const Factored &factored,
                                              bool driven, T *v, T *change) {
  LoopWorkspace<T> &loops = work.loops;
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int j = 0; j < constraint.rows; ++j) {
      const int row = constraint.row + j;
      T rate = driven ? work.targets[m.nc + row] - loops.drift[row] : T(0.0);
      for (int s = 0; s < constraint.supports; ++s)
        rate =
            rate - loops.values[constraint.values + j * constraint.supports + s] * v[m.support[constraint.support + s]];
      loops.rhs[row] = rate;
    }
  }
  for (int f = 0; f < m.nv; ++f)
    change[f] = T(0.0);
  solve_rows(m, loops, factored, change, work.lambda);
  for (int f = 0; f < m.nv; ++f)
    v[f] = v[f] + change[f];
}

void project_velocities(const ModelData &m, const Conditions &c, SystemWorkspace<double> &work, const double *q,
                        double *v, double *change, const unsigned char *held) {
  LoopWorkspace<double> &loops = work.loops;
  evaluate_loop_constraints<double>(m, loops.ws, q, nullptr,
                                    {.values = loops.values,
                                     .leverage = loops.leverage,
                                     .drift = loops.drift,
                                     .opening = &loops.opening,
                                     .active = c.constraint_active,
                                     .held = c.cut_velocity_locked});
  const Factored factored = factor_loops(m, loops, q, held);
  for (int round = 0; round < 2; ++round)
    correct_speeds(m, work, factored, true, v, change);
}

void project_velocity_changes(const ModelData &m, const Conditions &c, SystemWorkspace<double> &work, const double *q,
                              double *velocities, double *change, const unsigned char *held) {
  LoopWorkspace<double> &loops = work.loops;
  evaluate_loop_constraints<double>(m, loops.ws, q, nullptr,
                                    {.values = loops.values,
                                     .leverage = loops.leverage,
                                     .opening = &loops.opening,
                                     .active = c.constraint_active,
                                     .held = c.cut_velocity_locked});
  const Factored factored = factor_loops(m, loops, q, held);
  correct_speeds(m, work, factored, false, velocities, change);
}

// ---- packs

// Positions: a lane that has settled is left as it is while others go on.
static unsigned project_lane_positions(const ModelData &m, const Conditions &c, SystemWorkspace<Pack> &work, Pack *q,
                                       Pack *change) {
  LoopWorkspace<Pack> &loops = work.loops;
  constexpr int max_rounds = 8;
  constexpr double settled = 1e-9;
  unsigned done = 0, alone = 0;
  for (int round = 0; round < max_rounds; ++round) {
    evaluate_loop_constraints<Pack>(m, loops.ws, q, nullptr,
                                    {.residual = loops.rhs,
                                     .values = loops.values,
                                     .leverage = loops.leverage,
                                     .opening = &loops.opening,
                                     .active = c.constraint_active,
                                     .held = c.cut_velocity_locked});
    Pack open(0.0), widest(0.0);
    for (int i = 0; i < m.nc; ++i)
      loops.rhs[i] = m.holonomic[i] ? work.targets[i] - loops.rhs[i] : Pack(0.0);
    wrap_driven_angles(m, loops.rhs);
    for (int i = 0; i < m.nc; ++i) {
      open = larger(open, absolute(loops.rhs[i]));
      widest = larger(widest, m.row_scale[i] * absolute(loops.rhs[i]));
    }
    done |= bits(less(open, Pack(1e-15)));
    if ((done | alone) == every_lane)
      return alone;
    const Factored factored = factor_loops(m, loops, q, c.position_prescribed);
    alone |= factored.alone & ~done;
    for (int f = 0; f < m.nv; ++f)
      change[f] = Pack(0.0);
    solve_rows(m, loops, factored, change, work.lambda);
    Pack size(0.0);
    for (int f = 0; f < m.nv; ++f) {
      for (int lane = 0; lane < W; ++lane)
        if ((done | alone) >> lane & 1u)
          change[f].set(lane, 0.0);
      size = larger(size, absolute(change[f]));
    }
    alone |= bits(opposite(less(size, Pack(1e3)))) & ~done;
    integrate<Pack>(m, q, change, q);
    done |= bits(both(less(size, Pack(settled)), less(widest, Pack(contradicting))));
    if ((done | alone) == every_lane)
      return alone;
  }
  return every_lane & ~done;
}

unsigned project_simd(const ModelData &m, const Conditions &c, SystemWorkspace<Pack> &work, Pack *q, Pack *v,
                      Pack *change) {
  LoopWorkspace<Pack> &loops = work.loops;
  unsigned alone = project_lane_positions(m, c, work, q, change);
  evaluate_loop_constraints<Pack>(m, loops.ws, q, nullptr,
                                  {.values = loops.values,
                                   .leverage = loops.leverage,
                                   .drift = loops.drift,
                                   .opening = &loops.opening,
                                   .active = c.constraint_active,
                                   .held = c.cut_velocity_locked});
  const Factored factored = factor_loops(m, loops, q, c.velocity_prescribed);
  alone |= factored.alone;
  for (int round = 0; round < 2; ++round)
    correct_speeds(m, work, factored, true, v, change);
  return alone;
}

} // namespace dalembert::DALEMBERT_ISA
