// What users look at: motion of bodies and markers in the world, energy, momentum, hinge loads.
//
// The frame map from F to the user's body frame B is applied here and in subtract_loads only.
#pragma once

#include "crba.hpp"
#include "rnea.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> DALEMBERT_INLINE void put(T *to, const Vec3<T> &a) { to[0] = a.x, to[1] = a.y, to[2] = a.z; }
template <class T> DALEMBERT_INLINE void put(T *to, const Mat3<T> &R) {
  to[0] = R.xx, to[1] = R.xy, to[2] = R.xz, to[3] = R.yx, to[4] = R.yy, to[5] = R.yz, to[6] = R.zx, to[7] = R.zy, to[8] = R.zz;
}

DALEMBERT_INLINE const Pose<double> body_in_F(const BodyData &b) { return {as_mat(b.R_FB), as_vec(b.p_FB)}; }

// pose of a frame Y fixed in F, in the world: rotation (9), position (3)
template <class T> DALEMBERT_INLINE void put_pose(const Workspace<T> &ws, int i, const Pose<double> &Y, T *out) {
  const Pose<T> X = compose(ws.X_W[i], Y);
  put(out, X.R);
  put(out + 9, X.p);
}
// [omega; velocity] of the point p fixed in F, world axes
template <class T> DALEMBERT_INLINE void put_velocity(const Workspace<T> &ws, int i, const Vec3<double> &p, T *out) {
  put(out, mul(ws.X_W[i].R, ws.w[i]));
  put(out + 3, mul(ws.X_W[i].R, ws.u[i] + cross(ws.w[i], p)));
}
// [alpha; acceleration] of the point p fixed in F, world axes
template <class T> DALEMBERT_INLINE void put_acceleration(const Workspace<T> &ws, int i, const Vec3<double> &p, T *out) {
  const Motion<T> &A = ws.A[i];
  put(out, mul(ws.X_W[i].R, A.w));
  put(out + 3, mul(ws.X_W[i].R, A.v + cross(A.w, p) + cross(ws.w[i], cross(ws.w[i], p))));
}

// ---- all bodies

template <class T> inline void poses(const ModelData &m, Workspace<T> &ws, const T *q, T *out) {
  ground(m, ws, false);
  for (int i = 1; i <= m.nb; ++i) {
    position(m, ws, q, i);
    world_pose(m, ws, i);
    if (const int user = m.bodies[i].user)
      put_pose(ws, i, body_in_F(m.bodies[i]), out + 12 * (user - 1));
  }
}

template <class T> inline void velocities(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, T *out) {
  ground(m, ws, false);
  for (int i = 1; i <= m.nb; ++i) {
    position(m, ws, q, i);
    world_pose(m, ws, i);
    velocity(m, ws, q, v, i);
    linear_velocity(m, ws, v, i);
    if (const int user = m.bodies[i].user)
      put_velocity(ws, i, as_vec(m.bodies[i].p_FB), out + 6 * (user - 1));
  }
}

template <class T> inline void accelerations(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a, T *out) {
  ground(m, ws, false);
  for (int i = 1; i <= m.nb; ++i) {
    position(m, ws, q, i);
    world_pose(m, ws, i);
    velocity(m, ws, q, v, i);
    acceleration(m, ws, a, i);
    if (const int user = m.bodies[i].user)
      put_acceleration(ws, i, as_vec(m.bodies[i].p_FB), out + 6 * (user - 1));
  }
}

// ---- one marker: only the bodies on its path

template <class T, class F> DALEMBERT_INLINE void along_path(const ModelData &m, Workspace<T> &ws, int body, F &&f) {
  int count = 0;
  for (int i = body; i; i = m.bodies[i].parent)
    ws.path[count++] = i;
  ground(m, ws, false);
  while (count--)
    f(ws.path[count]);
}

template <class T> inline void marker_pose(const ModelData &m, Workspace<T> &ws, const MarkerData &marker, const T *q, T *out) {
  along_path(m, ws, marker.body, [&](int i) {
    position(m, ws, q, i);
    world_pose(m, ws, i);
  });
  put_pose(ws, marker.body, {as_mat(marker.R_FM), as_vec(marker.p_FM)}, out);
}

template <class T>
inline void marker_velocity(const ModelData &m, Workspace<T> &ws, const MarkerData &marker, const T *q, const T *v, T *out) {
  along_path(m, ws, marker.body, [&](int i) {
    position(m, ws, q, i);
    world_pose(m, ws, i);
    velocity(m, ws, q, v, i);
    linear_velocity(m, ws, v, i);
  });
  put_velocity(ws, marker.body, as_vec(marker.p_FM), out);
}

template <class T>
inline void marker_acceleration(const ModelData &m, Workspace<T> &ws, const MarkerData &marker, const T *q, const T *v,
                                const T *a, T *out) {
  along_path(m, ws, marker.body, [&](int i) {
    position(m, ws, q, i);
    world_pose(m, ws, i);
    velocity(m, ws, q, v, i);
    acceleration(m, ws, a, i);
  });
  put_acceleration(ws, marker.body, as_vec(marker.p_FM), out);
}

// J, 6 x nv: [omega; velocity] of the marker = J v, world axes
template <class T> inline void marker_jacobian(const ModelData &m, Workspace<T> &ws, const MarkerData &marker, const T *q, T *out) {
  for (int k = 0; k < 6 * m.nv; ++k)
    out[k] = T(0.0);
  along_path(m, ws, marker.body, [&](int i) {
    position(m, ws, q, i);
    world_pose(m, ws, i);
  });
  const Vec3<T> p = mul(ws.X_W[marker.body].R, as_vec(marker.p_FM)) + ws.X_W[marker.body].p;
  for (int i = marker.body; i; i = m.bodies[i].parent) {
    const BodyData &b = m.bodies[i];
    const Vec3<T> r = p - ws.X_W[i].p;
    for (int k = 0; k < b.moves; ++k) { // modes move a node and, with it, perhaps the frame of its body
      const Motion<T> h = column(b, ws.H + b.H, k);
      const Vec3<T> w = mul(ws.X_W[i].R, h.w), u = mul(ws.X_W[i].R, h.v) + cross(w, r);
      const T six[6] = {w.x, w.y, w.z, u.x, u.y, u.z};
      T *to = out + b.by + k;
      for (int c = 0; c < 6; ++c)
        to[c * m.nv] = to[c * m.nv] + six[c];
    }
  }
}

// ---- whole system

// kinetic and potential energy (J); the weights have none where the centre of mass is at the world's origin, flexible
// bodies none where they are not deformed
template <class T> inline void energy(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, T *out) {
  ground(m, ws, false);
  T kinetic(0.0), potential(0.0);
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    position(m, ws, q, i);
    world_pose(m, ws, i);
    velocity(m, ws, q, v, i);
    linear_velocity(m, ws, v, i);
    const Vec3<T> &w = ws.w[i], &u = ws.u[i];
    if (b.kind == Hinge::modal) {
      modal_inertia(m, ws, q, i);
      const RigidInertia<T> &I = ws.I_C[i];
      kinetic = kinetic + 0.5 * (dot(w, mul(I.J, w)) + I.m * dot(u, u)) + dot(u, cross(w, I.h)) + modal_kinetic(m, ws, v, i);
      potential = potential + strain_energy(m, q, i) - dot(as_vec(m.gravity), mul(ws.X_W[i].R, I.h) + scale(I.m, ws.X_W[i].p));
      continue;
    }
    kinetic = kinetic + 0.5 * (dot(w, mul(as_sym(b.J), w)) + b.mass * dot(u, u)) + dot(u, cross(w, as_vec(b.h)));
    const Vec3<T> moment = mul(ws.X_W[i].R, as_vec(b.h)) + scale(b.mass, ws.X_W[i].p);
    potential = potential - dot(as_vec(m.gravity), moment);
  }
  out[0] = kinetic;
  out[1] = potential;
}

DALEMBERT_INLINE double total_mass(const ModelData &m) {
  double mass = 0.0;
  for (int i = 1; i <= m.nb; ++i)
    mass += m.bodies[i].mass;
  return mass;
}

// centre of mass, after the world poses and modal inertias
template <class T> DALEMBERT_INLINE Vec3<T> mass_centre(const ModelData &m, const Workspace<T> &ws) {
  Vec3<T> moment = zero3<T>();
  for (int i = 1; i <= m.nb; ++i) {
    const Vec3<T> h = m.bodies[i].kind == Hinge::modal ? ws.I_C[i].h : lift<T>(as_vec(m.bodies[i].h));
    moment += mul(ws.X_W[i].R, h) + scale(m.bodies[i].mass, ws.X_W[i].p);
  }
  return scale(1.0 / total_mass(m), moment);
}

template <class T> inline void center_of_mass(const ModelData &m, Workspace<T> &ws, const T *q, T *out) {
  ground(m, ws, false);
  for (int i = 1; i <= m.nb; ++i) {
    position(m, ws, q, i);
    world_pose(m, ws, i);
    if (m.bodies[i].kind == Hinge::modal)
      modal_inertia(m, ws, q, i);
  }
  put(out, mass_centre(m, ws));
}

// [angular momentum about the centre of mass; linear momentum] = A v, A is 6 x nv (centroidal momentum matrix)
template <class T> inline void centroidal_matrix(const ModelData &m, Workspace<T> &ws, const T *q, T *out) {
  ground(m, ws, false);
  for (int i = 1; i <= m.nb; ++i) {
    position(m, ws, q, i);
    world_pose(m, ws, i);
    start_composite(m, ws, q, i);
  }
  const Vec3<T> centre = mass_centre(m, ws);
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    if (b.kind == Hinge::node)
      hand_over(m, ws, ws.I_C[i], i);
    if (b.kind == Hinge::modal)
      complete_modal(m, ws, ws.I_C[i], i);
    for (int k = 0; k < b.nv; ++k) {
      Load<T> L;
      if (b.kind == Hinge::modal) {
        L = ws.modal_load[m.modal[b.modal].loads + k];
      } else {
        const Motion<T> h = column(b, ws.H + b.H, k);
        L = mul(ws.I_C[i], h.w, h.v);
      }
      const Vec3<T> f = mul(ws.X_W[i].R, L.f), n = mul(ws.X_W[i].R, L.n) + cross(ws.X_W[i].p - centre, f);
      T *to = out + b.v + k;
      to[0] = n.x, to[m.nv] = n.y, to[2 * m.nv] = n.z;
      to[3 * m.nv] = f.x, to[4 * m.nv] = f.y, to[5 * m.nv] = f.z;
    }
    if (b.parent)
      add_to_parent(ws.X[i], ws.I_C[i], ws.I_C[b.parent]);
  }
}

// load of each hinge on the user's second marker, at that marker's origin, world axes: [moment; force]
template <class T>
inline void reactions(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a, const T *loads, T *tau, T *out) {
  inverse_dynamics(m, ws, q, v, a, GivenLoads<T>{loads}, tau);
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!loads)
      world_pose(m, ws, i);
    if (!b.hinge)
      continue;
    const Mat3<T> &R = ws.X_W[i].R;
    Vec3<T> f = mul(R, ws.p_A[i].f), n = mul(R, ws.p_A[i].n);
    if (b.reversed) {
      // the second marker sits inboard, at J: equal and opposite, about that point
      const Vec3<T> r = mul(ws.X_W[b.parent].R, ws.X[i].p - lift<T>(as_vec(b.p_PJ)));
      n = -(n + cross(r, f));
      f = -f;
    }
    put(out + 6 * (b.hinge - 1), n);
    put(out + 6 * (b.hinge - 1) + 3, f);
  }
}

} // namespace dalembert::DALEMBERT_ISA
