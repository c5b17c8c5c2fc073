// Slopes of the virtual power u . R of a tree's joint forces R by the numbers of its tables, at constant q, v and a: one
// sweep outwards and one inwards, whatever the number of parameters.
//
// With (1) to (6) of tree/frame_motion.hpp and virtual velocities omega, nu of the frames for velocities u of the joints,
// both in axes of F, the inertia loads n, f of the bodies do the work
//
//     u . R = sum omega . n + nu . f + armature u a                                                                 (1)
//
// which is linear in inertias: by m: nu . acc, by h: acc x omega + nu x alpha + (nu x w) x w, by J: the symmetric part of
// omega alpha^T + (omega x w) w^T. Derivatives W, B, C, O, N of (1) by w, alpha, acc, omega, nu of a frame, those of all
// frames on it included, go to its parent P with s = H_w v, t = H_v v, in axes of P:
//
//     O_P += O + p x N     N_P += N     B_P += B + p x C     C_P += C
//     W_P += W + s x B + 2 t x C + (w_P x p) x C + p x (C x w_P)                                                     (2)
//
// and give the slope of (1) by a small turn of F and by its place p:
//
//     turn: W' x w' + B x alpha' + C x acc' + O x omega' + N x nu'                                                   (3)
//     place: C x alpha_P + (C x w_P) x w_P + N x omega_P                                                             (4)
//
// with W' = W + s x B + 2 t x C, and w' to nu' the parts of (1) to (4) there that come from P. Ground: C_0 is the slope
// by -gravity. Slopes by entries of a rotation matrix R that turns by g are R g~ / 2.
#pragma once

#include "tree/frame_motion.hpp"
#include <vector>

namespace dalembert::DALEMBERT_ISA {

struct TreeSweepFrame {
  Motion<double> virtual_velocity; // omega, nu
  Vec3<double> W, B, C, O, N;
};

// Calls add(entry, slope) for entries of the tables that vary; frames have moved with accelerations a and weight in ws.
template <class Add>
inline void sweep_tree(const ModelData &m, const Workspace<double> &ws, const double *v, const double *a,
                       const double *u, std::vector<TreeSweepFrame> &frames, const ParameterTables<Traced> &tables,
                       Add &&add) {
  using V = Vec3<double>;
  frames.assign(std::size_t(m.nb) + 1, {});
  const auto add_vec = [&](const Traced *to, const V &g) { add(to[0], g.x), add(to[1], g.y), add(to[2], g.z); };
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    const BodyParameters<Traced> &own = tables.bodies[i];
    TreeSweepFrame &F = frames[std::size_t(i)];
    const Motion<double> &P = frames[std::size_t(b.parent)].virtual_velocity, &A = ws.A[i];
    const Pose<double> &X = ws.X[i];
    F.virtual_velocity = {mul_t(X.R, P.w), mul_t(X.R, P.v + cross(P.w, X.p))};
    add_joint_motion(b, ws.H + b.H, u + b.by, F.virtual_velocity);
    const V &o = F.virtual_velocity.w, &n = F.virtual_velocity.v, &w = ws.w[i], h = as_vec(b.h), ow = cross(o, w),
            nw = cross(n, w), wh = cross(w, h);
    const Sym3<double> J = as_sym(b.J);
    const V Jw = mul(J, w);
    F.O = mul(J, A.w) + cross(h, A.v) + cross(w, Jw);
    F.N = scale(b.mass, A.v) + cross(A.w, h) + cross(w, wh);
    F.B = mul(J, o) + cross(h, n);
    F.C = scale(b.mass, n) + cross(o, h);
    F.W = cross(Jw, o) + mul(J, ow) + cross(wh, n) + cross(h, nw);
    add(own.mass, dot(n, A.v));
    add_vec(own.h, cross(A.v, o) + cross(n, A.w) + cross(nw, w));
    const double by_J[6] = {o.x * A.w.x + ow.x * w.x,
                            o.x * A.w.y + o.y * A.w.x + ow.x * w.y + ow.y * w.x,
                            o.x * A.w.z + o.z * A.w.x + ow.x * w.z + ow.z * w.x,
                            o.y * A.w.y + ow.y * w.y,
                            o.y * A.w.z + o.z * A.w.y + ow.y * w.z + ow.z * w.y,
                            o.z * A.w.z + ow.z * w.z};
    for (int k = 0; k < 6; ++k)
      add(own.J[k], by_J[k]);
    for (int k = b.v; b.armature && k < b.v + b.nv; ++k)
      add(tables.armature[k], u[k] * a[k]);
  }
  for (int i = m.nb; i > 0; --i) { // (2) to (4)
    const BodyData &b = m.bodies[i];
    const TreeSweepFrame &F = frames[std::size_t(i)];
    TreeSweepFrame &P = frames[std::size_t(b.parent)];
    const Pose<double> &X = ws.X[i];
    const V &p = X.p, &w_P = ws.w[b.parent];
    const Motion<double> &A_P = ws.A[b.parent], &U_P = P.virtual_velocity;
    Motion<double> relative{zero3<double>(), zero3<double>()};
    add_joint_motion(b, ws.H + b.H, v + b.by, relative);
    const V W = F.W + cross(relative.w, F.B) + scale(2.0, cross(relative.v, F.C));
    const V turn = cross(W, mul_t(X.R, w_P)) + cross(F.B, mul_t(X.R, A_P.w)) +
                   cross(F.C, mul_t(X.R, A_P.v + cross(A_P.w, p) + cross(w_P, cross(w_P, p)))) +
                   cross(F.O, mul_t(X.R, U_P.w)) + cross(F.N, mul_t(X.R, U_P.v + cross(U_P.w, p)));
    const V N = mul(X.R, F.N), C = mul(X.R, F.C);
    const V place = cross(C, A_P.w) + cross(cross(C, w_P), w_P) + cross(N, U_P.w);
    P.O += mul(X.R, F.O) + cross(p, N);
    P.N += N;
    P.B += mul(X.R, F.B) + cross(p, C);
    P.C += C;
    P.W += mul(X.R, W) + cross(cross(w_P, p), C) + cross(p, cross(C, w_P));
    // the same for the joint's frame J, about its origin and in its axes
    const BodyParameters<Traced> &own = tables.bodies[i];
    const Mat3<double> R = as_mat(b.R_PJ);
    add_vec(own.p_PJ, place);
    const V g = scale(0.5, mul_t(R, mul(X.R, turn)) + cross(mul_t(R, p - as_vec(b.p_PJ)), mul_t(R, place)));
    const V rows[3] = {{R.xx, R.xy, R.xz}, {R.yx, R.yy, R.yz}, {R.zx, R.zy, R.zz}};
    for (int r = 0; r < 3; ++r) // a row of R g~ is (row of R) x g
      add_vec(own.R_PJ + 3 * r, cross(rows[r], g));
  }
  add_vec(tables.gravity, -frames[0].C);
}

} // namespace dalembert::DALEMBERT_ISA
