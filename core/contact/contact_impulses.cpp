#include "contact/contact_impulses.hpp"
#include "contact/persistent_contacts.hpp"
#include "tree/kinematics.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double small_change = 1e-6; // of the normal force in a step
constexpr double swept_overlap = 10.0; // of the tolerance of sweeps times a step: smaller overlaps stay in large islands
constexpr int max_bound_rounds = 40; // in which bounds of moments follow the normal forces
constexpr double bound_change = 1e-9, swept_bound_change = 1e-3; // of them: smaller changes end it
constexpr int max_slip_rounds = 4; // in which rows lose their static friction; the rest keeps it for this step

std::uint64_t key_of(const std::int32_t pair[2]) {
  return (std::uint64_t(std::uint32_t(pair[0])) << 32) | std::uint32_t(pair[1]);
}

// two tangents and the normal; the tangents turn with the normal
void set_axes(const double n[3], double axes[9]) {
  const int least = std::abs(n[0]) <= std::abs(n[1]) ? (std::abs(n[0]) <= std::abs(n[2]) ? 0 : 2)
                                                     : (std::abs(n[1]) <= std::abs(n[2]) ? 1 : 2);
  Vec3<double> e = zero3<double>();
  (least == 0 ? e.x : least == 1 ? e.y : e.z) = 1.0;
  const Vec3<double> normal{n[0], n[1], n[2]};
  Vec3<double> t = cross(normal, e);
  t = scale(1.0 / std::sqrt(dot(t, t)), t);
  const Vec3<double> s = cross(normal, t);
  const double all[9] = {t.x, t.y, t.z, s.x, s.y, s.z, n[0], n[1], n[2]};
  std::copy_n(all, 9, axes);
}

std::int32_t root_of(std::vector<std::int32_t> &parent, std::int32_t k) {
  while (parent[std::size_t(k)] != k)
    k = parent[std::size_t(k)] = parent[std::size_t(parent[std::size_t(k)])];
  return k;
}

// names of dry friction of a joint in the memory
constexpr std::uint64_t joint_key = ~std::uint64_t(0);

const ContactMemory *remembered(const std::vector<ContactMemory> &memory, std::uint64_t shapes,
                                std::uint64_t features) {
  const ContactMemory wanted{shapes, features, {}, false};
  const auto found = std::lower_bound(memory.begin(), memory.end(), wanted);
  return found != memory.end() && !(wanted < *found) ? &*found : nullptr;
}

// islands of blocks that touch, and the rows in their order
void sort_by_island(ContactSteps &c) {
  const std::size_t blocks = c.block_start.size() - 1;
  c.parent.resize(blocks);
  for (std::size_t k = 0; k < blocks; ++k)
    c.parent[k] = std::int32_t(k);
  for (const ContactRow &row : c.rows)
    if (row.blocks[0] >= 0 && row.blocks[1] >= 0) {
      const std::int32_t a = root_of(c.parent, row.blocks[0]), b = root_of(c.parent, row.blocks[1]);
      c.parent[std::size_t(std::max(a, b))] = std::min(a, b);
    }
  for (ContactRow &row : c.rows)
    row.island = root_of(c.parent, row.blocks[0] >= 0 ? row.blocks[0] : row.blocks[1]);
  std::stable_sort(c.rows.begin(), c.rows.end(),
                   [](const ContactRow &a, const ContactRow &b) { return a.island < b.island; });
}

ConeBlocks island_of(const ContactSteps &c, std::size_t begin, std::size_t end, const double *bias, const double *mu) {
  return {int(end - begin),     c.row_blocks.data() + 2 * begin,
          c.block_start.data(), c.at.data() + 2 * begin,
          c.J.data(),           c.Y.data(),
          bias + 3 * begin,     mu + begin};
}

// mu of the cone problem, for the impulses as they are
double bound_of(const ContactSteps &c, std::size_t k, double h) {
  const ContactRow &row = c.rows[k];
  if (row.turning != Turning::none) // of the row of its point, which comes one or two rows before
    return -row.arm * c.lam[3 * (k - std::size_t(row.after)) + 2];
  return row.friction >= 0 ? -h * row.mu : row.mu; // of joints: impacts have none, they take no time
}

// c_n of (4) and (5), friction, and the impulses of the last step to begin with
void set_conditions(ContactSteps &c, const ContactTiming &timing) {
  const std::size_t n = c.rows.size();
  c.bias.assign(3 * n, 0.0), c.mu.resize(n), c.lam.assign(3 * n, 0.0), c.u_before.resize(3 * n);
  for (std::size_t k = 0; k < n; ++k) {
    ContactRow &row = c.rows[k];
    double *u = c.u_before.data() + 3 * k;
    row_velocity(c, k, c.before.data(), u);
    set_drift(row, u, timing.h, timing.closed, timing.impact_speed);
    row.approach = u[2] - row.drift[2];
    if (!row.known && tangential_size(u[0], u[1]) <= 10.0 * c.tolerance) // at rest before
      row.mu = row.static_friction;
    const double gap = row.closing_gap(timing.h);
    const bool closed = gap <= timing.closed;
    if (closed && row.approach < -timing.impact_speed)
      c.bias[3 * k + 2] = row.restitution * row.approach;
    else if (!closed && timing.h > 0.0)
      c.bias[3 * k + 2] = gap / timing.h;
    for (std::size_t e = 0; e < 3; ++e)
      c.bias[3 * k + e] += row.drift[e];
    c.mu[k] = bound_of(c, k, timing.h);
    for (std::size_t e = 0; e < 3 && timing.h > 0.0; ++e)
      c.lam[3 * k + e] = row.start[e] * timing.h;
  }
}

// velocities of the rows without impulses, b of the cone problem
void set_free_velocities(ContactSteps &c, const ConeBlocks &p, std::size_t begin, const double *v) {
  c.b.resize(3 * std::size_t(p.m));
  for (std::size_t k = 0; k < std::size_t(p.m); ++k) {
    double u[3];
    row_velocity(c, begin + k, v, u);
    for (std::size_t e = 0; e < 3; ++e)
      c.b[3 * k + e] = p.bias[3 * k + e] + u[e];
  }
}

// from lam, whose velocities are v, to those that solve the problem of c.b
void solve_dense(ContactSteps &c, const ConeBlocks &p, std::size_t begin, std::size_t end, double *v, double *lam) {
  const std::size_t size = 3 * std::size_t(p.m);
  double *mine = lam + 3 * begin;
  c.D.resize(size * size);
  assemble_cone_matrix(p, c.D.data());
  c.solver.reserve(p.m);
  c.solver.lam.assign(mine, mine + size);
  solve_cone_problem({p.m, c.D.data(), c.b.data(), p.mu}, c.solver, c.tolerance, true);
  c.change.resize(3 * end);
  for (std::size_t k = 0; k < size; ++k)
    c.change[3 * begin + k] = c.solver.lam[k] - mine[k], mine[k] = c.solver.lam[k];
  add_response(c, begin, end, c.change.data(), v);
  c.newton_steps += c.solver.newton_steps, c.admm_iterations += c.solver.admm_iterations;
}

// One island; its velocities become those with the impulses. sweep_tolerance: in the unit of velocities, which are
// displacements where overlaps are removed. Returns the residual.
double solve_island(ContactSteps &c, std::size_t begin, std::size_t end, const double *bias, const double *mu,
                    double sweep_tolerance, double *v, double *lam) {
  const ConeBlocks p = island_of(c, begin, end, bias, mu);
  const bool dense = p.m <= c.dense_points;
  if (dense)
    set_free_velocities(c, p, begin, v);
  add_response(c, begin, end, lam, v);
  if (!dense) {
    prepare_sweeps(p, c.sweeper);
    const bool done = sweep_cones(p, c.sweeper, sweep_tolerance, c.max_sweeps, v, lam + 3 * begin);
    c.sweeps += c.sweeper.sweeps;
    return done ? 0.0 : c.sweeper.missed;
  }
  prepare_scales(p, c.sweeper);
  if (residual_of_blocks(p, c.sweeper, v, lam + 3 * begin) <= c.tolerance) // what rests
    return 0.0;
  solve_dense(c, p, begin, end, v, lam);
  return c.solver.missed <= c.tolerance ? 0.0 : c.solver.missed;
}

template <class F> void for_islands(const ContactSteps &c, F &&f) {
  for (std::size_t begin = 0; begin < c.rows.size();) {
    std::size_t end = begin + 1;
    while (end < c.rows.size() && c.rows[end].island == c.rows[begin].island)
      ++end;
    f(begin, end);
    begin = end;
  }
}

// sliding velocity for velocities u of the row with its impulses
double slip_of(const ContactRow &row, const double *u) {
  return tangential_size(u[0] + row.drift[0], u[1] + row.drift[1]);
}

// rows that stuck have static friction; those that slide nevertheless lose it. Returns whether any did.
bool release_slipping(ContactSteps &c, std::size_t begin, std::size_t end, const std::vector<double> &v, double h) {
  bool changed = false;
  for (std::size_t k = begin; k < end; ++k) {
    ContactRow &row = c.rows[k];
    if (!(row.mu > row.sliding_friction))
      continue;
    double u[3];
    row_velocity(c, k, v.data(), u);
    if (slip_of(row, u) > 10.0 * c.tolerance)
      row.mu = row.sliding_friction, c.mu[k] = bound_of(c, k, h), changed = true;
  }
  return changed;
}

// Bounds of moments for the normal impulses of a solution; returns whether any of them has changed.
bool follow_normals(ContactSteps &c, std::size_t begin, std::size_t end) {
  bool changed = false;
  for (std::size_t k = begin; k < end; ++k) {
    if (c.rows[k].turning == Turning::none)
      continue;
    const double bound = bound_of(c, k, 0.0);
    const double least = end - begin > std::size_t(c.dense_points) ? swept_bound_change : bound_change;
    changed = changed || std::fabs(bound - c.mu[k]) > least * std::fabs(bound);
    c.mu[k] = bound;
  }
  return changed;
}

void add_turning_rows(ContactSteps &c, const ContactMaterial &material) {
  const ContactRow point = c.rows.back();
  for (const Turning turning : {Turning::rolls, Turning::spins}) {
    const double arm = turning == Turning::rolls ? material.rolling : material.spin;
    if (!(arm > 0.0))
      continue;
    const int after = c.rows.back().after + 1;
    ContactRow &row = c.rows.emplace_back(point);
    row.turning = turning, row.arm = arm, row.after = after;
    row.gap = row.restitution = row.mu = row.sliding_friction = row.static_friction = 0.0;
    row.known = true;
    std::fill_n(row.start, 3, 0.0);
  }
}

} // namespace

void set_rows(const ModelData &m, ContactSteps &c, const std::vector<ScenePoint> &points, const double *q,
              double stop_margin, const std::vector<unsigned char> &skip, bool with_joints) {
  const std::vector<ContactMaterial> &materials = c.scene->materials();
  c.rows.clear();
  for (std::size_t k = 0; k < points.size(); ++k) {
    const ScenePoint &p = points[k];
    const std::int32_t a = c.block[std::size_t(p.places[0])], b = c.block[std::size_t(p.places[1])];
    if ((!skip.empty() && skip[k]) || (a < 0 && b < 0))
      continue;
    const ContactMaterial &material = materials[std::size_t(p.material)];
    ContactRow &row = c.rows.emplace_back();
    row.point = std::int32_t(k), row.stop = row.friction = -1;
    row.blocks[0] = a, row.blocks[1] = b == a ? -1 : b;
    row.gap = p.gap, row.restitution = material.restitution;
    row.mu = row.sliding_friction = material.friction, row.static_friction = material.static_friction;
    row.known = false;
    set_axes(p.normal, row.axes);
    std::fill_n(row.start, 3, 0.0);
    if (const ContactMemory *last = remembered(c.memory, key_of(p.shapes), key_of(p.features))) {
      row.known = true;
      if (last->sticks)
        row.mu = material.static_friction;
      for (int e = 0; e < 3; ++e)
        for (int x = 0; x < 3; ++x)
          row.start[e] += row.axes[3 * e + x] * last->force[x];
    }
    if (material.rolling > 0.0 || material.spin > 0.0)
      add_turning_rows(c, material);
  }
  for (std::size_t k = 0; k < c.stops.size(); ++k) {
    const JointStop &stop = c.stops[k];
    const double gap = stop_gap(m, c, stop, q);
    if (gap > stop_margin || (!c.skip_stops.empty() && c.skip_stops[k]))
      continue;
    ContactRow &row = c.rows.emplace_back();
    row.point = row.friction = -1, row.stop = std::int32_t(k);
    row.blocks[0] = stop.block, row.blocks[1] = -1;
    row.gap = gap, row.restitution = stop.restitution, row.mu = row.sliding_friction = row.static_friction = 0.0;
    row.known = false;
    std::fill_n(row.start, 3, 0.0);
    std::fill_n(row.axes, 9, 0.0);
  }
  for (std::size_t k = 0; k < c.friction.size() && with_joints; ++k) {
    ContactRow &row = c.rows.emplace_back();
    row.point = row.stop = -1, row.friction = std::int32_t(k);
    row.blocks[0] = c.friction[k].block, row.blocks[1] = -1;
    row.gap = row.restitution = 0.0, row.mu = row.sliding_friction = c.friction[k].sliding;
    row.static_friction = c.friction[k].at_rest, row.known = false;
    std::fill_n(row.start, 3, 0.0);
    std::fill_n(row.axes, 9, 0.0);
    if (const ContactMemory *last = remembered(c.memory, joint_key, k)) {
      row.known = true;
      if (last->sticks)
        row.mu = c.friction[k].at_rest;
      row.start[0] = last->force[0];
    }
  }
  sort_by_island(c);
  c.points += std::int64_t(c.rows.size());
}

void solve_impulses(ContactSteps &c, const ContactTiming &timing, double t) {
  set_conditions(c, timing);
  for_islands(c, [&](std::size_t begin, std::size_t end) {
    const auto more_at_rest = [](const ContactRow &row) { return row.mu > row.sliding_friction; };
    const bool can_slip =
        std::any_of(c.rows.begin() + std::ptrdiff_t(begin), c.rows.begin() + std::ptrdiff_t(end), more_at_rest);
    const bool turns =
        std::any_of(c.rows.begin() + std::ptrdiff_t(begin), c.rows.begin() + std::ptrdiff_t(end),
                    [](const ContactRow &row) { return row.turning != Turning::none; });
    if (can_slip || turns)
      c.displacement = c.free;
    double missed = solve_island(c, begin, end, c.bias.data(), c.mu.data(), c.sweep_tolerance, c.free.data(),
                                 c.lam.data());
    for (int round = 0; can_slip && round < max_slip_rounds && release_slipping(c, begin, end, c.free, timing.h);
         ++round) {
      c.free = c.displacement;
      missed = solve_island(c, begin, end, c.bias.data(), c.mu.data(), c.sweep_tolerance, c.free.data(),
                                 c.lam.data());
    }
    for (int round = 0; turns && follow_normals(c, begin, end); ++round) {
      if (round == max_bound_rounds) {
        missed = std::max(missed, c.tolerance);
        break;
      }
      c.free = c.displacement;
      missed = solve_island(c, begin, end, c.bias.data(), c.mu.data(), c.sweep_tolerance, c.free.data(), c.lam.data());
    }
    if (missed > c.missed)
      c.missed = missed, c.missed_time = t;
    c.failures += missed > 0.0;
  });
  c.u_after.resize(3 * c.rows.size());
  for (std::size_t k = 0; k < c.rows.size(); ++k)
    row_velocity(c, k, c.free.data(), c.u_after.data() + 3 * k);
}

bool remove_overlaps(const ModelData &m, ContactSteps &c, const std::vector<double> &gaps,
                     const ContactTiming &timing) {
  const std::size_t n = c.rows.size();
  bool found = false;
  for_islands(c, [&](std::size_t begin, std::size_t end) {
    const bool swept = end - begin > std::size_t(c.dense_points);
    const double least = std::max(timing.closed, swept ? swept_overlap * c.sweep_tolerance * timing.h : 0.0);
    double worst = 0.0;
    for (std::size_t k = begin; k < end; ++k)
      worst = std::min(worst, gaps[3 * k + 2]);
    if (!(worst < -least))
      return;
    if (!found)
      c.displacement.assign(std::size_t(m.nv), 0.0), c.no_friction.assign(n, 0.0), c.lam.assign(3 * n, 0.0);
    found = true;
    solve_island(c, begin, end, gaps.data(), c.no_friction.data(), 0.5 * least, c.displacement.data(), c.lam.data());
  });
  return found;
}

// Force along the axes that the next step begins with. Of a force that hardly changes, half of the change is kept: what
// rests had a velocity of some tolerance, which the change removes, and would have the opposite one with all of it.
// Sweeps go on in the next step: they keep all of it.
static void next_start(const ContactRow &row, const double lam[3], double h, bool swept, double force[3]) {
  double change = 0.0;
  for (int e = 0; e < 3; ++e)
    force[e] = lam[e] / h, change = std::max(change, std::abs(force[e] - row.start[e]));
  if (!swept && change <= small_change * force[2])
    for (int e = 0; e < 3; ++e)
      force[e] = 0.5 * (force[e] + row.start[e]);
}

bool was_pressed(const ContactSteps &c, const ScenePoint &p) {
  return remembered(c.memory, key_of(p.shapes), key_of(p.features)) ||
         remembered(c.earlier, key_of(p.shapes), key_of(p.features));
}

void remember_impacts(ContactSteps &c, const std::vector<ScenePoint> &points) {
  for (std::size_t k = 0; k < c.rows.size(); ++k) {
    const ContactRow &row = c.rows[k];
    if (row.point < 0 || !(c.lam[3 * k + 2] > 0.0))
      continue;
    const ScenePoint &p = points[std::size_t(row.point)];
    const ContactMemory kept{key_of(p.shapes), key_of(p.features), {}, false};
    const auto place = std::lower_bound(c.memory.begin(), c.memory.end(), kept);
    if (place == c.memory.end() || kept < *place)
      c.memory.insert(place, kept);
  }
}

bool touches_others(const ContactSteps &c, const ScenePoint &p, std::int32_t shape) {
  return std::any_of(c.memory.begin(), c.memory.end(), [&](const ContactMemory &last) {
    const bool is_of_shape = std::int32_t(last.shapes >> 32) == shape || std::int32_t(last.shapes) == shape;
    return is_of_shape && last.shapes != joint_key && last.shapes != key_of(p.shapes);
  });
}

static void keep_impulse(ContactSteps &c, const std::vector<ScenePoint> &points, std::size_t k, double h, bool swept) {
  const ContactRow &row = c.rows[k];
  const double *lam = c.lam.data() + 3 * k;
  const double *u = c.u_after.data() + 3 * k;
  double force[3];
  if (row.friction >= 0) {
    c.memory.push_back(
        {joint_key, std::uint64_t(row.friction), {lam[0] / h, 0.0, 0.0}, std::abs(u[0]) <= 10.0 * c.tolerance});
  }
  if (row.point < 0 || !(lam[2] > 0.0))
    return;
  const ScenePoint &p = points[std::size_t(row.point)];
  ContactMemory &kept = c.memory.emplace_back();
  kept.shapes = key_of(p.shapes), kept.features = key_of(p.features);
  next_start(row, lam, h, swept, force);
  for (int x = 0; x < 3; ++x)
    kept.force[x] = row.axes[x] * force[0] + row.axes[3 + x] * force[1] + row.axes[6 + x] * force[2];
  kept.sticks = slip_of(row, u) <= 10.0 * c.tolerance;
}

void keep_impulses(ContactSteps &c, const std::vector<ScenePoint> &points, double h) {
  c.memory.clear();
  for_islands(c, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      keep_impulse(c, points, k, h, end - begin > std::size_t(c.dense_points));
  });
  std::sort(c.memory.begin(), c.memory.end());
}

// whether there are stops or dry friction of joints
static bool has_joints(const ContactSteps &c) { return !c.stops.empty() || !c.friction.empty(); }

void begin_log(const ModelData &m, ContactSteps &c, double t) {
  if (!c.logs)
    return;
  if (c.logs_last_only)
    c.log.clear();
  c.log.times.push_back(t);
  c.log.begin.push_back(double(c.log.points.size()));
  c.log.loads.resize(c.log.loads.size() + 6 * std::size_t(m.users));
  if (has_joints(c))
    c.log.efforts.resize(c.log.efforts.size() + std::size_t(m.nv + m.cut_nv));
}

void undo_step(const ModelData &m, ContactSteps &c) {
  c.memory = c.earlier;
  ContactLog &log = c.log;
  if (log.times.empty())
    return;
  log.points.resize(std::size_t(log.begin.back()));
  log.loads.resize(log.loads.size() - 6 * std::size_t(m.users));
  if (has_joints(c))
    log.efforts.resize(log.efforts.size() - std::size_t(m.nv + m.cut_nv));
  log.times.pop_back(), log.begin.pop_back();
}

// of a stop or dry friction of a joint
static void log_joint(const ModelData &m, const Workspace<double> &ws, ContactSteps &c, const ContactRow &row,
                      const double *lam, const double *before, const double *after, double whole_step, double t,
                      double impact_speed, double *efforts, double *loads) {
  const bool stop = row.stop >= 0;
  const int e = stop ? 2 : 0;
  if (lam[e] == 0.0)
    return;
  const std::int32_t dof = stop ? c.stops[std::size_t(row.stop)].dof : c.friction[std::size_t(row.friction)].dof;
  const double sign = stop ? c.stops[std::size_t(row.stop)].sign : 1.0;
  add_joint_effort(m, ws, dof, lam[e] * sign / whole_step, efforts, loads);
  ContactLogPoint &point = c.log.points.push_back(
      {-1, {-1, dof}, 1, {}, {}, {lam[e] / whole_step, 0.0, 0.0}, row.gap, std::abs(after[0]), 0.0, 0.0, 0.0, t, {}});
  (stop ? point.normal_work : point.friction_work) = 0.5 * lam[e] * (before[e] + after[e]);
  if (stop && before[2] < -impact_speed)
    point.impact_speed = -before[2];
}

// of rolling or spin friction, at the point that was logged before
static void log_moment(const ModelData &m, const Workspace<double> &ws, ContactSteps &c, const ContactRow &row,
                       const ScenePoint &p, const double *lam, const double *before, const double *after,
                       double whole_step, double *loads) {
  if (lam[0] == 0.0 && lam[1] == 0.0)
    return;
  ContactLogPoint &point = c.log.points.back();
  const double *about = row.axes + (row.turning == Turning::spins ? 6 : 0);
  Vec3<double> moment = zero3<double>();
  for (int e = 0; e < row.last(); ++e) {
    moment = moment + scale(lam[e] / whole_step, as_vec(about + 3 * e));
    point.friction_work += 0.5 * lam[e] * (before[e] + after[e]);
  }
  point.moment[0] += moment.x, point.moment[1] += moment.y, point.moment[2] += moment.z;
  add_load(m, ws, p.places[1], as_vec(p.on_second), zero3<double>(), moment, loads);
  add_load(m, ws, p.places[0], as_vec(p.on_first), zero3<double>(), -moment, loads);
}

void log_impulses(const RunContext &i, ContactSteps &c, const std::vector<ScenePoint> &points, double h,
                  double whole_step, double t, double impact_speed) {
  if (!c.logs)
    return;
  const ModelData &m = i.m;
  const Workspace<double> &ws = i.work.motion.system.loops.ws;
  double *loads = c.log.loads.data() + c.log.loads.size() - 6 * std::size_t(m.users);
  double *efforts =
      has_joints(c) ? c.log.efforts.data() + c.log.efforts.size() - std::size_t(m.nv + m.cut_nv) : nullptr;
  for (std::size_t k = 0; k < c.rows.size(); ++k) {
    const ContactRow &row = c.rows[k];
    const double *lam = c.lam.data() + 3 * k;
    const double *before = c.u_before.data() + 3 * k, *after = c.u_after.data() + 3 * k;
    if (row.point < 0) {
      log_joint(m, ws, c, row, lam, before, after, whole_step, t, impact_speed, efforts, loads);
      continue;
    }
    if (row.turning != Turning::none) {
      log_moment(m, ws, c, row, points[std::size_t(row.point)], lam, before, after, whole_step, loads);
      continue;
    }
    if (!(lam[2] > 0.0))
      continue;
    const ScenePoint &p = points[std::size_t(row.point)];
    ContactLogPoint &point = c.log.points.push_back({});
    point.contact = p.contact, point.shapes[0] = p.shapes[0], point.shapes[1] = p.shapes[1];
    point.gap = row.closing_gap(h), point.slip = slip_of(row, after);
    point.state = point.slip <= 10.0 * std::max(c.tolerance, c.sweep_tolerance) ? 1 : 2;
    point.friction_work = 0.5 * (lam[0] * (before[0] + after[0]) + lam[1] * (before[1] + after[1]));
    point.normal_work = 0.5 * lam[2] * (before[2] + after[2]);
    point.impact_speed = row.approach < -impact_speed ? -row.approach : 0.0, point.time = t;
    for (int x = 0; x < 3; ++x) {
      point.place[x] = 0.5 * (p.on_first[x] + p.on_second[x]), point.normal[x] = p.normal[x];
      point.force[x] = (row.axes[x] * lam[0] + row.axes[3 + x] * lam[1] + row.axes[6 + x] * lam[2]) / whole_step;
    }
    const Vec3<double> force = as_vec(point.force);
    add_load(m, ws, p.places[1], as_vec(p.on_second), force, zero3<double>(), loads);
    add_load(m, ws, p.places[0], as_vec(p.on_first), -force, zero3<double>(), loads);
  }
}

} // namespace dalembert::DALEMBERT_ISA
