// Branches of laws that are held: within a step a law stays on the branch on which it began, so that it is smooth
// there.
//
// A switching function is a number of a law that decides between branches: by its sign, by the whole number at or below
// it, or by the piece of a table that it is in. The side that is held is -1 or 1, or that whole number, or the number
// of the piece. Of signs any other number, between -1 and 1 as a rule, is a mixture of both branches, as on a surface
// along which a motion slides (Filippov 1988). Not a number: none is held, what is evaluated follows the switching
// function.
#pragma once

#include "model/model_data.hpp"
#include "scalar/interval.hpp"
#include "scalar/math.hpp"

namespace dalembert::DALEMBERT_ISA {

constexpr int max_mixed = 64; // switching functions of an element whose branches may be mixed

inline bool is_mixed(const SwitchingFunctionData &function, double side) {
  return !function.whole && side == side && side != -1.0 && side != 1.0;
}

template <class T> struct LawBranches {
  const double *held = nullptr;  // of each switching function; null: none are held
  std::ptrdiff_t stride = 0;     // of packs: numbers between the held of one lane and the next
  T *switching_values = nullptr; // where the numbers that decide are left; null: not wanted

  // the switching function's number, or, where a side is held, that
  T switching_value(int k, const T &margin) const {
    if (switching_values)
      switching_values[k] = margin;
    if constexpr (requires { margin[0]; }) {
      T side;
      for (int lane = 0; lane < T::lanes; ++lane) {
        const double side_held = held[lane * stride + k];
        side.set(lane, side_held == side_held ? side_held : margin[lane]);
      }
      return side;
    } else {
      return held[k] == held[k] ? T(held[k]) : margin;
    }
  }

  // the pieces of a table that are held, from switching function k on one for each variable
  const double *pieces(int k, const T *at, int variables) const {
    for (int j = 0; switching_values && j < variables; ++j)
      switching_values[k + j] = at[j];
    return held + k;
  }

  // whether a is less than b, for an instruction with branches
  auto less_of(const Instruction &i, const T &a, const T &b) const {
    if (!held || !i.branch)
      return less(a, b);
    if (i.branch > 0)
      return less(switching_value(i.branch - 1, a - b), T(0.0));
    return less(T(0.0), switching_value(-i.branch - 1, b - a));
  }
};

} // namespace dalembert::DALEMBERT_ISA
