#include "constraints/coupling_rows.hpp"
#include "constraints/kinematic_chain.hpp"
#include "constraints/library.hpp"
#include "joints/registry.hpp"
#include "model/complete/parts.hpp"
#include <algorithm>
#include <bit>

namespace dalembert {

void complete_curves(const Tables &t, ModelData &m) {
  for (const CurveData &curve : t.curves)
    require(curve.first >= 0 && curve.count >= 1 &&
                std::size_t(curve.first) + std::size_t(curve.count) <= t.pieces.size() &&
                within(curve.degree, 1, curve_degree + 1),
            "a curve's pieces or degree are out of range");
  m.curves = pointer(t.curves);
  m.pieces = pointer(t.pieces);
}

// the first body of the tree that a body belongs to; 0 for ground
static std::int32_t root_of(const std::vector<BodyData> &bodies, std::int32_t body) {
  while (body && bodies[std::size_t(body)].parent)
    body = bodies[std::size_t(body)].parent;
  return body;
}

// the bodies between each end of a loop constraint and where the two ways to ground meet, outermost first
struct Ways {
  std::vector<std::int32_t> to_a, to_b;
};
Ways ways(const std::vector<BodyData> &bodies, std::int32_t a, std::int32_t b) {
  Ways found;
  while (a != b) { // parent < child: step back from whichever is further out until they meet
    std::int32_t &out = a > b ? a : b;
    (a > b ? found.to_a : found.to_b).push_back(out);
    out = bodies[std::size_t(out)].parent;
  }
  return found;
}

// adds what moves a loop constraint's ends against each other: the degrees of freedom on the two ways to ground, as far
// as they differ, and the modes of a flexible body if they part between its nodes. Returns that body, or 0.
static std::int32_t add_ways(Tables &t, const Ways &found) {
  const auto add = [&t](const std::vector<std::int32_t> &way, double sign) {
    for (const std::int32_t i : way)
      for (std::int32_t f = 0; f < t.bodies[std::size_t(i)].nv; ++f) {
        t.support.push_back(t.bodies[std::size_t(i)].v + f);
        t.support_factor.push_back(sign);
      }
  };
  add(found.to_b, 1.0);
  add(found.to_a, -1.0);
  for (const std::vector<std::int32_t> *way : {&found.to_a, &found.to_b})
    if (!way->empty() && t.bodies[std::size_t(way->back())].form == JointForm::node) {
      const std::int32_t meet = t.bodies[std::size_t(way->back())].parent;
      add({meet}, 1.0);
      return meet;
    }
  return 0;
}

static void note_constraint(const Tables &t, const ModelData &m, const LoopConstraintData &c) {
  const std::int32_t kinds = c.form == LoopConstraintForm::joint        ? DALEMBERT_ISA::JointLibrary::count
                             : c.form == LoopConstraintForm::constraint ? DALEMBERT_ISA::ConstraintLibrary::count
                                                                        : 1;
  require(within(std::int32_t(c.form), 0, std::int32_t(LoopConstraintForm::coupling) + 1) && within(c.kind, 0, kinds) &&
              within(c.body_a, 0, m.nb + 1) && within(c.body_b, 0, m.nb + 1) && within(c.rows, 0, 7) &&
              within(c.nq, 0, 8) && within(c.nv, 0, 7) && within(c.curve, -1, count_of(t.curves.size())),
          "a loop constraint's kind, body or size is out of range");
  require(!c.held || (c.nv > 0 && c.rows >= c.nv &&
                      (c.form == LoopConstraintForm::joint || c.form == LoopConstraintForm::chain ||
                       (c.form == LoopConstraintForm::constraint && c.rows == 1))),
          "only a joint or a rope can be held");
  require(c.form != LoopConstraintForm::custom || programs_fit(t.joints, c.program, 8 * c.rows, c.rows),
          "the programs of a custom constraint do not fit");
  require(c.form != LoopConstraintForm::chain ||
              (within(c.inner, 0, DALEMBERT_ISA::max_inner + 1) && c.start >= 0 && c.starts >= 1 &&
               std::size_t(c.start) + std::size_t(c.starts) * std::size_t(c.inner) <= t.inner_starts.size() &&
               programs_fit(t.joints, c.program, 12 + 6 * c.inner, 6)),
          "the programs of a chain do not fit");
}

// the trees that a loop constraint touches, and how many degrees of freedom they have
static std::int64_t add_trees(Tables &t, LoopConstraintData &constraint, const std::vector<std::int32_t> &ends) {
  std::int64_t reach = 0;
  for (const std::int32_t end : ends) {
    const std::int32_t root = root_of(t.bodies, end);
    if (!root || std::find(t.tree.begin() + constraint.tree, t.tree.end(), root) != t.tree.end())
      continue;
    t.tree.push_back(root);
    reach += t.bodies[std::size_t(root)].v_end - t.bodies[std::size_t(root)].v;
  }
  constraint.trees = count_of(t.tree.size()) - constraint.tree;
  return reach;
}

void complete_loop_constraints(Tables &t, ModelData &m, std::vector<std::int64_t> &way_lengths) {
  t.coupling_index.assign(t.coupling_terms.size(), 0);
  std::vector<std::int32_t> body_of(std::size_t(m.nv));
  for (std::int32_t i = 1; i <= m.nb; ++i)
    for (std::int32_t f = 0; f < t.bodies[std::size_t(i)].nv; ++f)
      body_of[std::size_t(t.bodies[std::size_t(i)].v + f)] = i;
  for (std::size_t k = 0; k < t.loop_constraints.size(); ++k) {
    LoopConstraintData &constraint = t.loop_constraints[k];
    note_constraint(t, m, constraint);
    constraint.row = m.nc;
    constraint.q = m.cut_nq, constraint.v = m.cut_nv;
    constraint.support = count_of(t.support.size());
    constraint.tree = count_of(t.tree.size());
    std::vector<std::int32_t> ends{constraint.body_a, constraint.body_b};
    way_lengths.push_back(0);
    if (constraint.form == LoopConstraintForm::coupling) {
      for (std::size_t j = 0; j < t.coupling_terms.size(); ++j) {
        const CouplingTermData &part = t.coupling_terms[j];
        if (part.constraint != count_of(k))
          continue;
        t.coupling_index[j] = count_of(t.support.size());
        require(within(part.dof, 0, m.nv) && (constraint.program >= 0 || t.coordinate[std::size_t(part.dof)] >= 0),
                "a coupled DOF has no coordinate of its own");
        t.support.push_back(part.dof);
        t.support_factor.push_back(part.factor);
        ends.push_back(body_of[std::size_t(part.dof)]);
      }
      const std::int32_t coupled = count_of(t.support.size()) - constraint.support;
      require(constraint.program < 0 || (constraint.rows == 1 && within(coupled, 1, DALEMBERT_ISA::max_coupled + 1) &&
                                         programs_fit(t.joints, constraint.program, coupled + 2, 1)),
              "the programs of a coupling do not fit");
    } else {
      const Ways found = ways(t.bodies, constraint.body_a, constraint.body_b);
      constraint.meet = add_ways(t, found);
      way_lengths.back() = std::int64_t(found.to_a.size() + found.to_b.size());
    }
    constraint.supports = count_of(t.support.size()) - constraint.support;
    const std::int64_t reach = add_trees(t, constraint, ends);
    constraint.values = m.values;
    constraint.reach = m.responses;
    m.nc += constraint.rows;
    m.cut_nq += constraint.nq, m.cut_nv += constraint.nv;
    m.values += std::int64_t(constraint.rows) * constraint.supports;
    m.responses += constraint.rows * reach;
  }
  m.loop_constraint_count = count_of(t.loop_constraints.size());
  m.loop_constraints = pointer(t.loop_constraints);
  m.support = pointer(t.support);
  m.support_factor = pointer(t.support_factor);
  m.tree = pointer(t.tree);
}

// an order of elimination of constraint rows, and the envelope that goes with it
static RowElimination order_rows(const Tables &t, const ModelData &m, const std::vector<std::int32_t> &rows,
                                 Tables::Order &order) {
  std::vector<std::int32_t> constraint_of(std::size_t(m.nc));
  for (std::int32_t k = 0; k < m.loop_constraint_count; ++k)
    for (std::int32_t j = 0; j < t.loop_constraints[std::size_t(k)].rows; ++j)
      constraint_of[std::size_t(t.loop_constraints[std::size_t(k)].row + j)] = k;
  order.start.push_back(0);
  std::vector<std::int32_t> earliest(std::size_t(m.nb) + 1, -1); // first place that moves each tree
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require(within(rows[i], 0, m.nc), "a constraint row is out of range");
    const std::int32_t k = constraint_of[std::size_t(rows[i])];
    std::int32_t first = count_of(i);
    const LoopConstraintData &constraint = t.loop_constraints[std::size_t(k)];
    for (std::int32_t tree = constraint.tree; tree < constraint.tree + constraint.trees; ++tree) {
      std::int32_t &place = earliest[std::size_t(t.tree[std::size_t(tree)])];
      if (place < 0)
        place = count_of(i);
      first = std::min(first, place);
    }
    order.row.push_back(rows[i]);
    order.constraint.push_back(k);
    order.first.push_back(first);
    order.start.push_back(order.start.back() + std::int64_t(i) - first + 1);
  }
  return {count_of(order.row.size()), order.row.data(), order.constraint.data(), order.first.data(),
          order.start.data()};
}

void complete_rows(Tables &t, ModelData &m, const std::vector<std::int64_t> &way_lengths) {
  const std::size_t nc = std::size_t(m.nc);
  if (t.all_rows.empty()) {
    for (std::int32_t i = 0; i < m.nc; ++i)
      t.all_rows.push_back(i);
    t.independent_rows = t.all_rows;
  }
  require(t.all_rows.size() == nc && t.independent_rows.size() <= nc, "the rows do not fit the model");
  m.all_rows = order_rows(t, m, t.all_rows, t.all);
  m.independent_rows = order_rows(t, m, t.independent_rows, t.independent);
  t.is_independent.assign(nc, 0);
  for (const std::int32_t row : t.independent_rows)
    t.is_independent[std::size_t(row)] = 1;
  m.independent = pointer(t.is_independent);
  for (std::int32_t k = 0; k < m.loop_constraint_count; ++k)
    t.constraint_of_row.insert(t.constraint_of_row.end(), std::size_t(t.loop_constraints[std::size_t(k)].rows), k);
  m.constraint_of_row = pointer(t.constraint_of_row);
  m.spare_rows = m.nc - count_of(t.independent_rows.size());
  for (std::int32_t k = 0; k < m.loop_constraint_count; ++k)
    for (std::int32_t j = t.loop_constraints[std::size_t(k)].row;
         j < t.loop_constraints[std::size_t(k)].row + t.loop_constraints[std::size_t(k)].rows; ++j)
      m.spare_loads += t.is_independent[std::size_t(j)] ? 0 : 1 + way_lengths[std::size_t(k)];
  require(t.holonomic.empty() || t.holonomic.size() == nc, "the marks of rows do not fit");
  t.is_holonomic.assign(nc, 1);
  for (std::size_t i = 0; i < t.holonomic.size(); ++i)
    t.is_holonomic[i] = t.holonomic[i] != 0;
  m.holonomic = pointer(t.is_holonomic);
  t.row_scale.resize(nc, 1.0);
  t.column_scale.resize(std::size_t(m.nv), 1.0);
  m.row_scale = pointer(t.row_scale);
  m.column_scale = pointer(t.column_scale);
  m.length = t.length.empty() ? 1.0 : t.length[0];
}

} // namespace dalembert
