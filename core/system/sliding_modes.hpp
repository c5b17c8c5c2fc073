// Motion along surfaces at which laws change branches (Filippov 1988, section 2.4; Utkin 1992, chapter 2).
//
// On both sides of such a surface, switching function = 0, forces drive the motion back to it. It stays there with a
// mixture of what the law gives on the two sides, part (1 - s)/2 of one and (1 + s)/2 of the other, such that the rate
// of the switching function is zero. Rates of these are affine in the mixtures s of all surfaces together, as far as
// laws do not take signals of others that slide: one small linear system, from one evaluation more than there are
// surfaces; a few rounds where they are not affine. The motion leaves where a mixture leaves [-1, 1].
#pragma once

#include "scalar/arena.hpp"
#include "scalar/dense_lu.hpp"
#include "system/dynamics.hpp"
#include "tree/manifold.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

constexpr int max_sliding = 16; // surfaces at a time

struct SlidingWorkspace {
  double *q, *v, *x, *move; // nq, nv, nx, nv: a state beside the one looked at
  double *above, *below;    // switching_count: switching_values there
};

std::size_t lay_out(const ModelData &m, std::byte *base, SlidingWorkspace &work);

inline bool is_sliding_mode(const ModelData &m, const double *sides, int k) {
  return sides[k] == 0.0 && !m.switching_functions[k].whole;
}

inline bool slides(const ModelData &m, const Conditions &c) {
  for (int k = 0; k < m.switching_count; ++k)
    if (is_sliding_mode(m, c.law_branches, k))
      return true;
  return false;
}

// Rates of all switching functions (switching_count) for rates a and dx of the state, by differences; the workspace is
// left as by evaluate_switching_functions.
void switching_rates(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system, SlidingWorkspace &work,
                     const SystemState<double> &s, const double *a, const double *dx, double *rates);

// Finds the mixtures of all surfaces along which the motion slides, in system.sides, and the motion that goes with
// them. motion(a, dx): the equations of motion for the branches that stand in the workspace. Where no mixtures keep it
// there, a is not finite.
template <class Motion> void slide(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system,
                                   SlidingWorkspace &work, const SystemState<double> &s, double *a, double *dx,
                                   Motion &&motion) {
  int which[max_sliding], n = 0;
  std::copy_n(c.law_branches, m.switching_count, system.sides);
  for (int k = 0; k < m.switching_count && n < max_sliding; ++k)
    if (is_sliding_mode(m, c.law_branches, k))
      which[n++] = k;
  system.sliding = true;
  double matrix[max_sliding * max_sliding], found[max_sliding], first[max_sliding], largest = 0.0;
  std::int32_t exchange[max_sliding];
  const auto rates = [&](double *out) {
    motion(a, dx);
    switching_rates(m, c, system, work, s, a, dx, work.above);
    for (int i = 0; i < n; ++i)
      out[i] = work.above[which[i]];
  };
  rates(first);
  for (int j = 0; j < n; ++j) {
    system.sides[which[j]] = 1.0;
    rates(found);
    system.sides[which[j]] = 0.0;
    for (int i = 0; i < n; ++i) {
      matrix[i * n + j] = found[i] - first[i];
      largest = std::max(largest, std::fabs(matrix[i * n + j]));
    }
  }
  if (factor_lu(matrix, exchange, n)) {
    const bool affine = !m.signal_count && !m.feedback_count && !m.actuator_count;
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < n; ++i)
        first[i] = -first[i];
      solve_lu(matrix, exchange, n, first);
      double step = 0.0;
      for (int i = 0; i < n; ++i) {
        system.sides[which[i]] += first[i];
        step = std::max(step, std::fabs(first[i]));
      }
      if (affine || !(step > 1e-10))
        break;
      rates(first);
    }
    motion(a, dx);
    return;
  }
  std::fill_n(a, m.nv, std::nan(""));
}

} // namespace dalembert::DALEMBERT_ISA
