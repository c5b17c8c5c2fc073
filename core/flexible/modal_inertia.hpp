// Inertia and gyroscopic loads of flexible bodies: (2) and (3) of flexible/body.hpp.
#pragma once

#include "flexible/modal_tables.hpp"
#include "scalar/pack.hpp"
#include <cstring>
#include <type_traits>

namespace dalembert::DALEMBERT_ISA {

// sums over s of what is bilinear in modes, of one r, or of as many as a register holds
template <class V> struct BilinearSums {
  Vec3<V> turn, along, shift, push; // F1_rs eta_s, F1_rs eta'_s, E1_rs eta_s, E1_rs eta'_s
  Sym3<V> bend;                     // J2_rs eta_s
  V gyro;                           // omega . (F1_rs - F1_sr) eta'_s
};

// `row` reads a row of the tables at the places r; rate and w only if `moving`
template <bool moving, class V, class T, class Read> DALEMBERT_INLINE void
sum_bilinear(const ModalTables &t, const T *eta, const T *rate, const Vec3<T> &w, const Read &row, BilinearSums<V> &o) {
  const Vec3<V> zero{V(0.0), V(0.0), V(0.0)};
  o = {zero, zero, zero, zero, {V(0.0), V(0.0), V(0.0), V(0.0), V(0.0), V(0.0)}, V(0.0)};
  const double *at = t.bilinear;
  const std::ptrdiff_t width = t.width;
  for (int s = 0; s < t.n; ++s, at += t.rows * width) {
    const V e(eta[s]);
    const auto x = row(at), y = row(at + width), z = row(at + 2 * width);
    o.turn = {o.turn.x + e * x, o.turn.y + e * y, o.turn.z + e * z};
    Sym3<V> &J = o.bend;
    J.xx = J.xx + e * row(at + 3 * width), J.xy = J.xy + e * row(at + 4 * width), J.xz = J.xz + e * row(at + 5 * width);
    J.yy = J.yy + e * row(at + 6 * width), J.yz = J.yz + e * row(at + 7 * width), J.zz = J.zz + e * row(at + 8 * width);
    if constexpr (moving) {
      const V u(rate[s]);
      o.along = {o.along.x + u * x, o.along.y + u * y, o.along.z + u * z};
      o.gyro = o.gyro + V(rate[s] * w.x) * row(at + 9 * width) + V(rate[s] * w.y) * row(at + 10 * width) +
               V(rate[s] * w.z) * row(at + 11 * width);
    }
    if (t.rows > 12) {
      const auto a = row(at + 12 * width), b = row(at + 13 * width), c = row(at + 14 * width);
      o.shift = {o.shift.x + e * a, o.shift.y + e * b, o.shift.z + e * c};
      if constexpr (moving) {
        const V u(rate[s]);
        o.push = {o.push.x + u * a, o.push.y + u * b, o.push.z + u * c};
      }
    }
  }
}

// the sums of all modes, one by one given to take(r, sums); numbers are taken as many at once as a register holds
template <bool moving, class T, class Take> DALEMBERT_INLINE void
each_bilinear(const ModalTables &t, const T *eta, const T *rate, const Vec3<T> &w, const Take &take) {
  if constexpr (std::is_same_v<T, double>) {
    BilinearSums<Pack> some;
    for (int begin = 0; begin < t.n; begin += W) {
      sum_bilinear<moving>(
          t, eta, rate, w,
          [begin](const double *row) {
            Pack found;
            std::memcpy(&found, row + begin, sizeof(Pack));
            return found;
          },
          some);
      for (int k = 0; k < W && begin + k < t.n; ++k) {
        const auto vec = [k](const Vec3<Pack> &a) { return Vec3<double>{a.x[k], a.y[k], a.z[k]}; };
        const Sym3<Pack> &J = some.bend;
        take(begin + k, BilinearSums<double>{vec(some.turn),
                                             vec(some.along),
                                             vec(some.shift),
                                             vec(some.push),
                                             {J.xx[k], J.xy[k], J.xz[k], J.yy[k], J.yz[k], J.zz[k]},
                                             some.gyro[k]});
      }
    }
  } else {
    BilinearSums<T> one;
    for (int r = 0; r < t.n; ++r) {
      sum_bilinear<moving>(
          t, eta, rate, w, [r](const double *row) { return row[r]; }, one);
      take(r, one);
    }
  }
}

// (2): m, h, J into I_C, [F_r; E_r] into modal_own, J2_rs eta_s into modal_bend; with v, also what modal_bias takes
// from the tables, into modal_rates
template <class T>
inline void modal_inertia(const ModelData &m, Workspace<T> &ws, const T *q, int i, const T *v = nullptr) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const ModalTables t = modal_tables(m, body);
  const T *eta = q + b.q;
  Load<T> *own = ws.modal_own + body.loads;
  RigidInertia<T> I{T(*t.mass), lift<T>(as_vec(t.h0)), lift<T>(as_sym(t.J0))};
  if (body.order_zero) {
    for (int r = 0; r < t.n; ++r)
      own[r] = {lift<T>(as_vec(t.F0 + 3 * r)), lift<T>(as_vec(t.E0 + 3 * r))};
    ws.I_C[i] = I;
    return;
  }
  const auto take = [&](int r, const BilinearSums<T> &sums) {
    own[r] = {lift<T>(as_vec(t.F0 + 3 * r)) + sums.turn, lift<T>(as_vec(t.E0 + 3 * r)) + sums.shift};
    ws.modal_bend[body.loads + r] = sums.bend;
    if (v)
      ws.modal_rates[body.loads + r] = {sums.along, sums.push, sums.gyro};
    add_scaled(I.J, eta[r], sums.bend);
    add_scaled(I.J, eta[r], t.J1 + 6 * r);
    add_scaled(I.h, eta[r], (t.h1 ? t.h1 : t.E0) + 3 * r);
    I.h += scale(0.5 * eta[r], sums.shift);
  };
  if (v)
    each_bilinear<true>(t, eta, v + b.v, ws.w[i], take);
  else
    each_bilinear<false>(t, eta, static_cast<const T *>(nullptr), ws.w[i], take);
  ws.I_C[i] = I;
}

// load on B by which the body itself opposes [eta''; alpha; acc]; a: eta'', or null
template <class T>
DALEMBERT_INLINE Load<T> modal_load(const ModelData &m, const Workspace<T> &ws, const Motion<T> &A, const T *a, int i) {
  const ModalData &body = m.modal[m.bodies[i].modal];
  const Load<T> *own = ws.modal_own + body.loads;
  Load<T> F = mul(ws.I_C[i], A.w, A.v);
  for (int r = 0; a && r < body.modes; ++r) {
    F.n += scale(a[r], own[r].n);
    F.f += scale(a[r], own[r].f);
  }
  return F;
}

// the terms of (B.28), (B.41), (B.49) of the source, errata corrected
template <class T> inline Load<T> source_bias(const ModalTables &t, const RigidInertia<T> &I, const Vec3<T> &w,
                                              const T *eta, const T *rate, T *modal) {
  const int n = t.n;
  Load<T> F{cross(w, mul(I.J, w)), cross(w, cross(w, I.h))};
  Vec3<T> drift = zero3<T>();
  for (int r = 0; r < n; ++r) {
    Sym3<T> N = lift<T>(as_sym(t.N1 + 6 * r));
    Mat3<T> C = lift<T>(as_mat(t.C1 + 9 * r));
    Vec3<T> turn = zero3<T>(), twice = zero3<T>(), push = zero3<T>();
    T spin(0.0);
    for (int s = 0; s < n; ++s) {
      const std::ptrdiff_t rs = std::ptrdiff_t(r) * n + s;
      add_scaled(N, eta[s], t.N2 + 6 * rs);
      const double *c = t.C2 + 9 * rs;
      C = {C.xx + eta[s] * c[0], C.xy + eta[s] * c[1], C.xz + eta[s] * c[2], C.yx + eta[s] * c[3], C.yy + eta[s] * c[4],
           C.yz + eta[s] * c[5], C.zx + eta[s] * c[6], C.zy + eta[s] * c[7], C.zz + eta[s] * c[8]};
      add_scaled(turn, rate[s], t.Q + 3 * rs);
      add_scaled(twice, rate[s], t.R2 + 3 * rs);
      add_scaled(push, rate[s], t.L + 3 * rs);
      for (int k = 0; k < n; ++k) {
        spin = spin + (rate[s] * rate[k]) * t.T3[rs * n + k];
        add_scaled(twice, rate[s] * eta[k], t.R3 + 3 * (rs * n + k));
      }
    }
    modal[r] = modal[r] + spin - dot(w, mul(N, w)) - dot(w, turn);
    F.n += scale(rate[r], mul(C, w) + twice);
    F.f += scale(rate[r], push);
    add_scaled(drift, rate[r], t.E0 + 3 * r);
  }
  F.f += scale(2.0, cross(w, drift));
  return F;
}

// an entry of the stiffness or damping of a flexible body, which stands there in the tables, at that place of the
// body's
template <class T> DALEMBERT_INLINE auto elastic_of(const ModelData &m, const double *there, int modal, int place) {
  if constexpr (varies<T>) {
    if (!m.varied)
      return T(*there);
    for (int k = 0; k < modal; ++k)
      place += 2 * m.modal[k].modes * m.modal[k].modes;
    return parameters_of<T>(m)->elastic[place];
  } else {
    return *there;
  }
}

// (3), with elastic and damping forces: loads on B, and modal forces added to `modal` (n); after modal_inertia with v
template <class T> inline Load<T> modal_bias(const ModelData &m, const Workspace<T> &ws, const Vec3<T> &w, const T *q,
                                             const T *v, int i, T *modal) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const ModalTables t = modal_tables(m, body);
  const int n = t.n;
  const T *eta = q + b.q, *rate = v + b.v;
  const Load<T> *own = ws.modal_own + body.loads;
  const RigidInertia<T> &I = ws.I_C[i];
  for (int r = 0; r < n; ++r) {
    T force(0.0);
    for (int s = 0; s < n; ++s)
      force = force + elastic_of<T>(m, t.stiffness + r * n + s, b.modal, r * n + s) * eta[s] +
              elastic_of<T>(m, t.damping + r * n + s, b.modal, n * n + r * n + s) * rate[s];
    modal[r] = modal[r] + force;
  }
  if (body.order_zero) {
    const double *spin = t.N1 ? t.N1 : t.J1;
    for (int r = 0; r < n; ++r)
      modal[r] = modal[r] - (t.N1 ? 1.0 : 0.5) * dot(w, mul(as_sym(spin + 6 * r), w));
    return {cross(w, mul(I.J, w)), cross(w, cross(w, I.h))};
  }
  if (body.source)
    return source_bias(t, I, w, eta, rate, modal);
  Vec3<T> momentum = mul(I.J, w), drift = zero3<T>(), turn = zero3<T>(), push = zero3<T>();
  for (int r = 0; r < n; ++r) {
    const ModalRate<T> &sums = ws.modal_rates[body.loads + r];
    const Vec3<T> Kw = mul(as_sym(t.J1 + 6 * r), w) + scale(2.0, mul(ws.modal_bend[body.loads + r], w));
    modal[r] = modal[r] + sums.gyro - 0.5 * dot(w, Kw);
    momentum += scale(rate[r], own[r].n);
    drift += scale(rate[r], own[r].f);
    turn += scale(rate[r], Kw + sums.along);
    push += scale(rate[r], sums.push);
  }
  return {cross(w, momentum) + turn, cross(w, cross(w, I.h)) + scale(2.0, cross(w, drift)) + push};
}

// inertia of the modes times eta''
template <class T> DALEMBERT_INLINE T modal_product(const ModalTables &t, const T *a, int r) {
  T sum(0.0);
  for (int s = 0; s < t.n; ++s)
    sum = sum + t.G[r * t.n + s] * a[s];
  return sum;
}

// load on B by which the body opposes its motion, weight included; modal forces into `modal`
template <class T> inline Load<T> flexible_load(const ModelData &m, Workspace<T> &ws, const T *q, const T *v,
                                                const T *a, int i, T *modal) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const ModalTables t = modal_tables(m, body);
  modal_inertia(m, ws, q, i, v);
  const Motion<T> &A = ws.A[i];
  for (int r = 0; r < t.n; ++r) {
    const Load<T> &own = ws.modal_own[body.loads + r];
    modal[r] = dot(own.n, A.w) + dot(own.f, A.v);
    if (a)
      modal[r] = modal[r] + modal_product(t, a + b.v, r);
  }
  Load<T> F = modal_load(m, ws, A, a ? a + b.v : nullptr, i);
  const Load<T> left = modal_bias(m, ws, ws.w[i], q, v, i, modal);
  F.n += left.n;
  F.f += left.f;
  return F;
}

} // namespace dalembert::DALEMBERT_ISA
