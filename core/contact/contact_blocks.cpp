#include "contact/contact_blocks.hpp"
#include "constraints/loop_constraints.hpp"
#include "constraints/loop_response.hpp"
#include "elements/elements.hpp"
#include "numerics/block_rows.hpp"
#include "tree/joint_maps.hpp"
#include "tree/kinematics.hpp"
#include "tree/manifold.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double immobile_response = 1e-12; // of the response of a row without loops: a smaller response is none

Workspace<double> &frames_of(const RunContext &i) { return i.work.motion.system.loops.ws; }

} // namespace

void find_blocks(const ModelData &m, ContactSteps &c) {
  c.block.assign(std::size_t(m.nb) + 1, -1);
  c.block_start.clear(), c.block_first.clear(), c.block_last.clear();
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (b.parent == 0 && (c.block_first.empty() || !m.nc)) {
      c.block_start.push_back(b.v);
      c.block_first.push_back(i);
      c.block_last.push_back(b.last);
    }
    c.block[std::size_t(i)] = std::int32_t(c.block_first.size()) - 1;
    c.block_last.back() = std::max(c.block_last.back(), b.last);
  }
  c.block_start.push_back(m.nv);
  c.has_cut_joints = acts_on_cut_joints(m, c);
  if (c.has_cut_joints)
    c.cut_q.resize(std::size_t(m.cut_nq)), c.cut_v.resize(std::size_t(m.cut_nv)), c.cut_a.resize(std::size_t(m.cut_nv));
  c.free_blocks.assign(c.block_first.size(), {});
  c.all_free = !m.nc;
  for (std::size_t k = 0; k < c.block_first.size(); ++k) {
    const BodyData &b = m.bodies[c.block_first[k]];
    c.free_blocks[k].alone = !m.nc && b.nv == 6 && has_quaternion(b) && !b.reversed && !b.armature &&
                             !b.is_regularized && b.last == c.block_first[k] && b.mass > 0.0;
    c.all_free = c.all_free && c.free_blocks[k].alone;
  }
  c.has_joint_terms = false;
  for (int k = 0; k < m.element_count && !m.nc; ++k) {
    if (!acts_on_one_joint(m, m.elements[k]))
      continue;
    c.has_joint_terms = true;
    for (int i = 1; i <= m.nb; ++i) // its factors are needed
      if (const int dof = m.ports[m.elements[k].port].dof - m.bodies[i].v; dof >= 0 && dof < m.bodies[i].nv)
        c.free_blocks[std::size_t(c.block[std::size_t(i)])].alone = c.all_free = false;
  }
  const auto block_of = [&](std::int32_t dof) { // with cut joints there is one block
    const auto above = std::upper_bound(c.block_start.begin(), c.block_start.end(), std::min(dof, m.nv - 1));
    return std::int32_t(above - c.block_start.begin()) - 1;
  };
  for (JointStop &stop : c.stops)
    stop.block = block_of(stop.dof);
  for (JointFriction &friction : c.friction)
    friction.block = block_of(friction.dof);
}

void set_free_block(const BodyData &b, FreeBlock &block) {
  const double now[10] = {b.mass, b.h[0], b.h[1], b.h[2], b.J[0], b.J[1], b.J[2], b.J[3], b.J[4], b.J[5]};
  if (std::equal(now, now + 10, block.given))
    return;
  std::copy_n(now, 10, block.given);
  block.over_mass = 1.0 / b.mass;
  const Vec3<double> c = scale(block.over_mass, as_vec(b.h));
  const double size = dot(c, c);
  const double xx = b.J[0] - b.mass * (size - c.x * c.x), xy = b.J[1] + b.mass * c.x * c.y,
               xz = b.J[2] + b.mass * c.x * c.z, yy = b.J[3] - b.mass * (size - c.y * c.y),
               yz = b.J[4] + b.mass * c.y * c.z, zz = b.J[5] - b.mass * (size - c.z * c.z);
  const double cofactors[6] = {yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy,
                               xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy};
  const double det = xx * cofactors[0] + xy * cofactors[1] + xz * cofactors[2];
  for (int k = 0; k < 6; ++k)
    block.turns[k] = cofactors[k] / det;
  block.center[0] = c.x, block.center[1] = c.y, block.center[2] = c.z;
}

void move_bodies(const RunContext &i, ContactSteps &c, const double *q, const double *v, bool placed) {
  const ModelData &m = i.m;
  Workspace<double> &ws = frames_of(i);
  if (placed) {
    start_at_ground(m, ws, false);
    place_in_world(m, ws);
    compute_velocities(m, ws, q, v);
    move_in_world(m, ws, v);
  } else {
    place_and_move(m, ws, q, v);
  }
  c.motions.assign(6 * (std::size_t(m.nb) + 1), 0.0);
  for (int k = 1; k <= m.nb; ++k) {
    const Vec3<double> w = mul(ws.X_W[k].R, ws.w[k]), u = mul(ws.X_W[k].R, ws.u[k]);
    const double six[6] = {w.x, w.y, w.z, u.x, u.y, u.z};
    std::copy_n(six, 6, c.motions.data() + 6 * k);
  }
  if (c.has_cut_joints)
    cut_joints(m, ws, c.cut_q.data(), c.cut_v.data(), nullptr);
}

// adds sign * e_r . (angular velocity of a body) to the first `count` rows over the velocities from `start` on
static void add_turn_rows(const ModelData &m, const Workspace<double> &ws, int body, const double *axes, double sign,
                          int count, int start, int size, double *rows) {
  for (int i = body; i; i = m.bodies[i].parent) {
    const BodyData &b = m.bodies[i];
    for (int k = 0; k < b.moves; ++k) {
      const Vec3<double> w = mul(ws.X_W[i].R, column(b, ws.H + b.H, k).w);
      for (int e = 0; e < count; ++e)
        rows[e * size + b.by + k - start] += sign * (axes[3 * e] * w.x + axes[3 * e + 1] * w.y + axes[3 * e + 2] * w.z);
    }
  }
}

// the same of a free body, in place of what was there, and the response to it
static void set_free_turns(const FreeBlock &block, const Pose<double> &X, const double *axes, double sign, int count,
                           double *J, double *Y) {
  for (int e = 0; e < count; ++e, J += 6, Y += 6) {
    const Vec3<double> n = mul_t(X.R, Vec3<double>{sign * axes[3 * e], sign * axes[3 * e + 1], sign * axes[3 * e + 2]});
    const Motion<double> moves = respond_freely<double>(block, Load<double>{n, zero3<double>()});
    J[0] = n.x, J[1] = n.y, J[2] = n.z;
    Y[0] = moves.w.x, Y[1] = moves.w.y, Y[2] = moves.w.z, Y[3] = moves.v.x, Y[4] = moves.v.y, Y[5] = moves.v.z;
  }
}

void lay_out_rows(ContactSteps &c) {
  const std::size_t n = c.rows.size();
  c.row_blocks.resize(2 * n), c.at.resize(2 * n);
  std::int64_t used = 0;
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t side = 0; side < 2; ++side) {
      const std::int32_t block = c.rows[k].blocks[side];
      c.row_blocks[2 * k + side] = block;
      c.at[2 * k + side] = used;
      if (block >= 0)
        used += 3 * (c.block_start[std::size_t(block) + 1] - c.block_start[std::size_t(block)]);
    }
  c.J.assign(std::size_t(used), 0.0), c.Y.assign(std::size_t(used), 0.0);
}

bool responds_freely(const ContactSteps &c, std::int32_t block, const unsigned char *prescribed) {
  if (!c.free_blocks[std::size_t(block)].alone)
    return false;
  const int start = c.block_start[std::size_t(block)];
  return !prescribed || std::none_of(prescribed + start, prescribed + start + 6, [](unsigned char x) { return x; });
}

// J of all rows; alone: and Y of those of free bodies
static void fill_rows(const ModelData &m, const Workspace<double> &ws, ContactSteps &c,
                      const std::vector<ScenePoint> &points, const unsigned char *prescribed, bool alone) {
  for (std::size_t k = 0; k < c.free_blocks.size(); ++k)
    if (alone && c.free_blocks[k].alone)
      set_free_block(m.bodies[c.block_first[k]], c.free_blocks[k]);
  for (std::size_t k = 0; k < c.rows.size(); ++k) {
    const ContactRow &row = c.rows[k];
    for (std::size_t side = 0; side < 2; ++side) {
      const std::int32_t block = row.blocks[side];
      if (block < 0)
        continue;
      const int start = c.block_start[std::size_t(block)], size = c.block_start[std::size_t(block) + 1] - start;
      double *rows = c.J.data() + c.at[2 * k + side];
      if (row.stop >= 0) {
        if (const JointStop &stop = c.stops[std::size_t(row.stop)]; stop.dof < m.nv)
          rows[2 * size + stop.dof - start] = stop.sign;
        continue;
      }
      if (row.friction >= 0) {
        if (const std::int32_t dof = c.friction[std::size_t(row.friction)].dof; dof < m.nv)
          rows[dof - start] = 1.0;
        continue;
      }
      const ScenePoint &p = points[std::size_t(row.point)];
      if (row.turning != Turning::none) {
        const int rows_of_moment = row.last();
        const double *about = row.axes + (row.turning == Turning::spins ? 6 : 0);
        if (alone && responds_freely(c, block, prescribed)) {
          const int end = c.block[std::size_t(p.places[1])] == block ? 1 : 0;
          set_free_turns(c.free_blocks[std::size_t(block)], ws.X_W[p.places[end]], about, end ? 1.0 : -1.0,
                         rows_of_moment, rows, c.Y.data() + c.at[2 * k + side]);
          continue;
        }
        for (int end = 0; end < 2; ++end)
          if (c.block[std::size_t(p.places[end])] == block)
            add_turn_rows(m, ws, p.places[end], about, end ? 1.0 : -1.0, rows_of_moment, start, size, rows);
        continue;
      }
      if (alone && responds_freely(c, block, prescribed)) {
        const int end = c.block[std::size_t(p.places[1])] == block ? 1 : 0;
        set_free_rows<double>(c.free_blocks[std::size_t(block)], ws.X_W[p.places[end]], end ? p.on_second : p.on_first, row.axes,
                      end ? 1.0 : -1.0, rows, c.Y.data() + c.at[2 * k + side]);
        continue;
      }
      for (int end = 0; end < 2; ++end) // both ends, if they are in the same block
        if (c.block[std::size_t(p.places[end])] == block)
          add_point_rows<double>(m, ws, p.places[end], end ? p.on_second : p.on_first, row.axes, end ? 1.0 : -1.0, start, size,
                         rows);
    }
  }
}

// sides of the rows in the order of their blocks: `order` holds 2 row + side, `order_begin` where each block begins
static void sort_by_block(ContactSteps &c) {
  const std::size_t blocks = c.block_start.size() - 1;
  c.order_begin.assign(blocks + 1, 0);
  for (const std::int32_t block : c.row_blocks)
    if (block >= 0)
      ++c.order_begin[std::size_t(block) + 1];
  for (std::size_t k = 0; k < blocks; ++k)
    c.order_begin[k + 1] += c.order_begin[k];
  c.order.resize(std::size_t(c.order_begin[blocks]));
  c.order_next.assign(c.order_begin.begin(), c.order_begin.end() - 1);
  for (std::size_t side = 0; side < c.row_blocks.size(); ++side)
    if (const std::int32_t block = c.row_blocks[side]; block >= 0)
      c.order[std::size_t(c.order_next[std::size_t(block)]++)] = std::int32_t(side);
}

// Y of the rows of one tree, as many at once as a register holds
static void respond_in_tree(const ModelData &m, LoopWorkspace<double> &loops, const unsigned char *prescribed,
                            ContactSteps &c, std::size_t block) {
  const int start = c.block_start[block], size = c.block_start[block + 1] - start;
  std::int64_t lanes[W];
  int filled = 0;
  const auto flush = [&] {
    for (int e = 0; e < size; ++e)
      for (int l = 0; l < W; ++l) {
        const bool moves = l < filled && !(prescribed && prescribed[start + e]);
        loops.x[start + e].set(l, moves ? c.J[std::size_t(lanes[l] + e)] : 0.0);
      }
    solve(m, loops.ws, loops.side, loops.x, loops.x, c.block_first[block], c.block_last[block], prescribed);
    for (int l = 0; l < filled; ++l)
      for (int e = 0; e < size; ++e)
        c.Y[std::size_t(lanes[l] + e)] = prescribed && prescribed[start + e] ? 0.0 : loops.x[start + e][l];
    filled = 0;
  };
  for (std::int32_t k = c.order_begin[block]; k < c.order_begin[block + 1]; ++k) {
    const std::size_t side = std::size_t(c.order[std::size_t(k)]);
    const ContactRow &row = c.rows[side / 2];
    for (int e = row.first(); e < row.last(); ++e) {
      lanes[filled++] = c.at[side] + e * size;
      if (filled == W)
        flush();
    }
  }
  if (filled)
    flush();
}

void respond_to_contacts(const RunContext &i, ContactSteps &c, const std::vector<ScenePoint> &points, double t,
                         const double *q, bool factored) {
  const ModelData &m = i.m;
  LoopWorkspace<double> &loops = i.work.motion.system.loops;
  const unsigned char *prescribed = i.run.conditions.velocity_prescribed;
  lay_out_rows(c);
  fill_rows(m, loops.ws, c, points, prescribed, factored);
  if (!m.nc) {
    const auto is_tree = [&](std::int32_t block) {
      return block >= 0 && !(factored && responds_freely(c, block, prescribed));
    };
    if (std::none_of(c.row_blocks.begin(), c.row_blocks.end(), is_tree))
      return;
    const unsigned char *held = i.run.conditions.acceleration_prescribed;
    if (!factored || (prescribed != held && !(prescribed && held && std::equal(held, held + m.nv, prescribed)))) {
      const JointTerms<double> &terms = i.work.motion.system.joint_terms;
      if (factored && c.has_joint_terms)
        loops.ws.step_damping = terms.slopes, loops.ws.step_stiffness = terms.slopes + m.nv;
      factorize<double>(m, loops.ws, q, prescribed);
      loops.ws.step_damping = loops.ws.step_stiffness = nullptr;
    }
    sort_by_block(c);
    for (std::size_t block = 0; block + 1 < c.block_start.size(); ++block)
      if (c.order_begin[block] < c.order_begin[block + 1] && is_tree(std::int32_t(block)))
        respond_in_tree(m, loops, prescribed, c, block);
    return;
  }
  loops.ws.t = i.run.interval.clamp(t);
  evaluate_loop_constraints<double>(m, loops.ws, q, nullptr,
                                    {.values = loops.values,
                                     .leverage = loops.leverage,
                                     .opening = &loops.opening,
                                     .active = i.run.conditions.constraint_active,
                                     .held = i.run.conditions.cut_velocity_locked});
  if (c.has_cut_joints)
    fill_cut_rows(m, loops.ws, c);
  const Factored factors = factor_loops(m, loops, q, prescribed);
  for (std::size_t k = 0; k < c.rows.size(); ++k)
    for (int e = c.rows[k].first(); e < c.rows[k].last(); ++e) {
      const double *J = c.J.data() + c.at[2 * k] + e * m.nv;
      double *Y = c.Y.data() + c.at[2 * k] + e * m.nv, with_loops = 0.0;
      const double own = respond_to_row(m, loops, factors, prescribed, J, Y, i.work.motion.system.lambda);
      for (int f = 0; f < m.nv; ++f)
        with_loops += J[f] * Y[f];
      if (!(with_loops > immobile_response * own)) // at a dead point: no effort along the row moves anything
        std::fill_n(Y, m.nv, 0.0);
    }
}

void row_velocity(const ContactSteps &c, std::size_t row, const double *v, double u[3]) {
  u[0] = u[1] = u[2] = 0.0;
  for (std::size_t side = 0; side < 2; ++side) {
    const std::int32_t block = c.row_blocks[2 * row + side];
    if (block < 0)
      continue;
    const int start = c.block_start[std::size_t(block)], size = c.block_start[std::size_t(block) + 1] - start;
    const double *J = c.J.data() + c.at[2 * row + side];
    size == 6 ? add_block_velocity<6>(J, v + start, size, u) : add_block_velocity<0>(J, v + start, size, u);
  }
}

void add_response(const ContactSteps &c, std::size_t begin, std::size_t end, const double *lam, double *v) {
  for (std::size_t k = begin; k < end; ++k) {
    const double *impulse = lam + 3 * k;
    if (impulse[0] == 0.0 && impulse[1] == 0.0 && impulse[2] == 0.0)
      continue;
    for (std::size_t side = 0; side < 2; ++side) {
      const std::int32_t block = c.row_blocks[2 * k + side];
      if (block < 0)
        continue;
      const int start = c.block_start[std::size_t(block)], size = c.block_start[std::size_t(block) + 1] - start;
      const double *Y = c.Y.data() + c.at[2 * k + side];
      size == 6 ? add_block_impulse<6>(Y, impulse, size, v + start) : add_block_impulse<0>(Y, impulse, size, v + start);
    }
  }
}

} // namespace dalembert::DALEMBERT_ISA
