// Shared parts of elimination and solution by fronts. Numbers of equations are those of system/newton/newton.hpp.
#pragma once

#include "system/newton/newton.hpp"
#include "tree/manifold.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

using Complex = std::complex<double>;

// ---- arithmetic; products of complex numbers without a look at what is not finite

DALEMBERT_INLINE double product(double a, double b) { return a * b; }
DALEMBERT_INLINE Complex product(const Complex &a, const Complex &b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
DALEMBERT_INLINE double size_of(double a) { return std::fabs(a); }
DALEMBERT_INLINE double size_of(const Complex &a) { return std::fabs(a.real()) + std::fabs(a.imag()); }

// y += a x
DALEMBERT_INLINE void add(int n, double a, const double *DALEMBERT_RESTRICT x, double *DALEMBERT_RESTRICT y) {
  for (int k = 0; k < n; ++k)
    y[k] += a * x[k];
}
DALEMBERT_INLINE void add(int n, const Complex &a, const Complex *DALEMBERT_RESTRICT xc,
                          Complex *DALEMBERT_RESTRICT yc) {
  const double re = a.real(), im = a.imag();
  const double *x = reinterpret_cast<const double *>(xc);
  double *y = reinterpret_cast<double *>(yc);
  for (int k = 0; k < n; ++k) {
    const double u = x[2 * k], v = x[2 * k + 1];
    y[2 * k] += re * u - im * v;
    y[2 * k + 1] += re * v + im * u;
  }
}
DALEMBERT_INLINE void add(int n, double a, const Complex *x, Complex *y) {
  add(2 * n, a, reinterpret_cast<const double *>(x), reinterpret_cast<double *>(y));
}
template <class T> DALEMBERT_INLINE T inner(int n, const T *x, const T *y) {
  T sum(0.0);
  for (int k = 0; k < n; ++k)
    sum += product(x[k], y[k]);
  return sum;
}

// ---- (1)

// g1 and g2 of the degrees of freedom of one body
template <class T> struct Tied {
  T g1[6][6], g2[6][6];
  bool mixed; // else the numbers of the rates

  Tied(const BodyData &b, const StepRates<T> &rates) : mixed(rates.turning && has_quaternion(b)) {
    if (!mixed)
      return;
    for (int i = 0; i < b.nv; ++i)
      for (int j = 0; j < b.nv; ++j) {
        g1[i][j] = i == j ? rates.rate : T(0.0);
        g2[i][j] = i == j ? rates.second : T(0.0);
      }
    for_chart_slopes(b, rates.turning, [&](int row, int column, double entry) {
      g1[row - b.v][column - b.v] -= entry;
      g2[row - b.v][column - b.v] -= rates.rate * entry;
    });
  }
  T first(const StepRates<T> &rates, int i, int j) const { return mixed ? g1[i][j] : i == j ? rates.rate : T(0.0); }
  T second(const StepRates<T> &rates, int i, int j) const { return mixed ? g2[i][j] : i == j ? rates.second : T(0.0); }
};

inline const BodyData &mover_of(const ModelData &m, int i) {
  const BodyData &b = m.bodies[i];
  return b.form == JointForm::node ? m.bodies[b.parent] : b;
}

// the front of one body, at work
template <class T> struct Front {
  const FrontData &data;
  T *F;
  int leaving, open, width;

  Front(const FrontData &front, T *matrix)
      : data(front), F(matrix + front.matrix), leaving(front.leaving), open(front.open),
        width(front.leaving + front.open + 18) {}
  int rows() const { return leaving + open + 6; }
  int row_of(int offset) const { return offset < leaving ? offset : offset + 6; }
  int column_of(int offset) const { return offset < leaving ? offset : offset + 18; }
  T *row(int r) const { return F + std::ptrdiff_t(r) * width; }
  T *load(int k) const { return row(leaving + k); }
};

} // namespace dalembert::DALEMBERT_ISA
