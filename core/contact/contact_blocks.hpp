// Rows of contacts on the velocities of a system, and the response of the velocities to impulses along them, in the form
// of numerics/cone_sweeps.hpp.
//
// A block is a tree of the model; with loops, all velocities. Rows of a contact point with axes e (two tangents, then the
// normal n from the first to the second shape), x_1 and x_2 its points on either:
//
//     J v = e . (v_2(x_2) - v_1(x_1)),     Y = J P                                                                 (1)
//
// P: response of the velocities while drives, locks and loops hold.
#pragma once

#include "contact/joint_rows.hpp"
#include "tree/joint_maps.hpp"
#include "tree/manifold.hpp"

namespace dalembert::DALEMBERT_ISA {

// blocks of the model, once for a run
void find_blocks(const ModelData &m, ContactSteps &c);

// Frames in the world and their motion at q, v; motions of the bodies in `c.motions`, of cut joints in `c.cut_q`,
// `c.cut_v`. placed: frames stand in their parents at q already.
void move_bodies(const RunContext &i, ContactSteps &c, const double *q, const double *v, bool placed = false);

// J and Y of all rows in their order, at the configuration of `move_bodies`; factors are those of this configuration.
// factored: the last evaluation of the equations of motion was at q; free bodies then respond by themselves.
void respond_to_contacts(const RunContext &i, ContactSteps &c, const std::vector<ScenePoint> &points, double t,
                         const double *q, bool factored = false);

// Response of a free body at rest to a load at the origin of F, both in its axes, after set_free_block.
void set_free_block(const BodyData &b, FreeBlock &block);
template <class T> DALEMBERT_INLINE Motion<T> respond_freely(const FreeBlock &block, const Load<T> &load) {
  const Vec3<T> c = lift<T>(as_vec(block.center));
  const Vec3<T> w = mul(lift<T>(as_sym(block.turns)), load.n - cross(c, load.f));
  return {w, scale(T(block.over_mass), load.f) - cross(w, c)};
}

// accelerations of a free body without loads: gyroscopic ones, and those of its axes, which turn; v, out: nv
template <class T> DALEMBERT_INLINE void turn_freely(const BodyData &b, const FreeBlock &block, const T *v, T *out) {
  const Vec3<T> w = as_vec(v + b.v), u = as_vec(v + b.v + 3);
  const Motion<T> lost = respond_freely<T>(
      block, {cross(w, mul(lift<T>(as_sym(b.J)), w)), cross(w, cross(w, lift<T>(as_vec(b.h))))});
  const Vec3<T> rate = scale(T(-1.0), lost.v) - cross(w, u);
  out += b.v;
  out[0] = -lost.w.x, out[1] = -lost.w.y, out[2] = -lost.w.z, out[3] = rate.x, out[4] = rate.y, out[5] = rate.z;
}

// Adds sign * e_r . (velocity of the point p of a body) to three rows over the velocities from `start` on; axes: e_r.
template <class T> void add_point_rows(const ModelData &m, const Workspace<T> &ws, int body, const T *p, const T *axes,
                                       double sign, int start, int size, T *rows) {
  const Vec3<T> point{p[0], p[1], p[2]};
  for (int i = body; i; i = m.bodies[i].parent) {
    const BodyData &b = m.bodies[i];
    const Vec3<T> r = point - ws.X_W[i].p;
    for (int k = 0; k < b.moves; ++k) {
      const Motion<T> h = column(b, ws.H + b.H, k);
      const Vec3<T> w = mul(ws.X_W[i].R, h.w), u = mul(ws.X_W[i].R, h.v) + cross(w, r);
      for (int e = 0; e < 3; ++e) {
        T &entry = rows[e * size + b.by + k - start];
        entry = entry + sign * (axes[3 * e] * u.x + axes[3 * e + 1] * u.y + axes[3 * e + 2] * u.z);
      }
    }
  }
}

// the same of a free body, in place of what was there, and the response to it
template <class T> void set_free_rows(const FreeBlock &block, const Pose<T> &X, const T *p, const T *axes, double sign,
                                      T *J, T *Y) {
  const Vec3<T> r = Vec3<T>{p[0], p[1], p[2]} - X.p;
  for (int e = 0; e < 3; ++e, J += 6, Y += 6) {
    const Vec3<T> f{sign * axes[3 * e], sign * axes[3 * e + 1], sign * axes[3 * e + 2]};
    const Load<T> load{mul_t(X.R, cross(r, f)), mul_t(X.R, f)};
    const Motion<T> moves = respond_freely<T>(block, load);
    J[0] = load.n.x, J[1] = load.n.y, J[2] = load.n.z, J[3] = load.f.x, J[4] = load.f.y, J[5] = load.f.z;
    Y[0] = moves.w.x, Y[1] = moves.w.y, Y[2] = moves.w.z, Y[3] = moves.v.x, Y[4] = moves.v.y, Y[5] = moves.v.z;
  }
}

// whether a block is a free body none of whose velocities is prescribed
bool responds_freely(const ContactSteps &c, std::int32_t block, const unsigned char *prescribed);

// space for J and Y of all rows, zero
void lay_out_rows(ContactSteps &c);

// u = J v of a row
void row_velocity(const ContactSteps &c, std::size_t row, const double *v, double u[3]);

// v += Y' lam of the rows [begin, end)
void add_response(const ContactSteps &c, std::size_t begin, std::size_t end, const double *lam, double *v);

} // namespace dalembert::DALEMBERT_ISA
