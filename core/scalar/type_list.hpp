// A list of types whose places are numbers: what a registry is made of.
#pragma once

#include "scalar/isa.hpp"
#include <utility>

namespace dalembert {

template <class... Each> struct Types {
  static constexpr int count = int(sizeof...(Each));

  // calls f(Each{}) for the type of that number
  template <class F> static DALEMBERT_INLINE void visit(int number, F &&f) {
    int k = 0;
    (void)((number == k++ ? (f(Each{}), true) : false) || ...);
  }
  // calls f(Each{}, number) for all of them
  template <class F> static void for_each(F &&f) {
    int k = 0;
    (f(Each{}, k++), ...);
  }
};

} // namespace dalembert
