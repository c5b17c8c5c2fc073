// Traced: a value and its place on a tape that records operations with their slopes; read backwards, the tape gives the
// derivatives of one number by all that it was made from, at a few times the cost of the number itself (Griewank,
// Walther 2008, reverse mode).
//
// Numbers that nothing varies have place 0 and leave no trace. A tape belongs to one thread; kernels record on the one
// that `Recording` has put there.
#pragma once

#include "scalar/math.hpp"
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace dalembert::DALEMBERT_ISA {

class Tape {
public:
  using Place = std::uint32_t;

  // without entries but that of all that does not vary
  void clear() {
    if (nodes.empty())
      grow();
    nodes[0] = {0.0, 0.0, 0, 0};
    used = 1;
  }
  // without those from here on
  void cut(Place end) { used = end; }
  Place size() const { return used; }
  // a number whose slopes are by_a and by_b by the numbers at a and b
  DALEMBERT_INLINE Place add(Place a, double by_a, Place b, double by_b) {
    if (used == nodes.size())
      grow();
    nodes[used] = {by_a, by_b, a, b};
    return used++;
  }
  // derivatives `bar` (size()) of a number by the others: from those that it is made from directly to all before them,
  // by way of the entries [first, size)
  void pull(double *bar, Place first = 1) const {
    for (Place k = used; k-- > first;) {
      const double here = bar[k];
      if (here == 0.0)
        continue;
      const Node &node = nodes[k];
      if (std::fabs(here) <= std::numeric_limits<double>::max()) {
        bar[node.a] += here * node.by_a;
        bar[node.b] += here * node.by_b;
      } else { // beyond a function that is infinitely steep: what has no slope there does not count
        bar[node.a] += node.by_a != 0.0 ? here * node.by_a : 0.0;
        bar[node.b] += node.by_b != 0.0 ? here * node.by_b : 0.0;
      }
    }
  }

private:
  struct Node {
    double by_a, by_b;
    Place a, b;
  };
  std::vector<Node> nodes;
  Place used = 0;

  void grow() { nodes.resize(nodes.empty() ? 1024 : 2 * nodes.size()); }
};

#if defined(__GNUC__) && defined(__linux__)
#define DALEMBERT_TLS __attribute__((tls_model("initial-exec")))
#else
#define DALEMBERT_TLS
#endif
inline constinit thread_local Tape *recording_tape DALEMBERT_TLS = nullptr;
#undef DALEMBERT_TLS

// the tape on which this thread records, as long as this lives
class Recording {
public:
  explicit Recording(Tape &tape) : before(recording_tape) { recording_tape = &tape; }
  ~Recording() { recording_tape = before; }
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;

private:
  Tape *before;
};

struct Traced {
  double value;
  Tape::Place place;
  Traced() = default;
  DALEMBERT_INLINE Traced(double s) : value(s), place(0) {}
  DALEMBERT_INLINE Traced(double v, Tape::Place at) : value(v), place(at) {}
};

// a number from one, or two, with slopes
inline Traced trace(double value, const Traced &a, double by_a) {
  return a.place ? Traced(value, recording_tape->add(a.place, by_a, 0, 0.0)) : Traced(value);
}
inline Traced trace(double value, const Traced &a, double by_a, const Traced &b, double by_b) {
  return a.place || b.place ? Traced(value, recording_tape->add(a.place, by_a, b.place, by_b)) : Traced(value);
}
// a number that varies by itself
inline Traced independent(double value) { return {value, recording_tape->add(0, 0.0, 0, 0.0)}; }

inline Traced operator+(const Traced &a, const Traced &b) { return trace(a.value + b.value, a, 1.0, b, 1.0); }
inline Traced operator-(const Traced &a, const Traced &b) { return trace(a.value - b.value, a, 1.0, b, -1.0); }
inline Traced operator*(const Traced &a, const Traced &b) { return trace(a.value * b.value, a, b.value, b, a.value); }
inline Traced operator/(const Traced &a, const Traced &b) {
  const double inverse = 1.0 / b.value, quotient = a.value * inverse;
  return trace(quotient, a, inverse, b, -quotient * inverse);
}
inline Traced operator-(const Traced &a) { return trace(-a.value, a, -1.0); }
DALEMBERT_INLINE Traced operator+(const Traced &a, double b) { return {a.value + b, a.place}; }
DALEMBERT_INLINE Traced operator+(double a, const Traced &b) { return {a + b.value, b.place}; }
DALEMBERT_INLINE Traced operator-(const Traced &a, double b) { return {a.value - b, a.place}; }
inline Traced operator-(double a, const Traced &b) { return trace(a - b.value, b, -1.0); }
inline Traced operator*(const Traced &a, double b) { return trace(a.value * b, a, b); }
inline Traced operator*(double a, const Traced &b) { return trace(a * b.value, b, a); }
inline Traced operator/(const Traced &a, double b) { return trace(a.value / b, a, 1.0 / b); }
inline Traced operator/(double a, const Traced &b) { return Traced(a) / b; }

DALEMBERT_INLINE bool less(const Traced &a, const Traced &b) { return a.value < b.value; }
DALEMBERT_INLINE Traced select(bool c, const Traced &a, const Traced &b) { return c ? a : b; }
DALEMBERT_INLINE double value_of(const Traced &x) { return x.value; }
DALEMBERT_INLINE Traced nearest(const Traced &x) { return Traced(std::nearbyint(x.value)); }
DALEMBERT_INLINE Traced whole(const Traced &x) { return Traced(whole(x.value)); }

inline void sincos(const Traced &x, Traced &s, Traced &c) {
  double sine, cosine;
  sincos(x.value, sine, cosine);
  s = trace(sine, x, cosine), c = trace(cosine, x, -sine);
}
inline Traced root(const Traced &x) {
  const double r = std::sqrt(x.value);
  return trace(r, x, 0.5 / r);
}
inline Traced arctan2(const Traced &y, const Traced &x) {
  const double square = x.value * x.value + y.value * y.value;
  return trace(arctan2(y.value, x.value), y, x.value / square, x, -y.value / square);
}
inline Traced exponential(const Traced &x) {
  const double y = exponential(x.value);
  return trace(y, x, y);
}
inline Traced logarithm(const Traced &x) { return trace(logarithm(x.value), x, 1.0 / x.value); }
inline Traced hyperbolic_tangent(const Traced &x) {
  const double y = hyperbolic_tangent(x.value);
  return trace(y, x, 1.0 - y * y);
}
inline Traced arctangent(const Traced &x) { return trace(arctangent(x.value), x, 1.0 / (1.0 + x.value * x.value)); }
inline Traced absolute(const Traced &x) { return trace(absolute(x.value), x, x.value < 0.0 ? -1.0 : 1.0); }
inline Traced power(const Traced &x, const Traced &y) {
  const double value = power(x.value, y.value),
               by_x = y.value == 0.0 ? 0.0 : y.value * std::pow(x.value, y.value - 1.0);
  return trace(value, x, by_x, y, x.value > 0.0 && y.place ? value * std::log(x.value) : 0.0);
}

// scalars that carry derivatives
template <class T> constexpr bool differentiates = std::is_same_v<T, Dual> || std::is_same_v<T, Traced>;

// a value with slopes by n numbers
inline Dual depending_on(double value, const Dual *x, const double *slopes, int n) {
  Dual result(value);
  for (int k = 0; k < n; ++k)
    result.slope = result.slope + x[k].slope * slopes[k];
  return result;
}
inline Traced depending_on(double value, const Traced *x, const double *slopes, int n) {
  Traced sum(0.0);
  for (int k = 0; k < n; ++k)
    if (x[k].place)
      sum = sum.place ? trace(0.0, sum, 1.0, x[k], slopes[k]) : trace(0.0, x[k], slopes[k]);
  return {value, sum.place};
}
inline bool moves(const Dual &x) {
  for (int lane = 0; lane < W; ++lane)
    if (x.slope[lane] != 0.0)
      return true;
  return false;
}
inline bool moves(const Traced &x) { return x.place != 0; }

} // namespace dalembert::DALEMBERT_ISA
