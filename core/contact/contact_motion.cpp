#include "contact/contact_motion.hpp"
#include "geometry/feature_pairs.hpp"
#include "tree/kinematics.hpp"
#include "tree/manifold.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double rank_tol = 1e-11;    // of the largest pivot: smaller ones belong to dependent rows
constexpr double rounded_gap = 1e-14; // of the length of the system: smaller gaps are not corrected
constexpr int max_gap_rounds = 4;     // of corrections of gaps
constexpr double least_slip = 1e-14;  // m/s: slip has no direction below

Feature feature_of(const SceneFeature &f) {
  const auto vec = [](const double *x) { return Vec3<double>{x[0], x[1], x[2]}; };
  return {FeatureKind(f.kind), vec(f.c), vec(f.d), vec(f.e), vec(f.out), f.r, f.radius};
}

Dual dual_of(double value, double slope) {
  Pack d(0.0);
  d.set(0, slope);
  return {value, d};
}
Vec3<Dual> dual_of(const Vec3<double> &x, const Vec3<double> &dx) {
  return {dual_of(x.x, dx.x), dual_of(x.y, dx.y), dual_of(x.z, dx.z)};
}
Vec3<double> value_of(const Vec3<Dual> &x) { return {x.x.value, x.y.value, x.z.value}; }
Vec3<double> rate_of(const Vec3<Dual> &x) { return {x.x.slope[0], x.y.slope[0], x.z.slope[0]}; }
void write(const Vec3<double> &x, double *out) { out[0] = x.x, out[1] = x.y, out[2] = x.z; }
Vec3<double> read(const double *x) { return {x[0], x[1], x[2]}; }

Workspace<double> &frames_of(const RunContext &i) { return i.work.motion.system.loops.ws; }

// the pose of a body along its motion
Pose<Dual> moving_pose(const Pose<double> &X, const double *motion) {
  const Vec3<double> w = read(motion), u = read(motion + 3);
  const Vec3<double> columns[3] = {{X.R.xx, X.R.yx, X.R.zx}, {X.R.xy, X.R.yy, X.R.zy}, {X.R.xz, X.R.yz, X.R.zz}};
  Vec3<Dual> c[3];
  for (int k = 0; k < 3; ++k)
    c[k] = dual_of(columns[k], cross(w, columns[k]));
  return {{c[0].x, c[1].x, c[2].x, c[0].y, c[1].y, c[2].y, c[0].z, c[1].z, c[2].z}, dual_of(X.p, u)};
}

void set_tangent_axis(const double n[3], double axis[3]) {
  const int least = std::abs(n[0]) <= std::abs(n[1]) ? (std::abs(n[0]) <= std::abs(n[2]) ? 0 : 2)
                                                     : (std::abs(n[1]) <= std::abs(n[2]) ? 1 : 2);
  for (int x = 0; x < 3; ++x)
    axis[x] = x == least ? 1.0 : 0.0;
}

} // namespace

ClosedPoint closed_point(const ContactScene &scene, const ScenePoint &p) {
  const ContactMaterial &material = scene.materials()[std::size_t(p.material)];
  ClosedPoint c{};
  c.contact = p.contact, c.material = p.material, c.stop = -1;
  std::copy_n(p.shapes, 2, c.shapes), std::copy_n(p.places, 2, c.places), std::copy_n(p.features, 2, c.features);
  c.first = scene.feature(p.shapes[0], p.features[0]);
  c.second = scene.feature(p.shapes[1], p.features[1]);
  std::copy_n(p.start, 2, c.start);
  set_tangent_axis(p.normal, c.axis);
  c.friction = material.friction, c.static_friction = material.static_friction;
  c.restitution = material.restitution;
  return c;
}

void place_point(const Workspace<double> &ws, const ContactSteps &c, const ClosedPoint &closed, ScenePoint &p,
                 double *rates, double *axes) {
  const Pose<Dual> X = moving_pose(ws.X_W[closed.places[0]], c.motions.data() + 6 * closed.places[0]),
                   Y = moving_pose(ws.X_W[closed.places[1]], c.motions.data() + 6 * closed.places[1]);
  const FeatureContact<Dual> f =
      feature_contact<Dual>(feature_of(closed.first), X, feature_of(closed.second), Y, closed.start);
  const Vec3<Dual> axis = dual_of(read(closed.axis), zero3<double>());
  const Vec3<Dual> t = feature_pairs::unit(cross(f.normal, axis)), s = cross(f.normal, t);
  write(value_of(f.normal), p.normal), write(value_of(f.first), p.on_first), write(value_of(f.second), p.on_second);
  p.gap = f.gap.value;
  write(value_of(t), axes), write(value_of(s), axes + 3), write(value_of(f.normal), axes + 6);
  write(rate_of(t), rates), write(rate_of(s), rates + 3), write(rate_of(f.normal), rates + 6);
  write(rate_of(f.first), rates + 9), write(rate_of(f.second), rates + 12);
}

namespace {

// velocity of a material point, its acceleration with what the motion of the closest point adds to it
struct PointMotion {
  Vec3<double> v, a;
};
PointMotion point_motion(const Workspace<double> &ws, const double *motion, int place, const Vec3<double> &x,
                         const Vec3<double> &rate) {
  const Vec3<double> w = read(motion), r = x - ws.X_W[place].p, v = read(motion + 3) + cross(w, r);
  const Vec3<double> alpha = mul(ws.X_W[place].R, ws.A[place].w), acc = mul(ws.X_W[place].R, ws.A[place].v);
  return {v, acc + cross(alpha, r) + cross(w, cross(w, r)) + cross(w, rate - v)};
}

} // namespace

void place_closed(const RunContext &i, ContactEvents &e, const double *q, const double *v) {
  ContactSteps &c = e.rows;
  move_bodies(i, c, q, v);
  const Workspace<double> &ws = frames_of(i);
  const std::size_t n = e.closed.size();
  e.points.resize(n), e.point_rates.assign(rates_of_point * n, 0.0), c.rows.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const ClosedPoint &closed = e.closed[k];
    ScenePoint &p = e.points[k];
    ContactRow &row = c.rows[k];
    row = {};
    row.point = std::int32_t(k), row.stop = closed.stop, row.friction = closed.joint;
    if (closed.stop >= 0) {
      const JointStop &stop = c.stops[std::size_t(closed.stop)];
      row.blocks[0] = stop.block, row.blocks[1] = -1, row.point = -1;
      p = {};
      p.gap = stop_gap(i.m, c, stop, q);
      continue;
    }
    if (closed.joint >= 0) {
      row.blocks[0] = c.friction[std::size_t(closed.joint)].block, row.blocks[1] = -1, row.point = -1;
      p = {};
      continue;
    }
    p.contact = closed.contact, p.material = closed.material;
    std::copy_n(closed.shapes, 2, p.shapes), std::copy_n(closed.places, 2, p.places);
    std::copy_n(closed.features, 2, p.features), std::copy_n(closed.start, 2, p.start);
    place_point(ws, c, closed, p, e.point_rates.data() + rates_of_point * k, row.axes);
    const std::int32_t a = c.block[std::size_t(p.places[0])], b = c.block[std::size_t(p.places[1])];
    row.blocks[0] = a, row.blocks[1] = b == a ? -1 : b;
  }
}

void respond_to_closed(const RunContext &i, ContactEvents &e, double t, const double *q) {
  ContactSteps &c = e.rows;
  respond_to_contacts(i, c, e.points, t, q);
  const int n = int(c.rows.size());
  e.D.resize(9 * std::size_t(n) * std::size_t(n));
  assemble_cone_matrix(
      {n, c.row_blocks.data(), c.block_start.data(), c.at.data(), c.J.data(), c.Y.data(), nullptr, nullptr},
      e.D.data());
}

double slip_scale(const Workspace<double> &ws, const ContactSteps &c, const ScenePoint &p) {
  double sum = 0.0;
  for (int end = 0; end < 2; ++end) {
    const double *motion = c.motions.data() + 6 * p.places[end];
    const Vec3<double> r = read(end ? p.on_second : p.on_first) - ws.X_W[p.places[end]].p, w = read(motion),
                       u = read(motion + 3);
    sum += std::sqrt(dot(u, u)) + std::sqrt(dot(w, w) * dot(r, r));
  }
  return sum;
}

void closed_velocities(ContactEvents &e, const double *v) {
  e.u.resize(3 * e.rows.rows.size());
  for (std::size_t k = 0; k < e.rows.rows.size(); ++k)
    row_velocity(e.rows, k, v, e.u.data() + 3 * k);
}

void closed_accelerations(const RunContext &i, ContactEvents &e, const double *, const double *a) {
  Workspace<double> &ws = frames_of(i);
  compute_accelerations(i.m, ws, a);
  ContactSteps &c = e.rows;
  accelerate_cut_joints(i.m, ws, c);
  e.b.assign(3 * e.closed.size(), 0.0);
  for (std::size_t k = 0; k < e.closed.size(); ++k) {
    const ClosedPoint &closed = e.closed[k];
    double *b = e.b.data() + 3 * k;
    if (closed.stop >= 0) {
      const JointStop &stop = c.stops[std::size_t(closed.stop)];
      b[2] = stop.sign * joint_acceleration(i.m, c, stop.dof, a);
      continue;
    }
    if (closed.joint >= 0) {
      b[0] = joint_acceleration(i.m, c, c.friction[std::size_t(closed.joint)].dof, a);
      continue;
    }
    const ScenePoint &p = e.points[k];
    const double *rates = e.point_rates.data() + rates_of_point * k;
    const PointMotion first = point_motion(ws, c.motions.data() + 6 * p.places[0], p.places[0], read(p.on_first),
                                           read(rates + 9)),
                      second = point_motion(ws, c.motions.data() + 6 * p.places[1], p.places[1], read(p.on_second),
                                            read(rates + 12));
    const Vec3<double> u = second.v - first.v, w = second.a - first.a;
    for (int r = 0; r < 3; ++r)
      b[r] = dot(read(c.rows[k].axes + 3 * r), w) + dot(read(rates + 3 * r), u);
  }
}

void solve_rows(ContactEvents &e, const double *r) {
  const std::size_t size = 3 * e.closed.size();
  const auto responds = [&](int column) { return e.responds(std::size_t(column)); };
  e.columns.erase(std::stable_partition(e.columns.begin(), e.columns.end(), responds), e.columns.end());
  const int n = int(e.columns.size());
  e.lam.assign(size, 0.0);
  e.rank = n;
  if (!n)
    return;
  e.outer.resize(n, n);
  for (int j = 0; j < n; ++j) {
    const int column = e.columns[std::size_t(j)];
    const ClosedPoint &closed = e.closed[std::size_t(column / 3)];
    const double *f = e.shift.data() + column - 2; // tangential forces with a normal one
    for (int k = 0; k < n; ++k) {
      const double *D = e.D.data() + std::size_t(e.columns[std::size_t(k)]) * size;
      double sum = D[column];
      if (column % 3 == 2 && closed.mode == ContactMode::slides)
        sum += D[column - 2] * f[0] + D[column - 1] * f[1];
      e.outer.column(j)[k] = sum;
    }
  }
  e.outer.factor();
  e.rank = 0;
  const double first = e.outer.pivot(0);
  while (e.rank < n && e.outer.pivot(e.rank) > rank_tol * first && first > 0.0)
    ++e.rank;
  e.right.resize(std::size_t(n)), e.unknowns.assign(std::size_t(n), 0.0);
  for (int k = 0; k < n; ++k)
    e.right[std::size_t(k)] = -r[e.columns[std::size_t(k)]];
  e.outer.apply_transposed(e.right.data());
  e.inner.resize(n, e.rank); // rows of R, as columns
  for (int k = 0; k < e.rank; ++k)
    for (int j = k; j < n; ++j)
      e.inner.column(k)[j] = e.outer.column(j)[k];
  e.inner.factor();
  std::vector<double> &y = e.unknowns;
  dense::least_norm(e.inner, e.right.data(), y.data());
  for (int j = 0; j < n; ++j) {
    const int column = e.columns[std::size_t(e.outer.order[std::size_t(j)])];
    const double value = y[std::size_t(j)];
    e.lam[std::size_t(column)] += value;
    if (column % 3 == 2 && e.closed[std::size_t(column / 3)].mode == ContactMode::slides)
      for (int f = 0; f < 2; ++f)
        e.lam[std::size_t(column - 2 + f)] += value * e.shift[std::size_t(column - 2 + f)];
  }
}

// tangential forces of sliding points for a normal force of one, along their axes
static void set_slip_forces(ContactEvents &e) {
  e.shift.assign(3 * e.closed.size(), 0.0);
  for (std::size_t k = 0; k < e.closed.size(); ++k) {
    const ClosedPoint &closed = e.closed[k];
    if (!closed.slides_with_friction() || closed.joint >= 0)
      continue;
    const double *axes = e.rows.rows[k].axes, *u = e.u.data() + 3 * k;
    const Vec3<double> d = read(closed.direction);
    double along[2] = {dot(read(axes), d), dot(read(axes + 3), d)};
    const double size = std::hypot(along[0], along[1]);
    along[0] /= size, along[1] /= size;
    const double slip = std::hypot(u[0], u[1]);
    if (slip > std::max(e.resting(closed), least_slip)) {
      const double s = u[0] * along[0] + u[1] * along[1], beyond = s < 0.0 ? -2.0 * s : 0.0;
      along[0] = (u[0] + beyond * along[0]) / slip, along[1] = (u[1] + beyond * along[1]) / slip;
    }
    e.shift[3 * k] = -closed.friction * along[0], e.shift[3 * k + 1] = -closed.friction * along[1];
  }
}

bool solve_modes(ContactEvents &e) {
  set_slip_forces(e);
  e.columns.clear();
  const std::size_t size = e.b.size();
  e.known.assign(size, 0.0);
  bool any = false;
  for (std::size_t k = 0; k < e.closed.size(); ++k) {
    const ClosedPoint &closed = e.closed[k];
    if (closed.joint >= 0 && closed.slides_with_friction()) {
      const double sign = closed.carries ? closed.direction[0] : double(e.u[3 * k] > 0.0) - double(e.u[3 * k] < 0.0);
      e.known[3 * k] = -closed.friction * sign, any = true;
    }
    if (!closed.carries || closed.mode == ContactMode::open)
      continue;
    for (int r = closed.first_held(); r < closed.last_held(); ++r)
      e.columns.push_back(3 * int(k) + r);
  }
  e.right_of_known = e.b;
  for (std::size_t k = 0; any && k < size; ++k)
    for (std::size_t j = 0; j < size; ++j)
      e.right_of_known[k] += e.D[k * size + j] * e.known[j];
  solve_rows(e, e.right_of_known.data());
  for (std::size_t k = 0; any && k < size; ++k)
    e.lam[k] += e.known[k];
  e.w = e.b;
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t j = 0; j < size; ++j)
      e.w[k] += e.D[k * size + j] * e.lam[j];
  return all_finite(e.lam.data(), int(size));
}

bool add_contact_accelerations(const RunContext &i, ContactEvents &e, double t, const double *q, const double *v,
                               double *a) {
  if (e.closed.empty())
    return true;
  place_closed(i, e, q, v);
  closed_accelerations(i, e, v, a);
  respond_to_closed(i, e, t, q);
  closed_velocities(e, v);
  solve_modes(e);
  add_response(e.rows, 0, e.rows.rows.size(), e.lam.data(), a);
  return true;
}

void set_joint_efforts(const RunContext &i, ContactEvents &e) {
  const ModelData &m = i.m;
  e.joint_efforts.assign(std::size_t(m.nv + m.cut_nv), 0.0), e.joint_loads.assign(6 * std::size_t(m.users), 0.0);
  for (std::size_t k = 0; k < e.closed.size(); ++k) {
    const ClosedPoint &p = e.closed[k];
    if (p.touches())
      continue;
    const JointStop *stop = p.stop >= 0 ? &e.rows.stops[std::size_t(p.stop)] : nullptr;
    const std::int32_t dof = stop ? stop->dof : e.rows.friction[std::size_t(p.joint)].dof;
    const double effort = stop ? stop->sign * e.lam[3 * k + 2] : e.lam[3 * k];
    add_joint_effort(m, frames_of(i), dof, effort, e.joint_efforts.data(), e.joint_loads.data());
  }
}

void project_onto_contacts(const RunContext &i, ContactEvents &e, double t, double *q, double *v) {
  if (e.closed.empty())
    return;
  const ModelData &m = i.m;
  const double least = rounded_gap * (m.length > 0.0 ? m.length : 1.0);
  const std::size_t n = e.closed.size();
  std::vector<double> &displacement = e.rows.displacement;
  const auto hold = [&](bool normals_only) {
    e.columns.clear();
    for (std::size_t k = 0; k < n; ++k)
      for (int r = normals_only ? 2 : e.closed[k].first_held(); r < e.closed[k].last_held(); ++r)
        e.columns.push_back(3 * int(k) + r);
    e.shift.assign(3 * n, 0.0);
  };
  place_closed(i, e, q, v);
  for (int round = 0; round < max_gap_rounds; ++round) {
    respond_to_closed(i, e, t, q);
    e.w.assign(3 * n, 0.0);
    for (std::size_t k = 0; k < n; ++k)
      e.w[3 * k + 2] = e.points[k].gap;
    if (largest(e.w) <= least)
      break;
    hold(true);
    solve_rows(e, e.w.data());
    displacement.assign(std::size_t(m.nv), 0.0);
    add_response(e.rows, 0, n, e.lam.data(), displacement.data());
    e.q.resize(std::size_t(m.nq));
    integrate<double>(m, q, displacement.data(), e.q.data());
    copy(e.q.data(), m.nq, q);
    place_closed(i, e, q, v);
  }
  closed_velocities(e, v);
  hold(false);
  solve_rows(e, e.u.data());
  add_response(e.rows, 0, n, e.lam.data(), v);
}

} // namespace dalembert::DALEMBERT_ISA
