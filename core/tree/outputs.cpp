#include "tree/outputs.hpp"
#include "tree/frame_motion.hpp"
#include "tree/kinematics.hpp"
#include "tree/mass_matrix.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> DALEMBERT_INLINE void put(T *to, const Vec3<T> &a) { to[0] = a.x, to[1] = a.y, to[2] = a.z; }
template <class T> DALEMBERT_INLINE void put(T *to, const Mat3<T> &R) {
  to[0] = R.xx, to[1] = R.xy, to[2] = R.xz, to[3] = R.yx, to[4] = R.yy, to[5] = R.yz, to[6] = R.zx, to[7] = R.zy,
  to[8] = R.zz;
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
template <class T>
DALEMBERT_INLINE void put_acceleration(const Workspace<T> &ws, int i, const Vec3<double> &p, T *out) {
  const Motion<T> &A = ws.A[i];
  put(out, mul(ws.X_W[i].R, A.w));
  put(out + 3, mul(ws.X_W[i].R, A.v + cross(A.w, p) + cross(ws.w[i], cross(ws.w[i], p))));
}

// ---- all bodies

template <class T> void poses(const ModelData &m, Workspace<T> &ws, const T *q, T *out) {
  start_at_ground(m, ws, false);
  compute_poses(m, ws, q);
  place_in_world(m, ws);
  for (int i = 1; i <= m.nb; ++i)
    if (const int user = m.bodies[i].user)
      put_pose(ws, i, body_in_F(m.bodies[i]), out + 12 * (user - 1));
}

template <class T> void velocities(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, T *out) {
  place_and_move(m, ws, q, v);
  for (int i = 1; i <= m.nb; ++i)
    if (const int user = m.bodies[i].user)
      put_velocity(ws, i, as_vec(m.bodies[i].p_FB), out + 6 * (user - 1));
}

template <class T>
void accelerations(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a, T *out) {
  start_at_ground(m, ws, false);
  compute_poses(m, ws, q);
  place_in_world(m, ws);
  compute_velocities(m, ws, q, v);
  compute_accelerations(m, ws, a);
  for (int i = 1; i <= m.nb; ++i)
    if (const int user = m.bodies[i].user)
      put_acceleration(ws, i, as_vec(m.bodies[i].p_FB), out + 6 * (user - 1));
}

// ---- points

enum class Stage { position, velocity, acceleration };

// one frame after that of its parent, up to a stage
template <class T> inline void follow(const ModelData &m, const BodyData &b, Workspace<T> &ws, Stage stage, const T *q,
                                      const T *v, const T *a, int i) {
  position(m, b, ws, q, i);
  world_pose(b, ws, i);
  if (stage == Stage::position)
    return;
  velocity(m, b, ws, q, v, i);
  if (stage == Stage::velocity)
    linear_velocity(b, ws, v, i);
  else
    acceleration(b, ws, a, i);
}

// a point of a flexible body that is no frame of the model, as one more node at the place nb + 1
inline BodyData extra_node(const ModelData &m, int body) {
  const BodyData &modal = m.bodies[body];
  BodyData b{};
  b.form = JointForm::node;
  b.parent = body;
  b.modal = modal.modal;
  b.moves = modal.nv;
  b.by = modal.v;
  b.H = m.columns;
  return b;
}

// calls take(number of the point, the place that carries it, its constant pose there)
template <class T, class Take> inline void for_points(const ModelData &m, Workspace<T> &ws, const PointsData &points,
                                                      Stage stage, const T *q, const T *v, const T *a, Take &&take) {
  int count = 0;
  for (int i = points.body; i; i = m.bodies[i].parent)
    ws.path[count++] = i;
  ground(m, ws, false);
  while (count--)
    follow(m, m.bodies[ws.path[count]], ws, stage, q, v, a, ws.path[count]);
  for (int k = 0; k < points.count; ++k) {
    const double *frame = points.frames + 12 * k;
    Pose<double> Y{as_mat(frame), as_vec(frame + 9)};
    int place = points.body;
    if (points.nodes) {
      ModelData with_node = m;
      with_node.modal_values = points.nodes + k * points.width;
      place = m.nb + 1;
      follow(with_node, extra_node(m, points.body), ws, stage, q, v, a, place);
    }
    take(k, place, Y);
  }
}

template <class T>
void point_poses(const ModelData &m, Workspace<T> &ws, const PointsData &points, const T *q, T *out) {
  const T *none = nullptr;
  for_points(m, ws, points, Stage::position, q, none, none,
             [&](int k, int i, const Pose<double> &Y) { put_pose(ws, i, Y, out + 12 * k); });
}

template <class T>
void point_velocities(const ModelData &m, Workspace<T> &ws, const PointsData &points, const T *q, const T *v, T *out) {
  const T *none = nullptr;
  for_points(m, ws, points, Stage::velocity, q, v, none,
             [&](int k, int i, const Pose<double> &Y) { put_velocity(ws, i, Y.p, out + 6 * k); });
}

template <class T> void point_accelerations(const ModelData &m, Workspace<T> &ws, const PointsData &points, const T *q,
                                            const T *v, const T *a, T *out) {
  for_points(m, ws, points, Stage::acceleration, q, v, a,
             [&](int k, int i, const Pose<double> &Y) { put_acceleration(ws, i, Y.p, out + 6 * k); });
}

template <class T>
void point_jacobians(const ModelData &m, Workspace<T> &ws, const PointsData &points, const T *q, T *out) {
  const T *none = nullptr;
  for_points(m, ws, points, Stage::position, q, none, none, [&](int point, int place, const Pose<double> &Y) {
    T *J = out + std::ptrdiff_t(6) * m.nv * point;
    for (int k = 0; k < 6 * m.nv; ++k)
      J[k] = T(0.0);
    const Vec3<T> p = mul(ws.X_W[place].R, Y.p) + ws.X_W[place].p;
    const BodyData node = points.nodes ? extra_node(m, points.body) : BodyData{};
    for (int i = place; i;) {
      const BodyData &b = i > m.nb ? node : m.bodies[i];
      const Vec3<T> r = p - ws.X_W[i].p;
      for (int k = 0; k < b.moves; ++k) { // modes move a node and, with it, perhaps the frame of its body
        const Motion<T> h = column(b, ws.H + b.H, k);
        const Vec3<T> w = mul(ws.X_W[i].R, h.w), u = mul(ws.X_W[i].R, h.v) + cross(w, r);
        const T six[6] = {w.x, w.y, w.z, u.x, u.y, u.z};
        T *to = J + b.by + k;
        for (int c = 0; c < 6; ++c)
          to[c * m.nv] = to[c * m.nv] + six[c];
      }
      i = b.parent;
    }
  });
}

// ---- whole system

template <class T> void energy(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, T *out) {
  place_and_move(m, ws, q, v);
  T kinetic(0.0), potential(0.0);
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    const Vec3<T> &w = ws.w[i], &u = ws.u[i];
    for (int k = b.v; b.armature && k < b.v + b.nv; ++k)
      kinetic = kinetic + 0.5 * m.armature[k] * (v[k] * v[k]);
    if (b.form == JointForm::modal) {
      modal_inertia(m, ws, q, i);
      const RigidInertia<T> &I = ws.I_C[i];
      kinetic =
          kinetic + 0.5 * (dot(w, mul(I.J, w)) + I.m * dot(u, u)) + dot(u, cross(w, I.h)) + modal_kinetic(m, ws, v, i);
      potential =
          potential + strain_energy(m, q, i) - dot(as_vec(m.gravity), mul(ws.X_W[i].R, I.h) + scale(I.m, ws.X_W[i].p));
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
    const Vec3<T> h = m.bodies[i].form == JointForm::modal ? ws.I_C[i].h : lift<T>(as_vec(m.bodies[i].h));
    moment += mul(ws.X_W[i].R, h) + scale(m.bodies[i].mass, ws.X_W[i].p);
  }
  return scale(1.0 / total_mass(m), moment);
}

template <class T> void center_of_mass(const ModelData &m, Workspace<T> &ws, const T *q, T *out) {
  start_at_ground(m, ws, false);
  compute_poses(m, ws, q);
  place_in_world(m, ws);
  for (int i = 1; m.modal_count && i <= m.nb; ++i)
    if (m.bodies[i].form == JointForm::modal)
      modal_inertia(m, ws, q, i);
  put(out, mass_centre(m, ws));
}

template <class T> void centroidal_matrix(const ModelData &m, Workspace<T> &ws, const T *q, T *out) {
  start_at_ground(m, ws, false);
  compute_poses(m, ws, q);
  place_in_world(m, ws);
  for (int i = 1; i <= m.nb; ++i)
    start_composite(m, ws, q, i);
  const Vec3<T> centre = mass_centre(m, ws);
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    if (b.form == JointForm::node)
      hand_over(m, ws, ws.I_C[i], i);
    if (b.form == JointForm::modal)
      complete_modal(m, ws, ws.I_C[i], i);
    for (int k = 0; k < b.nv; ++k) {
      Load<T> L;
      if (b.form == JointForm::modal) {
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

template <class T> void joint_loads(const ModelData &m, const Workspace<T> &ws, T *out) {
  for (int k = 0; k < m.users; ++k) {
    const JointMarkerData &marker = m.markers[k];
    const Pose<T> &X = ws.X_W[marker.place];
    Vec3<T> f = mul(X.R, ws.p_A[marker.place].f), n = mul(X.R, ws.p_A[marker.place].n);
    if (!marker.outboard) { // equal and opposite, about the marker further in
      Vec3<T> p = lift<T>(as_vec(marker.p_FM));
      if constexpr (varies<T>)
        if (m.varied)
          p = as_vec(parameters_of<T>(m)->markers[k].p_FM);
      n = -(n + cross(X.p - point_in_world(ws, marker.body, p), f));
      f = -f;
    }
    put(out + 6 * k, n);
    put(out + 6 * k + 3, f);
  }
}

template void poses(const ModelData &, Workspace<double> &, const double *, double *);
template void poses(const ModelData &, Workspace<Pack> &, const Pack *, Pack *);
template void velocities(const ModelData &, Workspace<double> &, const double *, const double *, double *);
template void velocities(const ModelData &, Workspace<Pack> &, const Pack *, const Pack *, Pack *);
template void accelerations(const ModelData &, Workspace<double> &, const double *, const double *, const double *,
                            double *);
template void accelerations(const ModelData &, Workspace<Pack> &, const Pack *, const Pack *, const Pack *, Pack *);
template void point_poses(const ModelData &, Workspace<double> &, const PointsData &, const double *, double *);
template void point_poses(const ModelData &, Workspace<Pack> &, const PointsData &, const Pack *, Pack *);
template void point_velocities(const ModelData &, Workspace<double> &, const PointsData &, const double *,
                               const double *, double *);
template void point_velocities(const ModelData &, Workspace<Pack> &, const PointsData &, const Pack *, const Pack *,
                               Pack *);
template void point_accelerations(const ModelData &, Workspace<double> &, const PointsData &, const double *,
                                  const double *, const double *, double *);
template void point_accelerations(const ModelData &, Workspace<Pack> &, const PointsData &, const Pack *, const Pack *,
                                  const Pack *, Pack *);
template void point_jacobians(const ModelData &, Workspace<double> &, const PointsData &, const double *, double *);
template void point_jacobians(const ModelData &, Workspace<Pack> &, const PointsData &, const Pack *, Pack *);
template void energy(const ModelData &, Workspace<double> &, const double *, const double *, double *);
template void energy(const ModelData &, Workspace<Pack> &, const Pack *, const Pack *, Pack *);
template void center_of_mass(const ModelData &, Workspace<double> &, const double *, double *);
template void center_of_mass(const ModelData &, Workspace<Pack> &, const Pack *, Pack *);
template void centroidal_matrix(const ModelData &, Workspace<double> &, const double *, double *);
template void centroidal_matrix(const ModelData &, Workspace<Pack> &, const Pack *, Pack *);
template void joint_loads(const ModelData &, const Workspace<double> &, double *);
template void joint_loads(const ModelData &, const Workspace<Pack> &, Pack *);
template void joint_loads(const ModelData &, const Workspace<Dual> &, Dual *);
template void joint_loads(const ModelData &, const Workspace<Traced> &, Traced *);

} // namespace dalembert::DALEMBERT_ISA
