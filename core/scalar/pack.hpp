// Pack: W states at once in one vector register. Same operations as double, lane by lane.
#pragma once

#include "scalar/isa.hpp"

namespace dalembert::DALEMBERT_ISA {

#if defined(__GNUC__)
struct Pack {
  typedef double Register __attribute__((vector_size(8 * W)));
  static constexpr int lanes = W;
  Register r;
  Pack() = default;
  DALEMBERT_INLINE Pack(double s) : r(s - Register{}) {}
  DALEMBERT_INLINE explicit Pack(Register v) : r(v) {}
  DALEMBERT_INLINE double operator[](int i) const { return r[i]; }
  DALEMBERT_INLINE void set(int i, double s) { r[i] = s; }
};
DALEMBERT_INLINE Pack operator+(Pack a, Pack b) { return Pack(a.r + b.r); }
DALEMBERT_INLINE Pack operator-(Pack a, Pack b) { return Pack(a.r - b.r); }
DALEMBERT_INLINE Pack operator*(Pack a, Pack b) { return Pack(a.r * b.r); }
DALEMBERT_INLINE Pack operator/(Pack a, Pack b) { return Pack(a.r / b.r); }
DALEMBERT_INLINE Pack operator-(Pack a) { return Pack(-a.r); }
#else
struct Pack {
  static constexpr int lanes = W;
  double r[W];
  Pack() = default;
  Pack(double s) {
    for (int i = 0; i < W; ++i)
      r[i] = s;
  }
  double operator[](int i) const { return r[i]; }
  void set(int i, double s) { r[i] = s; }
};
template <class F> Pack lanewise(const Pack &a, const Pack &b, F f) {
  Pack c;
  for (int i = 0; i < W; ++i)
    c.r[i] = f(a.r[i], b.r[i]);
  return c;
}
inline Pack operator+(Pack a, Pack b) {
  return lanewise(a, b, [](double x, double y) { return x + y; });
}
inline Pack operator-(Pack a, Pack b) {
  return lanewise(a, b, [](double x, double y) { return x - y; });
}
inline Pack operator*(Pack a, Pack b) {
  return lanewise(a, b, [](double x, double y) { return x * y; });
}
inline Pack operator/(Pack a, Pack b) {
  return lanewise(a, b, [](double x, double y) { return x / y; });
}
inline Pack operator-(Pack a) { return Pack(0.0) - a; }
#endif

} // namespace dalembert::DALEMBERT_ISA
