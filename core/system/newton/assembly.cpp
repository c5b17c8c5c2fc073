#include "constraints/coupling_rows.hpp"
#include "contact/contact_element.hpp"
#include "elements/elements.hpp"
#include "system/newton/newton.hpp"
#include "tree/derivatives.hpp"
#include "tree/frame_motion.hpp"
#include "tree/manifold.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

namespace {

using Vec = Vec3<double>;
using Mat = Mat3<double>;

// columns of y
constexpr int at_alpha = 0, at_nu = 6, at_xi = 12;

void put(double *to, const Vec &x) { to[0] = x.x, to[1] = x.y, to[2] = x.z; }
void put(double *to, const Vec &w, const Vec &v) { put(to, w), put(to + 3, v); }
Vec slope_of(const Vec3<Dual> &x, int l) { return {x.x.slope[l], x.y.slope[l], x.z.slope[l]}; }
Vec value_of(const Vec3<Dual> &x) { return {x.x.value, x.y.value, x.z.value}; }
Vec unit(int k) { return {k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0}; }
void set_slope(Vec3<Dual> &x, int l, const Vec &d) {
  x.x.slope.set(l, d.x), x.y.slope.set(l, d.y), x.z.slope.set(l, d.z);
}

struct NewtonAssembler {
  const ModelData &m;
  const Conditions &c;
  const FrontTables &fronts;
  MotionWorkspace &motion;
  DerivativesWorkspace &duals;
  NewtonWorkspace &work;
  const SystemState<double> &s;
  const Workspace<double> &ws; // at the state
  Workspace<Dual> &moving;     // body by body, with slopes

  double *G(int body) const { return work.own + std::ptrdiff_t(body) * 108; }
  Vec w_of(int body) const { return mul(ws.X_W[body].R, ws.w[body]); }
  Vec u_of(int body) const { return mul(ws.X_W[body].R, ws.u[body]); }

  // ---- bodies

  void hold(int i) { // as it is, without slopes
    moving.X_W[i] = {lift<Dual>(ws.X_W[i].R), lift<Dual>(ws.X_W[i].p)};
    moving.w[i] = lift<Dual>(ws.w[i]);
    moving.u[i] = lift<Dual>(ws.u[i]);
    moving.A[i] = {lift<Dual>(ws.A[i].w), lift<Dual>(ws.A[i].v)};
  }

  double *column_at(int i, int k) const { return work.columns + 24 * (std::ptrdiff_t(fronts.fronts[i].column) + k); }

  // a joint about or along a constant axis
  void simple_column(int i) {
    const BodyData &b = m.bodies[i];
    const Mat &R = ws.X_W[i].R;
    const Vec z{R.xz, R.yz, R.zz}, o{0.0, 0.0, 0.0}, w = w_of(i), u = u_of(i);
    const Motion<double> S = b.form == JointForm::about_z ? Motion<double>{z, o} : Motion<double>{o, z}, V{w, u};
    const Motion<double> A{mul(R, ws.A[i].w), mul(R, ws.A[i].v) - cross(w, u)};
    const Motion<double> once = cross_motion(V, S), twice = cross_motion(V, once), turn = cross_motion(A, S);
    double *to = column_at(i, 0);
    put(to, S.w, S.v);
    put(to + 6, once.w, once.v);
    put(to + 12, turn.w + twice.w, turn.v + twice.v);
    put(to + 18, scale(2.0, once.w), scale(2.0, once.v));
  }

  // any joint: its own functions on dual numbers, while its parent stands as it is
  void columns(int i) {
    const BodyData &b = m.bodies[i], &mover = b.form == JointForm::node ? m.bodies[b.parent] : b;
    const int n = fronts.fronts[i].moves;
    const Mat &R = ws.X_W[i].R;
    const Vec w = ws.w[i], u = ws.u[i];
    const Load<double> &F = ws.p_A[i];
    double *bent = work.bent + std::ptrdiff_t(fronts.fronts[i].column) * work.max_moves;
    for (int k = 0; k < n; ++k) {
      const Motion<double> S = column(b, ws.H + b.H, k);
      put(column_at(i, k), mul(R, S.w), mul(R, S.v));
    }
    for (int by_velocity = 0; by_velocity < 2; ++by_velocity)
      for (int first = 0; first < n; first += W) {
        const int count = std::min(n - first, W);
        const auto seed = [&](bool on) {
          for (int l = 0; l < count; ++l)
            if (by_velocity)
              duals.v[b.by + first + l].slope.set(l, on ? 1.0 : 0.0);
            else
              seed_dof(mover, s.q, first + l, l, duals.q, on);
        };
        seed(true);
        position(m, b, moving, static_cast<const Dual *>(duals.q), i);
        velocity(m, b, moving, static_cast<const Dual *>(duals.q), static_cast<const Dual *>(duals.v), i);
        linear_velocity(b, moving, static_cast<const Dual *>(duals.v), i);
        acceleration(b, moving, static_cast<const Dual *>(duals.a), i);
        for (int l = 0; l < count; ++l) {
          const Vec dw = slope_of(moving.w[i], l), du = slope_of(moving.u[i], l);
          const Vec alpha_w = slope_of(moving.A[i].w, l) + cross(w, dw),
                    alpha_v = slope_of(moving.A[i].v, l) + scale(2.0, cross(u, dw));
          double *to = column_at(i, first + l);
          put(to + (by_velocity ? 18 : 12), mul(R, alpha_w), mul(R, alpha_v));
          if (by_velocity)
            continue;
          put(to + 6, mul(R, dw), mul(R, du));
          for (int k = 0; k < n; ++k) {
            const Motion<Dual> S = column(b, moving.H + b.H, k);
            bent[k * work.max_moves + first + l] = dot(slope_of(S.w, l), F.n) + dot(slope_of(S.v, l), F.f);
          }
        }
        seed(false);
      }
  }

  // G of an inertia m, h, J in axes of the world, but for what velocities leave
  void inertia(double *to, double mass, const Vec &h, const Sym3<double> &J, const Vec &w, const Vec &u,
               const Vec &momentum) {
    const auto add = [&](int row, int column, double value) { to[row * 18 + column] += value; };
    for (int k = 0; k < 3; ++k) {
      const Vec e = unit(k), Je = mul(J, e);
      const Vec n = cross(w, Je) - cross(momentum, e) - mul(J, cross(w, e)) - scale(2.0, cross(h, cross(u, e)));
      const Vec f = scale(-2.0, cross(scale(mass, u) + cross(w, h), e)), he = cross(h, e);
      const double rows[3][6] = {{Je.x, Je.y, Je.z, -he.x, -he.y, -he.z},
                                 {he.x, he.y, he.z, mass * e.x, mass * e.y, mass * e.z},
                                 {n.x, n.y, n.z, f.x, f.y, f.z}};
      for (int r = 0; r < 6; ++r) {
        add(r, at_alpha + k, rows[0][r]);
        add(r, at_alpha + 3 + k, rows[1][r]);
        add(r, at_nu + k, rows[2][r]);
      }
    }
  }

  void rigid(int i) {
    const BodyData &b = m.bodies[i];
    const Sym3<double> &inertia_of = as_sym(b.J);
    if (b.mass == 0.0 && inertia_of.xx + inertia_of.yy + inertia_of.zz == 0.0)
      return;
    const Mat &R = ws.X_W[i].R;
    const Sym3<double> J = rotate(R, inertia_of);
    const Vec w = w_of(i);
    inertia(G(i), b.mass, mul(R, as_vec(b.h)), J, w, u_of(i), mul(J, w));
  }

  // Blocks of a flexible body: its loads by its motion and its modes, its modal forces by both.
  struct FlexibleBlocks {
    int n; // modes
    double *loads, *modal_forces, *loads_by_modes, *modal_by_modes;
  };

  void flexible(int i) {
    const BodyData &b = m.bodies[i];
    const int n = modal_tables(m, m.modal[b.modal]).n;
    double *tap = work.taps + fronts.taps[fronts.own_tap[i]].numbers;
    const FlexibleBlocks to{n, G(i), tap, tap + 18 * n, work.links + fronts.links[fronts.own_link[i]].numbers};
    flexible_by_body_acceleration(i, to);
    flexible_by_modal_acceleration(i, to);
    flexible_by_velocity_and_modes(i, to);
  }

  static Vec world_axis_in_body(const Mat &R, int k) {
    return k == 0 ? Vec{R.xx, R.xy, R.xz} : k == 1 ? Vec{R.yx, R.yy, R.yz} : Vec{R.zx, R.zy, R.zz};
  }

  void flexible_by_body_acceleration(int i, const FlexibleBlocks &to) {
    const Mat &R = ws.X_W[i].R;
    const Vec w = ws.w[i], u = ws.u[i];
    const RigidInertia<double> &I = ws.I_C[i];
    const Load<double> *own = ws.modal_own + m.modal[m.bodies[i].modal].loads;
    const auto load = [&](const Vec &alpha, const Vec &acc) {
      const Load<double> F = mul(I, alpha, acc);
      return Load<double>{mul(R, F.n), mul(R, F.f)};
    };
    const auto enter = [&](int column, const Load<double> &F) {
      const double rows[6] = {F.n.x, F.n.y, F.n.z, F.f.x, F.f.y, F.f.z};
      for (int r = 0; r < 6; ++r)
        to.loads[r * 18 + column] += rows[r];
    };
    const Vec o{0.0, 0.0, 0.0};
    for (int k = 0; k < 3; ++k) {
      const Vec e = world_axis_in_body(R, k);
      enter(at_alpha + k, load(e, o));
      enter(at_alpha + 3 + k, load(o, e));
      enter(at_nu + k, load(-cross(w, e), scale(-2.0, cross(u, e))));
      for (int r = 0; r < to.n; ++r) {
        double *row = to.modal_forces + r * 18;
        row[at_alpha + k] += dot(own[r].n, e);
        row[at_alpha + 3 + k] += dot(own[r].f, e);
        row[at_nu + k] -= dot(own[r].n, cross(w, e)) + 2.0 * dot(own[r].f, cross(u, e));
      }
    }
  }

  void flexible_by_modal_acceleration(int i, const FlexibleBlocks &to) {
    const ModalData &body = m.modal[m.bodies[i].modal];
    const ModalTables t = modal_tables(m, body);
    const Mat &R = ws.X_W[i].R;
    const Load<double> *own = ws.modal_own + body.loads;
    const int n = to.n;
    for (int r = 0; r < n; ++r) {
      const Vec F[2] = {mul(R, own[r].n), mul(R, own[r].f)};
      const double rows[6] = {F[0].x, F[0].y, F[0].z, F[1].x, F[1].y, F[1].z};
      for (int k = 0; k < 6; ++k)
        to.loads_by_modes[2 * 6 * n + k * n + r] = rows[k];
      for (int k = 0; k < n; ++k)
        to.modal_by_modes[2 * n * n + r * n + k] = t.G[r * n + k];
    }
  }

  // slopes of a direction: 0 to 2 angular velocity, then coordinates of modes, then their rates
  void seed_flexible(int i, int first, int count, bool on) {
    const BodyData &b = m.bodies[i];
    for (int l = 0; l < count; ++l) {
      const int d = first + l;
      if (d < 3)
        set_slope(moving.w[i], l, on ? mul_t(ws.X_W[i].R, unit(d)) : Vec{0.0, 0.0, 0.0});
      else
        (d < 3 + b.nv ? duals.q[b.q + d - 3] : duals.v[b.v + d - 3 - b.nv]).slope.set(l, on ? 1.0 : 0.0);
    }
  }

  void flexible_by_velocity_and_modes(int i, const FlexibleBlocks &to) {
    const int n = to.n;
    const Mat &R = ws.X_W[i].R;
    Dual *modal = duals.duals.passed + m.bodies[i].v;
    for (int first = 0; first < 3 + 2 * n; first += W) {
      const int count = std::min(3 + 2 * n - first, W);
      seed_flexible(i, first, count, true);
      const Load<Dual> F = flexible_load<Dual>(m, moving, duals.q, duals.v, duals.a, i, modal);
      for (int l = 0; l < count; ++l) {
        const int d = first + l;
        const Vec n_l = mul(R, slope_of(F.n, l)), f_l = mul(R, slope_of(F.f, l));
        const double rows[6] = {n_l.x, n_l.y, n_l.z, f_l.x, f_l.y, f_l.z};
        if (d < 3) {
          for (int k = 0; k < 6; ++k)
            to.loads[k * 18 + at_nu + d] += rows[k];
          for (int r = 0; r < n; ++r)
            to.modal_forces[r * 18 + at_nu + d] += modal[r].slope[l];
          continue;
        }
        const int order = d < 3 + n ? 0 : 1, mode = d - 3 - order * n;
        for (int k = 0; k < 6; ++k)
          to.loads_by_modes[order * 6 * n + k * n + mode] = rows[k];
        for (int r = 0; r < n; ++r)
          to.modal_by_modes[order * n * n + r * n + mode] = modal[r].slope[l];
      }
      seed_flexible(i, first, count, false);
    }
  }

  void bodies() {
    ground(m, moving, true);
    for (int i = 1; i <= m.nb; ++i) {
      const BodyData &b = m.bodies[i];
      const Mat &R = ws.X_W[i].R;
      put(work.apart + 3 * std::ptrdiff_t(i), ws.X_W[i].p - ws.X_W[b.parent].p);
      put(work.passed + 6 * std::ptrdiff_t(i), mul(R, ws.p_A[i].n), mul(R, ws.p_A[i].f));
      if (b.form == JointForm::about_z || b.form == JointForm::along_z)
        simple_column(i);
      else if (fronts.fronts[i].moves)
        columns(i);
      hold(i);
      if (b.form == JointForm::modal)
        flexible(i);
      else
        rigid(i);
      if (b.form != JointForm::modal && fronts.own_link[i] >= 0) { // armature
        double *E = work.links + fronts.links[fronts.own_link[i]].numbers;
        for (int k = 0; k < b.nv; ++k)
          E[2 * b.nv * b.nv + k * (b.nv + 1)] += m.armature[b.v + k];
      }
      for (int k = b.v; c.acceleration_prescribed && k < b.v + b.nv; ++k)
        work.fixed[k] = c.acceleration_prescribed[k];
    }
  }

  // ---- loads between bodies

  // Load W = [moment; force] about the point O, on one end of what passes it on (sign 1) or the other (-1): what the
  // body demands less changes with the body, and with W if there is a tap.
  void load_end(int body, double sign, const Vec &O, const Load<double> &load, double *B) {
    if (!body)
      return;
    const Vec r = O - ws.X_W[body].p, n = load.n + cross(r, load.f);
    double *to = G(body);
    for (int k = 0; k < 3; ++k) {
      const Vec e = unit(k), by_turn = cross(n, e), by_shift = cross(load.f, e), lever = cross(r, e);
      const double turn[3] = {by_turn.x, by_turn.y, by_turn.z}, shift[3] = {by_shift.x, by_shift.y, by_shift.z},
                   arm[3] = {lever.x, lever.y, lever.z};
      for (int j = 0; j < 3; ++j) {
        to[j * 18 + at_xi + k] -= sign * turn[j];
        to[j * 18 + at_xi + 3 + k] -= sign * shift[j];
        to[(3 + j) * 18 + at_xi + k] -= sign * shift[j];
        if (B)
          B[j * 6 + 3 + k] -= sign * arm[j];
      }
      if (B)
        B[k * 6 + k] -= sign, B[(3 + k) * 6 + 3 + k] -= sign;
    }
  }
  // what a change [n; f] of W in direction `column` of the body's y makes of the load that the body demands
  void change_end(int body, double sign, const Vec &O, const Vec &n, const Vec &f, int column) {
    const Vec moment = n + cross(O - ws.X_W[body].p, f);
    const double rows[6] = {moment.x, moment.y, moment.z, f.x, f.y, f.z};
    for (int r = 0; r < 6; ++r)
      G(body)[r * 18 + column] -= sign * rows[r];
  }

  // lane l of a body's slopes along direction d of y, or none
  void seed_body(int body, int d, int l, bool on) {
    const Mat &R = ws.X_W[body].R;
    const Vec e = on ? unit(d % 3) : Vec{0.0, 0.0, 0.0}, in_body = mul_t(R, e);
    Motion<Dual> &A = moving.A[body];
    switch (d / 3) {
    case 0:
      return set_slope(A.w, l, in_body);
    case 1:
      return set_slope(A.v, l, in_body);
    case 2:
      set_slope(moving.w[body], l, in_body);
      set_slope(A.w, l, -cross(ws.w[body], in_body));
      return set_slope(A.v, l, scale(-2.0, cross(ws.u[body], in_body)));
    case 3:
      return set_slope(moving.u[body], l, in_body);
    case 4: {
      Mat3<Dual> &turned = moving.X_W[body].R;
      const Vec x = cross(e, axis_of(R, 0)), y = cross(e, axis_of(R, 1)), z = cross(e, axis_of(R, 2));
      turned.xx.slope.set(l, x.x), turned.yx.slope.set(l, x.y), turned.zx.slope.set(l, x.z);
      turned.xy.slope.set(l, y.x), turned.yy.slope.set(l, y.y), turned.zy.slope.set(l, y.z);
      turned.xz.slope.set(l, z.x), turned.yz.slope.set(l, z.y), turned.zz.slope.set(l, z.z);
      return;
    }
    default:
      return set_slope(moving.X_W[body].p, l, e);
    }
  }

  struct Pair {
    int a, b;
    const double *p_FB;
  };
  Pair pair_of(const PortData &port) const {
    if (port.measure != Measure::joint)
      return {port.body_a, port.body_b, port.p_FB};
    const LoopConstraintData &constraint = m.loop_constraints[port.constraint];
    return {constraint.body_a, constraint.body_b, constraint.p_FB};
  }
  // slopes of W about the point where B is, from those of the load at B
  void slopes_of_load(const Pair &pair, const Load<Dual> &load, int l, Vec &n, Vec &f) const {
    const Vec3<Dual> point = point_in_world(moving, pair.b, lift<Dual>(as_vec(pair.p_FB)));
    n = slope_of(load.n, l) + cross(slope_of(point, l), value_of(load.f));
    f = slope_of(load.f, l);
  }

  // ---- elements

  void element(const ElementAssembly &stamp, const EvaluationContext<Dual> &at) {
    const ElementData &e = m.elements[stamp.element];
    if (e.form == LawForm::contact && ball_gap(ws, m.ports[e.port], m.contact_pairs[e.law], 0) > 0.0)
      return; // idle: no load, and states that rest
    Load<Dual> ends[max_ports];
    const auto evaluate = [&] { evaluate_element<Dual>(m, moving, at, stamp.element, duals.q, duals.v, ends); };
    evaluate();
    for (int r = 0; r < stamp.rows; ++r) {
      const LoadedBodyData &acted = fronts.acted[stamp.row + r];
      if (acted.kind != LabelKind::port)
        continue;
      const Pair pair = pair_of(m.ports[e.port + acted.port]);
      const Vec O = point_in_world(ws, pair.b, as_vec(pair.p_FB));
      const Load<double> load{value_of(ends[acted.port].n), value_of(ends[acted.port].f)};
      for (const auto &[body, sign] : {std::pair{pair.b, 1.0}, std::pair{pair.a, -1.0}})
        load_end(body, sign, O, load, stamp.alone || !body ? nullptr : load_columns(stamp, r, body));
    }
    // directions: of each body nu and xi, of each degree of freedom its coordinate and velocity, of others themselves
    const int by_body = 12 * stamp.bodies, all = by_body + 2 * stamp.sources;
    for (int first = 0; first < all; first += W) {
      const int count = std::min(all - first, W);
      const auto seed = [&](bool on) {
        for (int l = 0; l < count; ++l)
          seed_sight(stamp, first + l, l, on);
      };
      seed(true);
      evaluate();
      for (int l = 0; l < count; ++l)
        for (int r = 0; r < stamp.rows; ++r)
          enter(stamp, e, r, first + l, l, ends, at);
      seed(false);
    }
    for (int k = 0; k < e.signals; ++k)
      at.signals[e.signal + k].slope = Pack(0.0);
  }

  double *load_columns(const ElementAssembly &stamp, int row, int body) const {
    const std::int32_t *bodies = fronts.bodies + stamp.body;
    const int place = int(std::lower_bound(bodies, bodies + stamp.bodies, body) - bodies);
    const LabelAtBodyData &tap = fronts.taps[fronts.entries[stamp.entry + row * stamp.bodies + place]];
    return work.taps + tap.numbers + 18 * 6;
  }

  void seed_sight(const ElementAssembly &stamp, int d, int l, bool on) {
    if (d < 12 * stamp.bodies)
      return seed_body(fronts.bodies[stamp.body + d / 12], at_nu + d % 12, l, on);
    const int number = d - 12 * stamp.bodies;
    const SourceData &source = fronts.sources[stamp.source + number / 2];
    const bool rate = number % 2;
    const double slope = on ? 1.0 : 0.0;
    if (source.kind == ElementDependence::dof && rate)
      duals.v[source.place].slope.set(l, slope);
    else if (source.kind == ElementDependence::dof && m.coordinate[source.place] >= 0)
      duals.q[m.coordinate[source.place]].slope.set(l, slope);
    else if (source.kind == ElementDependence::state && !rate)
      duals.x[source.place].slope.set(l, slope);
    else if (source.kind == ElementDependence::signal && !rate)
      duals.duals.signals[source.place].slope.set(l, slope);
  }

  // slopes along direction d, in lane l, of what an element does in its row r
  void enter(const ElementAssembly &stamp, const ElementData &e, int r, int d, int l, const Load<Dual> *ends,
             const EvaluationContext<Dual> &at) {
    const LoadedBodyData &acted = fronts.acted[stamp.row + r];
    double slopes[6];
    int count = 1;
    const double *from = slopes;
    double many[max_law_outputs];
    if (acted.kind == LabelKind::dofs) {
      slopes[0] = ends[acted.port].f.x.slope[l];
    } else if (acted.kind == LabelKind::port) {
      const Pair pair = pair_of(m.ports[e.port + acted.port]);
      Vec n, f;
      slopes_of_load(pair, ends[acted.port], l, n, f);
      if (stamp.alone) {
        const Vec O = point_in_world(ws, pair.b, as_vec(pair.p_FB));
        for (const auto &[body, sign] : {std::pair{pair.b, 1.0}, std::pair{pair.a, -1.0}})
          if (body)
            change_end(body, sign, O, n, f, at_nu + d % 12);
        return;
      }
      put(slopes, n, f);
      count = 6;
    } else {
      count = acted.kind == LabelKind::states ? e.states : e.signals;
      const Dual *out = acted.kind == LabelKind::states ? at.dx + e.state : at.signals + e.signal;
      for (int k = 0; k < count; ++k)
        many[k] = out[k].slope[l];
      from = many;
    }
    const int by_body = 12 * stamp.bodies;
    if (d < by_body) {
      double *P = work.taps + fronts.taps[fronts.entries[stamp.entry + r * stamp.bodies + d / 12]].numbers;
      for (int k = 0; k < count; ++k)
        P[(acted.row + k) * 18 + at_nu + d % 12] -= from[k];
      return;
    }
    const int number = d - by_body;
    const SourceData &source = fronts.sources[stamp.source + number / 2];
    if (number % 2 && source.kind != ElementDependence::dof)
      return;
    const LabelLinkData &link =
        fronts.links[fronts.entries[stamp.entry + stamp.rows * stamp.bodies + r * stamp.sources + number / 2]];
    const int rows = fronts.labels[link.row].size, columns = fronts.labels[link.column].size;
    double *E = work.links + link.numbers + (number % 2 ? std::ptrdiff_t(rows) * columns : 0);
    for (int k = 0; k < count; ++k)
      E[(acted.row + k) * columns + source.column] -= from[k];
  }

  void elements() {
    const SystemState<Dual> state{Dual(s.t), duals.q, duals.v, duals.x};
    EvaluationContext<Dual> at = evaluation_context(c, duals.duals, state, duals.dx);
    at.numbers = motion.system.numbers;
    for (int k = 0; k < fronts.stamp_count; ++k)
      element(fronts.stamps[k], at);
  }

  // ---- loop constraints

  int rows_of(int constraint) const { return fronts.labels[fronts.multipliers_of[constraint]].size; }
  void fix_row(int constraint, int j) { work.fixed[fronts.labels[fronts.multipliers_of[constraint]].first + j] = 1; }

  void constraint(int number, LoopConstraintRate rate) {
    const LoopConstraintData &constraint = m.loop_constraints[number];
    const LoopConstraintAssembly &stamp = fronts.loop_constraints[number];
    const LoopWorkspace<double> &loops = motion.system.loops;
    const bool holds = !c.constraint_active || c.constraint_active[number];
    for (int j = 0; constraint.rows && j < rows_of(number); ++j)
      if (!holds || !(loops.leverage[constraint.row + j] > independence(loops.opening)))
        fix_row(number, j);
    if (!holds || !constraint.rows)
      return;
    if (constraint.form == LoopConstraintForm::coupling)
      return coupling(number, rate);
    const Pair pair{constraint.body_a, constraint.body_b, constraint.p_FB};
    const Vec O = point_in_world(ws, pair.b, as_vec(pair.p_FB));
    const bool of_point = stamp.link < 0;
    const int n = rows_of(number), body[2] = {constraint.body_a, constraint.body_b};
    double g[6][6];                              // load of each row
    for (int first = 0; first < n; first += W) { // by its multipliers
      const int count = std::min(n - first, W);
      for (int l = 0; l < count; ++l)
        duals.lambda[constraint.row + first + l].slope.set(l, 1.0);
      const Load<Dual> load = loop_constraint_load<Dual>(m, moving, constraint, duals.lambda, nullptr);
      for (int l = 0; l < count; ++l) {
        duals.lambda[constraint.row + first + l].slope.set(l, 0.0);
        put(g[first + l], slope_of(load.n, l), slope_of(load.f, l));
      }
      if (first == 0) {
        const Load<double> now{value_of(load.n), value_of(load.f)};
        for (int end = 0; end < 2; ++end) {
          load_end(body[end], end ? 1.0 : -1.0, O, now,
                   stamp.load[end] < 0 ? nullptr : work.taps + fronts.taps[stamp.load[end]].numbers + 18 * 6);
          if (of_point)
            move_point(body[end], end ? 1.0 : -1.0, O, now.f);
        }
      }
    }
    for (int end = 0; of_point && end < 2; ++end)
      if (body[end]) {
        double *P = work.taps + fronts.taps[stamp.rows[end]].numbers;
        load_columns_of_point(body[end], end ? 1.0 : -1.0, O, n, g, P + 18 * n);
        constraint_end(constraint, pair, body[end], end ? 1.0 : -1.0, O, n, g, nullptr, P, rate);
      }
    if (of_point)
      return;
    double *E = work.links + fronts.links[stamp.link].numbers;
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < 6; ++k)
        E[k * n + j] = -g[j][k];
    for (int end = 0; end < 2; ++end)
      if (body[end])
        constraint_end(constraint, pair, body[end], end ? 1.0 : -1.0, O, n, g,
                       work.taps + fronts.taps[stamp.load[end]].numbers,
                       work.taps + fronts.taps[stamp.rows[end]].numbers, rate);
  }

  // a force f stays at the point of the body that is at O now
  void move_point(int body, double sign, const Vec &O, const Vec &f) {
    if (!body)
      return;
    const Vec r = O - ws.X_W[body].p, none{0.0, 0.0, 0.0};
    for (int k = 0; k < 3; ++k) {
      change_end(body, sign, O, cross(cross(unit(k), r), f), none, at_xi + k);
      change_end(body, sign, O, cross(unit(k), f), none, at_xi + 3 + k);
    }
  }
  // the load that a body demands by the multipliers of a point
  void load_columns_of_point(int body, double sign, const Vec &O, int n, const double (*g)[6], double *B) {
    const Vec r = O - ws.X_W[body].p;
    for (int j = 0; j < n; ++j) {
      const Vec f{g[j][3], g[j][4], g[j][5]}, moment = cross(r, f);
      const double column[6] = {moment.x, moment.y, moment.z, f.x, f.y, f.z};
      for (int k = 0; k < 6; ++k)
        B[k * n + j] -= sign * column[k];
    }
  }

  // Rows of the load of a loop constraint, unless null, and of its n multipliers, by the motion of one of its ends.
  void constraint_end(const LoopConstraintData &constraint, const Pair &pair, int body, double sign, const Vec &O,
                      int n, const double (*g)[6], double *P_load, double *P_rows, LoopConstraintRate rate) {
    const int begin = rate == LoopConstraintRate::second ? 0 : P_load ? int(at_xi) : 18;
    for (int first = begin; first < 18; first += W) {
      const int count = std::min(18 - first, W);
      for (int l = 0; l < count; ++l)
        seed_body(body, first + l, l, true);
      const Load<Dual> load = loop_constraint_load<Dual>(m, moving, constraint, duals.lambda,
                                                         rate == LoopConstraintRate::second ? duals.seconds : nullptr);
      for (int l = 0; l < count; ++l) {
        Vec moment, f;
        slopes_of_load(pair, load, l, moment, f);
        double slopes[6];
        put(slopes, moment, f);
        for (int k = 0; P_load && k < 6; ++k)
          P_load[k * 18 + first + l] -= slopes[k];
        for (int j = 0; rate == LoopConstraintRate::second && j < n; ++j)
          P_rows[j * 18 + first + l] = duals.seconds[constraint.row + j].slope[l];
      }
      for (int l = 0; l < count; ++l)
        seed_body(body, first + l, l, false);
    }
    if (rate == LoopConstraintRate::second)
      return;
    const Vec r = O - ws.X_W[body].p;
    for (int j = 0; j < n; ++j) {
      const Vec f{g[j][3], g[j][4], g[j][5]}, moment = Vec{g[j][0], g[j][1], g[j][2]} + cross(r, f);
      put(P_rows + j * 18 + at_xi, scale(sign, moment), scale(sign, f));
    }
  }

  void coupling(int number, LoopConstraintRate rate) {
    const LoopConstraintData &constraint = m.loop_constraints[number];
    const std::int32_t *entries = fronts.entries + fronts.loop_constraints[number].entry,
                       *dof = m.support + constraint.support;
    const int n = constraint.supports;
    const double lambda = duals.lambda[constraint.row].value;
    // where an entry stands among the numbers of its link
    const auto numbers = [&](int entry, int order, int row_dof, int column_dof) -> double & {
      const LabelLinkData &link = fronts.links[entries[entry]];
      const LabelData &row = fronts.labels[link.row], &column = fronts.labels[link.column];
      const int i = row_dof < 0 ? 0 : row_dof - row.first, j = column_dof < 0 ? 0 : column_dof - column.first;
      return work.links[link.numbers + std::ptrdiff_t(order) * row.size * column.size + i * column.size + j];
    };
    const bool second = rate == LoopConstraintRate::second;
    for (int first = 0; first < 2 * n; first += W) {
      const int count = std::min(2 * n - first, W);
      const auto seed = [&](bool on) {
        for (int l = 0; l < count; ++l) {
          const int f = dof[(first + l) % n];
          if (first + l >= n)
            duals.v[f].slope.set(l, on ? 1.0 : 0.0);
          else if (m.coordinate[f] >= 0)
            duals.q[m.coordinate[f]].slope.set(l, on ? 1.0 : 0.0);
        }
      };
      seed(true);
      CouplingRow<Dual> row;
      coupling_row<Dual>(m, moving, constraint, duals.q, duals.v, row);
      seed(false);
      Dual rest = row.bias;
      for (int k = 0; k < n; ++k)
        rest = rest + row.coefficient(m, constraint, k) * duals.a[dof[k]];
      for (int l = 0; l < count; ++l) {
        const int order = (first + l) / n, by = (first + l) % n;
        if (second)
          numbers(n + by, order, -1, dof[by]) += rest.slope[l];
        for (int k = 0; !order && constraint.program >= 0 && k < n; ++k)
          numbers(2 * n + k * n + by, 0, dof[k], dof[by]) -= lambda * row.coefficient(m, constraint, k).slope[l];
      }
      if (first == 0)
        for (int k = 0; k < n; ++k) {
          const double factor = row.coefficient(m, constraint, k).value;
          numbers(k, 0, dof[k], -1) -= factor;
          numbers(n + k, second ? 2 : 0, -1, dof[k]) += factor;
        }
    }
  }
};

} // namespace

void linearize(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &derivatives,
               NewtonWorkspace &work, const SystemState<double> &s, const double *a, const double *lambda,
               LoopConstraintRate loop_constraints, bool states) {
  const FrontTables &fronts = m.fronts;
  motion_residuals(m, c, motion.system, evaluation_context(c, motion.system, s, motion.system.unused), s, a, lambda,
                   static_cast<double *>(nullptr));
  hold_state(m, c, motion, derivatives, s, a, lambda);
  std::fill_n(work.own, 108 * (std::size_t(m.nb) + 1), 0.0);
  std::fill_n(work.bent, std::size_t(fronts.column_count) * std::size_t(work.max_moves), 0.0);
  std::fill_n(work.taps, fronts.tap_numbers, 0.0);
  std::fill_n(work.links, fronts.link_numbers, 0.0);
  std::fill_n(work.fixed, fronts.unknown_count, static_cast<unsigned char>(0));
  std::fill_n(derivatives.seconds, m.nc, Dual(0.0));
  Workspace<Dual> &moving = derivatives.duals.loops.ws;
  moving.t = Dual(s.t);
  moving.held = c.cut_velocity_locked;
  NewtonAssembler stamper{m, c, fronts, motion, derivatives, work, s, motion.system.loops.ws, moving};
  stamper.bodies();
  stamper.elements();
  for (int k = 0; k < m.loop_constraint_count; ++k)
    stamper.constraint(k, loop_constraints);
  for (int k = 0; !states && k < fronts.label_count; ++k)
    if (fronts.labels[k].kind == LabelKind::states)
      std::fill_n(work.fixed + fronts.labels[k].first, fronts.labels[k].size, static_cast<unsigned char>(1));
}

} // namespace dalembert::DALEMBERT_ISA
