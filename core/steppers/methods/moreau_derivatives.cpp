#include "steppers/methods/moreau_derivatives.hpp"
#include "contact/contact_motion.hpp"
#include "steppers/methods/moreau_part.hpp"
#include "tree/chart.hpp"
#include <algorithm>
#include <utility>

namespace dalembert::DALEMBERT_ISA {

namespace {

// central differences of smooth functions: truncation and rounding are about 1e-10
constexpr double position_step = 1e-5;  // rad or m
constexpr double velocity_step = 4e-6;  // of the largest velocity, or of 1
constexpr double time_step = 1e-3;      // of a step: parts may be as short as rounding

} // namespace

void ContactStep::keep_part(double t, double h) {
  ContactPart &part = c.parts.emplace_back();
  part.step = i.run.t, part.t = t, part.h = h;
  part.q = c.q, part.v = c.v, part.x = c.x, part.q1 = c.q, part.rows = c.rows;
  part.lowered = false;
  const std::size_t n = c.rows.size();
  part.separation.assign(n, 0.0);
  part.lam.assign(c.lam.begin(), c.lam.begin() + std::ptrdiff_t(n ? 3 * n : 0));
  part.bound.assign(c.mu.begin(), c.mu.begin() + std::ptrdiff_t(n));
  part.swept = n > std::size_t(c.dense_points);
  for (std::size_t k = 0; k < n; ++k) {
    ContactRow &row = part.rows[k];
    const bool is_closed = !(h > 0.0) || row.gap <= closed();
    part.kind.push_back(!is_closed ? (h > 0.0 ? 2 : 0) : row.approach < -impact_speed() ? 1 : 0);
    const double asked = row.stop >= 0 ? c.stops[std::size_t(row.stop)].restitution
                         : row.point >= 0
                             ? c.scene->materials()[std::size_t((*points)[std::size_t(row.point)].material)].restitution
                             : 0.0;
    part.lowered = part.lowered || (part.kind.back() == 1 && row.restitution < asked);
    if (row.point < 0)
      continue;
    part.points.push_back((*points)[std::size_t(row.point)]);
    row.point = std::int32_t(part.points.size()) - 1;
  }
}

void ContactStep::keep_end() {
  ContactPart &part = c.parts.back();
  part.q1.assign(i.work.q1, i.work.q1 + m.nq);
  for (std::size_t k = 0; separated && k < part.rows.size(); ++k)
    part.separation[k] = c.lam[3 * k + 2];
}

void ContactStep::place_rows(const ContactPart &part, const double *q, std::vector<ScenePoint> &placed) {
  move_bodies(i, c, q, c.free.data());
  c.rows = part.rows, placed = part.points;
  double rates[rates_of_point];
  for (ContactRow &row : c.rows) {
    if (row.point >= 0) {
      ScenePoint &p = placed[std::size_t(row.point)];
      const ClosedPoint named = closed_point(*c.scene, part.points[std::size_t(row.point)]);
      place_point(frames(), c, named, p, rates, row.axes);
      row.gap = p.gap;
    } else if (row.stop >= 0) {
      row.gap = stop_gap(m, c, c.stops[std::size_t(row.stop)], q);
    }
  }
}

Outcome ContactStep::evaluate(const ContactPart &part, double t, double h, const double *q, const double *v, const double *x,
                 PartSlopes &to, double *out) {
  c.q.assign(q, q + m.nq), c.v.assign(v, v + m.nv), c.x.assign(x, x + m.nx);
  if (part.h > 0.0) {
    if (const Outcome outcome = free_motion(t, h); outcome != Outcome::reached)
      return outcome;
  } else {
    c.before = c.free = c.v;
    copy(q, m.nq, qm);
  }
  place_rows(part, qm, to.placed);
  const std::size_t n = c.rows.size();
  if (n)
    respond_to_contacts(i, c, to.placed, t + 0.5 * h, qm, part.h > 0.0);
  double *rows = out + 2 * m.nv + m.nx;
  for (std::size_t k = 0; k < n; ++k)
    row_velocity(c, k, c.before.data(), rows + row_outputs * k + 3);
  add_response(c, 0, n, part.lam.data(), c.free.data());
  c.displacement.assign(std::size_t(m.nv), 0.0);
  c.change.assign(3 * n, 0.0);
  for (std::size_t k = 0; k < n; ++k)
    c.change[3 * k + 2] = part.separation[k];
  add_response(c, 0, n, c.change.data(), c.displacement.data());
  for (std::size_t k = 0; k < n; ++k, rows += row_outputs) {
    double moved[3];
    row_velocity(c, k, c.free.data(), rows), row_velocity(c, k, c.displacement.data(), moved);
    rows[6] = c.rows[k].gap, rows[7] = c.rows[k].gap + 0.5 * h * rows[2] + moved[2];
  }
  to.middle.assign(qm, qm + m.nq);
  return end(part, t, h, to, out);
}

Outcome ContactStep::end(const ContactPart &part, double t, double h, const PartSlopes &to, double *out) {
  double *q1 = i.work.q1, *v1 = i.work.v1, *x1 = i.work.x1;
  copy(to.middle.data(), m.nq, qm);
  if (part.h > 0.0) {
    Outcome outcome = move_on_to(t, h, q1, v1, x1);
    if (outcome != Outcome::reached)
      return outcome;
    if (!part.rows.empty())
      separate(h, q1, v1);
    outcome = project_onto_constraints(i, t + h, q1, v1);
    if (outcome != Outcome::reached)
      return outcome;
  } else {
    copy(qm, m.nq, q1), copy(c.free.data(), m.nv, v1), copy(c.x.data(), m.nx, x1);
  }
  difference<double>(m, part.q1.data(), q1, out);
  copy(v1, m.nv, out + m.nv), copy(x1, m.nx, out + 2 * m.nv);
  return Outcome::reached;
}

void ContactStep::fill_responses(PartSlopes &to) {
  const std::size_t n = c.rows.size(), nv = std::size_t(m.nv);
  to.Y.assign(3 * n * nv, 0.0), to.D.assign(9 * n * n, 0.0);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t side = 0; side < 2; ++side) {
      const std::int32_t block = c.row_blocks[2 * k + side];
      if (block < 0)
        continue;
      const std::size_t start = std::size_t(c.block_start[std::size_t(block)]),
                        size = std::size_t(c.block_start[std::size_t(block) + 1]) - start;
      for (std::size_t e = 0; e < 3; ++e)
        for (std::size_t f = 0; f < size; ++f)
          to.Y[(3 * k + e) * nv + start + f] += c.Y[std::size_t(c.at[2 * k + side]) + e * size + f];
    }
  for (std::size_t j = 0; j < 3 * n; ++j)
    for (std::size_t k = 0; k < n; ++k) {
      double u[3];
      row_velocity(c, k, to.Y.data() + j * nv, u);
      for (std::size_t e = 0; e < 3; ++e)
        to.D[(3 * k + e) * 3 * n + j] = u[e];
    }
}

Outcome ContactStep::differentiate(const ContactPart &part, PartSlopes &to) {
  const std::size_t nv = std::size_t(m.nv), nx = std::size_t(m.nx), states = 2 * nv + nx,
                    rows = states + row_outputs * part.rows.size(), columns = states + 2;
  to.nominal.resize(rows), to.by_begin.assign(rows * columns, 0.0), to.by_end.assign(states * 2 * nv, 0.0);
  to.up.resize(rows), to.down.resize(rows), to.q.resize(std::size_t(m.nq));
  const auto evaluate_at = [&](std::size_t column, double change, std::vector<double> &out) {
    double t = part.t, h = part.h;
    to.v = part.v, to.x = part.x, to.q = part.q;
    if (column < nv) {
      to.change.assign(nv, 0.0), to.change[column] = change;
      integrate<double>(m, part.q.data(), to.change.data(), to.q.data());
    } else if (column < 2 * nv) {
      to.v[column - nv] += change;
    } else if (column < states) {
      to.x[column - 2 * nv] += change;
    } else {
      (column == states ? h : t) += change;
    }
    return evaluate(part, t, h, to.q.data(), to.v.data(), to.x.data(), to, out.data());
  };
  for (std::size_t column = 0; column < (part.h > 0.0 ? columns : states); ++column) {
    const double step = difference_step(part, column, nv, states);
    for (const double sign : {1.0, -1.0})
      if (const Outcome outcome = evaluate_at(column, sign * step, sign > 0.0 ? to.up : to.down);
          outcome != Outcome::reached)
        return outcome;
    for (std::size_t row = 0; row < rows; ++row)
      to.by_begin[row * columns + column] = (to.up[row] - to.down[row]) / (2.0 * step);
  }
  const Outcome outcome = evaluate_at(0, 0.0, to.nominal);
  if (outcome != Outcome::reached || part.rows.empty())
    return outcome;
  fill_responses(to);
  return differentiate_end(part, to);
}

double ContactStep::difference_step(const ContactPart &part, std::size_t column, std::size_t nv, std::size_t states) const {
  double size = 1.0;
  if (column < nv) {
    return position_step;
  } else if (column < 2 * nv) {
    for (const double each : part.v)
      size = std::max(size, std::abs(each));
    return velocity_step * size;
  } else if (column < states) {
    return velocity_step * std::max(1.0, std::abs(part.x[column - 2 * nv]));
  }
  return time_step * i.run.fixed_step;
}

Outcome ContactStep::differentiate_end(const ContactPart &part, PartSlopes &to) {
  const std::size_t nv = std::size_t(m.nv), states = 2 * nv + std::size_t(m.nx);
  const std::vector<double> free = c.free, displacement = c.displacement;
  double size = 1.0;
  for (const double each : free)
    size = std::max(size, std::abs(each));
  for (std::size_t column = 0; column < 2 * nv; ++column) {
    const double step = column < nv ? velocity_step * size : position_step;
    for (const double sign : {1.0, -1.0}) {
      c.free = free, c.displacement = displacement;
      (column < nv ? c.free[column] : c.displacement[column - nv]) += sign * step;
      if (const Outcome outcome = end(part, part.t, part.h, to, (sign > 0.0 ? to.up : to.down).data());
          outcome != Outcome::reached)
        return outcome;
    }
    for (std::size_t row = 0; row < states; ++row)
      to.by_end[row * 2 * nv + column] = (to.up[row] - to.down[row]) / (2.0 * step);
  }
  return Outcome::reached;
}

namespace {

template <class F> Outcome with_part(const ModelData &m, Run &run, std::byte *memory, const ContactPart &part, F &&f) {
  RunWorkspace work;
  const RunContext i{m, run, work, memory + lay_out(m, memory, work)};
  ContactSteps &c = *run.contacts;
  if (c.block_start.empty())
    find_blocks(m, c);
  const SmoothInterval interval = run.interval;
  const double *branches = std::exchange(run.conditions.law_branches, nullptr);
  run.interval = SmoothInterval::around(run.discontinuities, part.t + 0.5 * part.h);
  const Outcome outcome = f(ContactStep(i));
  run.interval = interval, run.conditions.law_branches = branches;
  return outcome;
}

Outcome part_outputs(const ModelData &m, Run &run, std::byte *memory, const ContactPart &part, PartSlopes &to) {
  to.nominal.assign(2 * std::size_t(m.nv) + std::size_t(m.nx) + row_outputs * part.rows.size(), 0.0);
  return with_part(m, run, memory, part, [&](ContactStep step) {
    return step.evaluate(part, part.t, part.h, part.q.data(), part.v.data(), part.x.data(), to, to.nominal.data());
  });
}

Outcome part_slopes(const ModelData &m, Run &run, std::byte *memory, const ContactPart &part, PartSlopes &to) {
  return with_part(m, run, memory, part, [&](ContactStep step) { return step.differentiate(part, to); });
}

} // namespace

extern const ContactPartSet contact_parts;
const ContactPartSet contact_parts{part_outputs, part_slopes};

} // namespace dalembert::DALEMBERT_ISA
