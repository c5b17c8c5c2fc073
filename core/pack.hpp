// Pack<W>: W states at once in one vector register. Same operations as double, lane by lane.
#pragma once

#include "isa.hpp"

namespace dalembert::DALEMBERT_ISA {

#if defined(__GNUC__)
template <int W> struct RegisterOf;
template <> struct RegisterOf<2> {
  typedef double type __attribute__((vector_size(16)));
};
template <> struct RegisterOf<4> {
  typedef double type __attribute__((vector_size(32)));
};
template <> struct RegisterOf<8> {
  typedef double type __attribute__((vector_size(64)));
};

template <int W> struct Pack {
  using Register = typename RegisterOf<W>::type;
  static constexpr int lanes = W;
  Register r;
  Pack() = default;
  DALEMBERT_INLINE Pack(double s) : r(s - Register{}) {}
  DALEMBERT_INLINE explicit Pack(Register v) : r(v) {}
  DALEMBERT_INLINE double operator[](int i) const { return r[i]; }
  DALEMBERT_INLINE void set(int i, double s) { r[i] = s; }
};
template <int W> DALEMBERT_INLINE Pack<W> operator+(Pack<W> a, Pack<W> b) { return Pack<W>(a.r + b.r); }
template <int W> DALEMBERT_INLINE Pack<W> operator-(Pack<W> a, Pack<W> b) { return Pack<W>(a.r - b.r); }
template <int W> DALEMBERT_INLINE Pack<W> operator*(Pack<W> a, Pack<W> b) { return Pack<W>(a.r * b.r); }
template <int W> DALEMBERT_INLINE Pack<W> operator/(Pack<W> a, Pack<W> b) { return Pack<W>(a.r / b.r); }
template <int W> DALEMBERT_INLINE Pack<W> operator-(Pack<W> a) { return Pack<W>(-a.r); }
#else
template <int W> struct Pack {
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
template <int W, class F> Pack<W> lanewise(const Pack<W> &a, const Pack<W> &b, F f) {
  Pack<W> c;
  for (int i = 0; i < W; ++i)
    c.r[i] = f(a.r[i], b.r[i]);
  return c;
}
template <int W> Pack<W> operator+(Pack<W> a, Pack<W> b) {
  return lanewise(a, b, [](double x, double y) { return x + y; });
}
template <int W> Pack<W> operator-(Pack<W> a, Pack<W> b) {
  return lanewise(a, b, [](double x, double y) { return x - y; });
}
template <int W> Pack<W> operator*(Pack<W> a, Pack<W> b) {
  return lanewise(a, b, [](double x, double y) { return x * y; });
}
template <int W> Pack<W> operator/(Pack<W> a, Pack<W> b) {
  return lanewise(a, b, [](double x, double y) { return x / y; });
}
template <int W> Pack<W> operator-(Pack<W> a) { return Pack<W>(0.0) - a; }
#endif

template <int W> DALEMBERT_INLINE Pack<W> operator+(Pack<W> a, double b) { return a + Pack<W>(b); }
template <int W> DALEMBERT_INLINE Pack<W> operator+(double a, Pack<W> b) { return Pack<W>(a) + b; }
template <int W> DALEMBERT_INLINE Pack<W> operator-(Pack<W> a, double b) { return a - Pack<W>(b); }
template <int W> DALEMBERT_INLINE Pack<W> operator-(double a, Pack<W> b) { return Pack<W>(a) - b; }
template <int W> DALEMBERT_INLINE Pack<W> operator*(Pack<W> a, double b) { return a * Pack<W>(b); }
template <int W> DALEMBERT_INLINE Pack<W> operator*(double a, Pack<W> b) { return Pack<W>(a) * b; }
template <int W> DALEMBERT_INLINE Pack<W> operator/(Pack<W> a, double b) { return a / Pack<W>(b); }
template <int W> DALEMBERT_INLINE Pack<W> operator/(double a, Pack<W> b) { return Pack<W>(a) / b; }

} // namespace dalembert::DALEMBERT_ISA
