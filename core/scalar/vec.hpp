// Three-vectors and 3x3 matrices of any scalar T (double, Pack, Dual).
//
// Plain aggregates and inline functions: no expression templates, no allocation. A rotation R_AB
// takes components in B to components in A.
#pragma once

#include "scalar/isa.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> struct Vec3 { T x, y, z; };

// row major: xx xy xz / yx yy yz / zx zy zz
template <class T> struct Mat3 { T xx, xy, xz, yx, yy, yz, zx, zy, zz; };

template <class T> struct Sym3 { T xx, xy, xz, yy, yz, zz; };

template <class T> struct Pose {
  Mat3<T> R;
  Vec3<T> p;
};

template <class T> DALEMBERT_INLINE Vec3<T> zero3() { return {T(0.0), T(0.0), T(0.0)}; }

template <class A, class B> DALEMBERT_INLINE auto operator+(const Vec3<A> &a, const Vec3<B> &b) {
  return Vec3<decltype(a.x + b.x)>{a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class A, class B> DALEMBERT_INLINE auto operator-(const Vec3<A> &a, const Vec3<B> &b) {
  return Vec3<decltype(a.x - b.x)>{a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class A> DALEMBERT_INLINE Vec3<A> operator-(const Vec3<A> &a) { return {-a.x, -a.y, -a.z}; }
template <class A> DALEMBERT_INLINE Vec3<A> &operator+=(Vec3<A> &a, const Vec3<A> &b) {
  a.x = a.x + b.x, a.y = a.y + b.y, a.z = a.z + b.z;
  return a;
}
template <class A> DALEMBERT_INLINE Vec3<A> &operator-=(Vec3<A> &a, const Vec3<A> &b) {
  a.x = a.x - b.x, a.y = a.y - b.y, a.z = a.z - b.z;
  return a;
}
template <class S, class B> DALEMBERT_INLINE auto scale(const S &s, const Vec3<B> &b) {
  return Vec3<decltype(s * b.x)>{s * b.x, s * b.y, s * b.z};
}
template <class A, class B> DALEMBERT_INLINE auto dot(const Vec3<A> &a, const Vec3<B> &b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class A, class B> DALEMBERT_INLINE auto cross(const Vec3<A> &a, const Vec3<B> &b) {
  return Vec3<decltype(a.x * b.x)>{a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// R v
template <class A, class B> DALEMBERT_INLINE auto mul(const Mat3<A> &R, const Vec3<B> &v) {
  return Vec3<decltype(R.xx * v.x)>{R.xx * v.x + R.xy * v.y + R.xz * v.z, R.yx * v.x + R.yy * v.y + R.yz * v.z,
                                    R.zx * v.x + R.zy * v.y + R.zz * v.z};
}
// R^T v
template <class A, class B> DALEMBERT_INLINE auto mul_t(const Mat3<A> &R, const Vec3<B> &v) {
  return Vec3<decltype(R.xx * v.x)>{R.xx * v.x + R.yx * v.y + R.zx * v.z, R.xy * v.x + R.yy * v.y + R.zy * v.z,
                                    R.xz * v.x + R.yz * v.y + R.zz * v.z};
}
template <class A, class B> DALEMBERT_INLINE auto mul(const Sym3<A> &S, const Vec3<B> &v) {
  return Vec3<decltype(S.xx * v.x)>{S.xx * v.x + S.xy * v.y + S.xz * v.z, S.xy * v.x + S.yy * v.y + S.yz * v.z,
                                    S.xz * v.x + S.yz * v.y + S.zz * v.z};
}
template <class A, class B> DALEMBERT_INLINE auto mul(const Mat3<A> &P, const Mat3<B> &Q) {
  using T = decltype(P.xx * Q.xx);
  return Mat3<T>{P.xx * Q.xx + P.xy * Q.yx + P.xz * Q.zx, P.xx * Q.xy + P.xy * Q.yy + P.xz * Q.zy,
                 P.xx * Q.xz + P.xy * Q.yz + P.xz * Q.zz, P.yx * Q.xx + P.yy * Q.yx + P.yz * Q.zx,
                 P.yx * Q.xy + P.yy * Q.yy + P.yz * Q.zy, P.yx * Q.xz + P.yy * Q.yz + P.yz * Q.zz,
                 P.zx * Q.xx + P.zy * Q.yx + P.zz * Q.zx, P.zx * Q.xy + P.zy * Q.yy + P.zz * Q.zy,
                 P.zx * Q.xz + P.zy * Q.yz + P.zz * Q.zz};
}

// P^T Q
template <class T> DALEMBERT_INLINE Mat3<T> mul_ta(const Mat3<T> &P, const Mat3<T> &Q) {
  return mul(Mat3<T>{P.xx, P.yx, P.zx, P.xy, P.yy, P.zy, P.xz, P.yz, P.zz}, Q);
}
// P Q^T
template <class T> DALEMBERT_INLINE Mat3<T> mul_tb(const Mat3<T> &P, const Mat3<T> &Q) {
  return mul(P, Mat3<T>{Q.xx, Q.yx, Q.zx, Q.xy, Q.yy, Q.zy, Q.xz, Q.yz, Q.zz});
}

// R Rz(angle) and Rx(angle), Ry(angle) likewise: a turn about one axis mixes two columns
template <class A, class T> DALEMBERT_INLINE auto turn_z(const Mat3<A> &R, const T &c, const T &s) {
  return Mat3<T>{R.xx * c + R.xy * s, R.xy * c - R.xx * s, T(R.xz), R.yx * c + R.yy * s, R.yy * c - R.yx * s, T(R.yz),
                 R.zx * c + R.zy * s, R.zy * c - R.zx * s, T(R.zz)};
}
template <class A, class T> DALEMBERT_INLINE auto turn_x(const Mat3<A> &R, const T &c, const T &s) {
  return Mat3<T>{T(R.xx), R.xy * c + R.xz * s, R.xz * c - R.xy * s, T(R.yx), R.yy * c + R.yz * s, R.yz * c - R.yy * s,
                 T(R.zx), R.zy * c + R.zz * s, R.zz * c - R.zy * s};
}
template <class A, class T> DALEMBERT_INLINE auto turn_y(const Mat3<A> &R, const T &c, const T &s) {
  return Mat3<T>{R.xx * c - R.xz * s, T(R.xy), R.xx * s + R.xz * c, R.yx * c - R.yz * s, T(R.yy), R.yx * s + R.yz * c,
                 R.zx * c - R.zz * s, T(R.zy), R.zx * s + R.zz * c};
}

template <class T, class A> DALEMBERT_INLINE Vec3<T> lift(const Vec3<A> &a) { return {T(a.x), T(a.y), T(a.z)}; }
template <class T, class A> DALEMBERT_INLINE Mat3<T> lift(const Mat3<A> &a) {
  return {T(a.xx), T(a.xy), T(a.xz), T(a.yx), T(a.yy), T(a.yz), T(a.zx), T(a.zy), T(a.zz)};
}
template <class T, class A> DALEMBERT_INLINE Sym3<T> lift(const Sym3<A> &a) {
  return {T(a.xx), T(a.xy), T(a.xz), T(a.yy), T(a.yz), T(a.zz)};
}

// X_AC = X_AB X_BC
template <class A, class B> DALEMBERT_INLINE auto compose(const Pose<A> &X, const Pose<B> &Y) {
  using T = decltype(X.p.x * Y.p.x);
  return Pose<T>{mul(X.R, Y.R), mul(X.R, Y.p) + lift<T>(X.p)};
}

} // namespace dalembert::DALEMBERT_ISA
