#include "constraints/kinematic_chain.hpp"
#include "joints/registry.hpp"
#include "constraints/library.hpp"
#include "constraints/coupling_rows.hpp"
#include "flexible/low_rank_modes.hpp"
#include "model/program_order.hpp"
#include "model/switching_plan.hpp"
#include "model/tables.hpp"
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace dalembert {

namespace {

[[noreturn]] void refuse(const char *what) { throw std::invalid_argument(what); }

void mind(bool fits, const char *what) {
  if (!fits)
    refuse(what);
}

std::int32_t count_of(std::size_t n) { return std::int32_t(n); }

bool within(std::int64_t value, std::int64_t low, std::int64_t high) { return value >= low && value < high; }

template <class T> const T *pointer(const std::vector<T> &v) { return v.empty() ? nullptr : v.data(); }

// ---- programs

// every operation works on results before it
void note_program(const ProgramRows &rows, const ProgramData &program, std::int32_t inputs, std::int32_t tables) {
  mind(program.first >= 0 && program.count >= 0 && program.output >= 0 && program.outputs >= 0 &&
           std::size_t(program.first) + std::size_t(program.count) <= rows.instructions.size() &&
           std::size_t(program.output) + std::size_t(program.outputs) <= rows.outputs.size() && program.outputs <= max_law_outputs,
       "a program is out of range");
  for (std::int32_t i = 0; i < program.count; ++i) {
    const Instruction &step = rows.instructions[std::size_t(program.first + i)];
    mind(within(std::int32_t(step.operation), 0, std::int32_t(Operation::floor) + 1), "an operation is unknown");
    const bool looks_up = step.operation == Operation::lookup;
    const std::int32_t limit = step.operation == Operation::constant ? count_of(rows.constants.size())
                               : step.operation == Operation::input  ? inputs
                                                                     : i;
    mind(within(std::abs(step.branch) % follow_branch, 0, 3 * program.count + 1) && (step.operation != Operation::input || !step.branch), "a threshold is out of range");
    mind(!looks_up || within(step.a, 0, tables), "a program looks up a table that there is not");
    for (const std::int32_t place : {looks_up ? 0 : step.a, step.b, step.c, step.d})
      mind(place >= 0 && (!place || place < limit), "an operation refers to something out of range");
  }
  for (std::int32_t i = program.output; i < program.output + program.outputs; ++i)
    mind(within(rows.outputs[std::size_t(i)], 0, program.count), "a result of a program is out of range");
}

ProgramTable complete_programs(ProgramRows &rows, std::int32_t inputs, const std::vector<TableData> &tables, const std::vector<LawShape> &laws) {
  for (const ProgramData &program : rows.programs)
    note_program(rows, program, inputs, count_of(tables.size()));
  order_programs(rows, tables, laws);
  ProgramTable table{pointer(rows.programs), pointer(rows.instructions), pointer(rows.constants), pointer(rows.outputs), 0};
  for (const ProgramData &program : rows.programs)
    table.max_values = std::max(table.max_values, program.inputs + program.constants + program.count);
  return table;
}

// programs `at` and `at + 1` give as many results as they should
bool programs_fit(const ProgramRows &rows, std::int32_t at, std::int32_t first, std::int32_t second) {
  return at >= 0 && std::size_t(at) + 1 < rows.programs.size() && rows.programs[std::size_t(at)].outputs == first &&
         rows.programs[std::size_t(at) + 1].outputs == second;
}

// ---- bodies

void complete_modal(Tables &t, ModelData &m) {
  for (ModalData &body : t.modal) {
    const std::int64_t n = body.modes;
    const std::int64_t needed = 10 + 12 * n + n * n + n * (body.second ? 15 : 12) * ((n + 7) / 8 * 8) + (body.source ? 18 * n + 24 * n * n + 4 * n * n * n : 0);
    mind(n >= 1 && body.table >= 0 && body.table + needed <= std::int64_t(t.modal_numbers.size()), "the integrals of a flexible body are out of range");
    mind(body.elastic >= 0 && body.elastic + 2 * n * n <= std::int64_t(t.modal_numbers.size()), "the stiffness of a flexible body is out of range");
    body.rank = 0;
    body.loads = m.modal_loads, body.squares = m.modal_squares, body.factors = m.modal_factors;
    m.modal_loads += n;
    m.modal_squares += n * n;
    m.modal_factors += n * (n - 1) / 2;
    m.max_modes = std::max(m.max_modes, body.modes);
  }
  m.modal_count = count_of(t.modal.size());
  m.modal = pointer(t.modal);
  m.modal_numbers = pointer(t.modal_numbers);
}

// modes that are orthogonal in mass and carry little beside their number are eliminated by flexible/low_rank_modes.hpp, from
// where it was measured to be ahead
void find_low_ranks(Tables &t, ModelData &m) {
  std::vector<std::int32_t> carrying(t.modal.size(), 0);
  for (std::size_t i = 1; i < t.bodies.size(); ++i) {
    BodyData &b = t.bodies[i];
    if (b.form == JointForm::node && std::size_t(b.last) != i)
      b.ordinal = carrying[std::size_t(b.modal)]++;
  }
  for (const BodyData &b : t.bodies) {
    if (b.form != JointForm::modal)
      continue;
    ModalData &body = t.modal[std::size_t(b.modal)];
    const std::int32_t n = body.modes, rank = 6 * carrying[std::size_t(b.modal)] + (b.moves ? 12 : 0);
    const double *G = DALEMBERT_ISA::modal_tables(m, body).G;
    bool diagonal = true;
    for (std::int32_t k = 0; diagonal && k < n * n; ++k)
      diagonal = k % (n + 1) == 0 || G[k] == 0.0;
    if (!diagonal || !rank || rank > DALEMBERT_ISA::max_low_rank || 5 * rank >= 2 * n)
      continue;
    body.rank = rank;
    if (4 * rank >= n) { // factors of 2 n rank numbers do not fit where the dense ones would stand
      body.factors = m.modal_factors;
      m.modal_factors += 2 * n * rank;
    }
  }
}

// of a modal body or a node: which flexible body, and where its shapes stand; `moves` says whether its frame moves with them
void place_flexible(const Tables &t, const ModelData &m, BodyData &b) {
  mind(within(b.modal, 0, m.modal_count) && b.parent > 0, "a flexible body is out of range");
  const ModalData &body = t.modal[std::size_t(b.modal)];
  const std::int64_t n = body.modes, needed = 3 + 6 * n + (body.second ? 6 * n * n : 0);
  mind(b.shape >= 0 && b.shape + needed <= std::int64_t(t.modal_numbers.size()), "the shapes of a node are out of range");
  b.moves = b.moves ? body.modes : 0;
  if (b.form == JointForm::modal) {
    b.nq = b.nv = body.modes;
    return;
  }
  const BodyData &frame = t.bodies[std::size_t(b.parent)];
  mind(frame.form == JointForm::modal && frame.modal == b.modal, "a node is not on its body");
  b.nq = b.nv = 0;
  b.by = frame.v;
}

// sizes, form and series of the hinge that carries a body
void complete_joint(const Tables &t, ModelData &m, BodyData &b) {
  if (b.form == JointForm::modal || b.form == JointForm::node)
    return place_flexible(t, m, b);
  if (b.form == JointForm::custom) {
    b.nq = b.nv;
    b.series = MotionMapDependence::forward;
    mind(within(b.nv, 1, 7) && programs_fit(t.joints, b.program, 12 + 6 * b.nv, 6), "the programs of a custom hinge do not fit");
    ++m.custom_joints;
  } else {
    mind(within(b.kind, 0, DALEMBERT_ISA::JointLibrary::count), "a hinge is not in the library");
    DALEMBERT_ISA::JointLibrary::visit(b.kind, [&](auto joint) {
      using H = decltype(joint);
      b.nq = H::nq, b.nv = H::nv, b.form = H::form, b.series = H::series;
    });
  }
  b.moves = b.nv;
}

void complete_bodies(Tables &t, ModelData &m) {
  t.bodies.insert(t.bodies.begin(), BodyData{});
  const std::size_t n = t.bodies.size() - 1;
  std::vector<std::int32_t> depth(n + 1, 0);
  for (std::size_t i = 1; i <= n; ++i) {
    BodyData &b = t.bodies[i];
    mind(within(b.parent, 0, std::int64_t(i)), "a parent is out of range");
    mind(b.user >= 0 && b.joint >= 0 && b.owner >= 1 && std::max({b.user, b.owner, b.joint}) <= count_of(n), "a body's number is out of range");
    m.users = std::max(m.users, b.user);
    b.q = m.nq;
    b.v = b.by = m.nv;
    b.H = m.columns;
    complete_joint(t, m, b);
    m.columns += b.moves;
    m.nq += b.nq;
    m.nv += b.nv;
    depth[i] = depth[std::size_t(b.parent)] + 1;
    m.depth = std::max(m.depth, depth[i]);
  }
  // a subtree is a range because the numbering is depth first
  for (std::size_t i = n; i > 0; --i) {
    BodyData &b = t.bodies[i], &parent = t.bodies[std::size_t(b.parent)];
    b.v_end = std::max(b.v_end, b.v + b.nv);
    b.last = std::max(b.last, count_of(i));
    parent.v_end = std::max(parent.v_end, b.v_end);
    parent.last = std::max(parent.last, b.last);
  }
  m.nb = count_of(n);
  m.bodies = t.bodies.data();
  mind(t.markers.size() == std::size_t(m.users), "every body needs the second marker of its hinge");
  for (const JointMarkerData &marker : t.markers)
    mind(within(marker.place, 1, m.nb + 1) && within(marker.body, 0, m.nb + 1), "a marker is out of range");
  m.markers = pointer(t.markers);
  t.coordinate.assign(std::size_t(m.nv), -1);
  for (std::size_t i = 1; i <= n; ++i)
    for (std::int32_t f = 0; t.bodies[i].nq == t.bodies[i].nv && f < t.bodies[i].nv; ++f)
      t.coordinate[std::size_t(t.bodies[i].v + f)] = t.bodies[i].q + f;
  m.coordinate = pointer(t.coordinate);
}

void complete_armature(Tables &t, ModelData &m) {
  if (t.armature.empty())
    return;
  mind(t.armature.size() == std::size_t(m.nv), "the armatures do not fit the freedoms");
  for (BodyData &b : t.bodies)
    for (std::int32_t f = b.v; f < b.v + b.nv; ++f)
      b.armature |= t.armature[std::size_t(f)] != 0.0;
  m.armature = t.armature.data();
}

void complete_lent(Tables &t, ModelData &m) {
  if (t.lent.empty())
    return;
  mind(t.lent.size() == std::size_t(m.nv), "the inertias that are lent do not fit the freedoms");
  for (BodyData &b : t.bodies)
    for (std::int32_t f = b.v; f < b.v + b.nv; ++f)
      b.lent |= t.lent[std::size_t(f)] != 0.0;
  m.lent = t.lent.data();
}

// ---- closures

void complete_curves(const Tables &t, ModelData &m) {
  for (const CurveData &curve : t.curves)
    mind(curve.first >= 0 && curve.count >= 1 && std::size_t(curve.first) + std::size_t(curve.count) <= t.pieces.size() &&
             within(curve.degree, 1, curve_degree + 1),
         "a curve's pieces or degree are out of range");
  m.curves = pointer(t.curves);
  m.pieces = pointer(t.pieces);
}

// the first body of the tree that a body belongs to; 0 for ground
std::int32_t root_of(const std::vector<BodyData> &bodies, std::int32_t body) {
  while (body && bodies[std::size_t(body)].parent)
    body = bodies[std::size_t(body)].parent;
  return body;
}

// the bodies between each end of a chord and where the two ways to ground meet, outermost first
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

// adds what moves a chord's ends against each other: the freedoms on the two ways to ground, as far as they differ, and
// the modes of a flexible body if they part between its nodes. Returns that body, or 0.
std::int32_t add_ways(Tables &t, const Ways &found) {
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

void note_constraint(const Tables &t, const ModelData &m, const LoopConstraintData &c) {
  const std::int32_t kinds = c.form == LoopConstraintForm::joint        ? DALEMBERT_ISA::JointLibrary::count
                             : c.form == LoopConstraintForm::constraint ? DALEMBERT_ISA::ConstraintLibrary::count
                                                               : 1;
  mind(within(std::int32_t(c.form), 0, std::int32_t(LoopConstraintForm::coupling) + 1) && within(c.kind, 0, kinds) && within(c.body_a, 0, m.nb + 1) &&
           within(c.body_b, 0, m.nb + 1) && within(c.rows, 0, 7) && within(c.nq, 0, 8) && within(c.nv, 0, 7) &&
           within(c.curve, -1, count_of(t.curves.size())),
       "a chord's kind, body or size is out of range");
  mind(!c.held || (c.nv > 0 && c.rows >= c.nv && (c.form == LoopConstraintForm::joint || c.form == LoopConstraintForm::chain || (c.form == LoopConstraintForm::constraint && c.rows == 1))),
       "only a hinge or a rope can be held");
  mind(c.form != LoopConstraintForm::custom || programs_fit(t.joints, c.program, 8 * c.rows, c.rows), "the programs of a custom constraint do not fit");
  mind(c.form != LoopConstraintForm::chain || (within(c.inner, 0, DALEMBERT_ISA::max_inner + 1) && c.start >= 0 && c.starts >= 1 &&
                                      std::size_t(c.start) + std::size_t(c.starts) * std::size_t(c.inner) <= t.inner_starts.size() &&
                                      programs_fit(t.joints, c.program, 12 + 6 * c.inner, 6)),
       "the programs of a chain do not fit");
}

// the trees that a chord touches, and how many freedoms they have
std::int64_t add_trees(Tables &t, LoopConstraintData &constraint, const std::vector<std::int32_t> &ends) {
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
  t.coupled_place.assign(t.coupled.size(), 0);
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
      for (std::size_t j = 0; j < t.coupled.size(); ++j) {
        const CouplingTermData &part = t.coupled[j];
        if (part.constraint != count_of(k))
          continue;
        t.coupled_place[j] = count_of(t.support.size());
        mind(within(part.dof, 0, m.nv) && (constraint.program >= 0 || t.coordinate[std::size_t(part.dof)] >= 0),
             "a coupled freedom has no coordinate of its own");
        t.support.push_back(part.dof);
        t.support_factor.push_back(part.factor);
        ends.push_back(body_of[std::size_t(part.dof)]);
      }
      const std::int32_t coupled = count_of(t.support.size()) - constraint.support;
      mind(constraint.program < 0 || (constraint.rows == 1 && within(coupled, 1, DALEMBERT_ISA::max_coupled + 1) &&
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
RowElimination order_rows(const Tables &t, const ModelData &m, const std::vector<std::int32_t> &rows, Tables::Order &order) {
  std::vector<std::int32_t> constraint_of(std::size_t(m.nc));
  for (std::int32_t k = 0; k < m.loop_constraint_count; ++k)
    for (std::int32_t j = 0; j < t.loop_constraints[std::size_t(k)].rows; ++j)
      constraint_of[std::size_t(t.loop_constraints[std::size_t(k)].row + j)] = k;
  order.start.push_back(0);
  std::vector<std::int32_t> earliest(std::size_t(m.nb) + 1, -1); // first place that moves each tree
  for (std::size_t i = 0; i < rows.size(); ++i) {
    mind(within(rows[i], 0, m.nc), "a constraint row is out of range");
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
  return {count_of(order.row.size()), order.row.data(), order.constraint.data(), order.first.data(), order.start.data()};
}

void complete_rows(Tables &t, ModelData &m, const std::vector<std::int64_t> &way_lengths) {
  const std::size_t nc = std::size_t(m.nc);
  if (t.all_rows.empty()) {
    for (std::int32_t i = 0; i < m.nc; ++i)
      t.all_rows.push_back(i);
    t.lean_rows = t.all_rows;
  }
  mind(t.all_rows.size() == nc && t.lean_rows.size() <= nc, "the rows do not fit the model");
  m.all_rows = order_rows(t, m, t.all_rows, t.all);
  m.lean_rows = order_rows(t, m, t.lean_rows, t.lean);
  t.is_lean.assign(nc, 0);
  for (const std::int32_t row : t.lean_rows)
    t.is_lean[std::size_t(row)] = 1;
  m.lean = pointer(t.is_lean);
  m.spare_rows = m.nc - count_of(t.lean_rows.size());
  for (std::int32_t k = 0; k < m.loop_constraint_count; ++k)
    for (std::int32_t j = t.loop_constraints[std::size_t(k)].row; j < t.loop_constraints[std::size_t(k)].row + t.loop_constraints[std::size_t(k)].rows; ++j)
      m.spare_loads += t.is_lean[std::size_t(j)] ? 0 : 1 + way_lengths[std::size_t(k)];
  mind(t.holonomic.empty() || t.holonomic.size() == nc, "the marks of rows do not fit");
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

// ---- laws and elements

void complete_laws(Tables &t, ModelData &m) {
  for (LawData &law : t.laws) {
    mind(within(std::int32_t(law.kind), 0, std::int32_t(LawKind::hosted) + 1), "a law is of no kind");
    if (law.kind == LawKind::hosted)
      law.first = m.hosted_laws++;
    else
      mind(within(law.first, 0, count_of(t.law_numbers.size())), "the numbers of a law are out of range");
  }
  m.laws = pointer(t.laws);
  m.law_numbers = pointer(t.law_numbers);
  const std::int32_t laws = count_of(t.laws.size());
  for (const DriveData &drive : t.drives)
    mind(within(drive.row, -1, m.nc) && within(drive.dof, -1, m.nv) && within(drive.coordinate, -1, m.nq) && within(drive.law, 0, laws) &&
             within(drive.level, 0, 3) && (drive.turns == 0 || drive.turns == 3 || drive.turns == 4) && (drive.moves == 0 || drive.moves == 3) &&
             drive.law + drive.turns + drive.moves <= laws + (drive.turns == 0) && within(drive.axes[0], 0, 3) && within(drive.axes[1], 0, 3) &&
             within(drive.axes[2], 0, 3) && (!drive.turns || (drive.row < 0 && drive.dof + 3 + drive.moves <= m.nv &&
             drive.coordinate + 4 + drive.moves <= m.nq && drive.level == 0)),
         "a drive refers to something out of range");
  m.drives = pointer(t.drives);
  m.drive_count = count_of(t.drives.size());
  m.parameter_count = count_of(t.parameters.size());
}

void complete_tables(Tables &t, ModelData &m) {
  for (const TableData &table : t.tables) {
    mind(within(table.variables, 1, 4) && within(table.degree, 1, 4) && within(std::int32_t(table.beyond), 0, 4), "a table is out of range");
    std::int64_t size = 1, knots = 0;
    for (int j = 0; j < table.variables; ++j) {
      mind(within(table.cells[j], 1, 1 << 24), "a table is out of range");
      size *= std::int64_t(table.cells[j]) * (table.degree + 1);
      knots += table.cells[j] + 1;
    }
    mind(table.first >= 0 && table.first + knots + size <= std::int64_t(t.table_numbers.size()), "a table is out of range");
  }
  find_table_breaks(t, m);
  m.tables = pointer(t.tables);
  m.table_numbers = pointer(t.table_numbers);
}

int measures_of(Measure measure) {
  return measure == Measure::joint || measure == Measure::distance ? 1 : measure == Measure::place ? 3 : 6;
}

void complete_ports(const Tables &t, ModelData &m) {
  for (const PortData &port : t.ports) {
    const bool known = within(std::int32_t(port.measure), 0, std::int32_t(Measure::load_body) + 1) && within(port.body_a, 0, m.nb + 1) &&
                       within(port.body_b, 0, m.nb + 1) && within(port.coordinate, -1, m.nq) && within(port.constraint, -1, m.loop_constraint_count);
    const bool joint = port.measure != Measure::joint ||
                       (known && (port.constraint < 0 ? within(port.dof, 0, m.nv) : within(port.part, 0, t.loop_constraints[std::size_t(port.constraint)].nv)));
    mind(known && joint, "a port refers to something out of range");
    mind(within(port.actuator, 0, count_of(t.actuators.size()) + 1), "a port refers to something out of range");
    m.looks_at_bodies |= port.measure != Measure::joint || port.constraint >= 0;
  }
  for (const ActuatorData &actuator : t.actuators)
    mind(within(actuator.port, 0, count_of(t.ports.size())) && t.ports[std::size_t(actuator.port)].measure == Measure::joint && actuator.bound >= 0.0,
         "an actuator needs a port at a hinge");
  m.actuators = pointer(t.actuators);
  m.actuator_count = count_of(t.actuators.size());
  m.ports = pointer(t.ports);
  m.port_count = count_of(t.ports.size());
}

void complete_element(const Tables &t, const ModelData &m, ElementData &e) {
  const std::int32_t ports = m.port_count, inputs = count_of(t.inputs.size()), programs = count_of(t.laws_of_elements.programs.size());
  mind(within(e.ports, 0, max_ports + 1) && e.port >= 0 && e.port + e.ports <= ports, "an element's ports are out of range");
  mind(e.state >= 0 && e.states >= 0 && e.state + e.states <= m.nx && e.input >= 0 && e.inputs >= 0 && e.input + e.inputs <= inputs &&
           e.parameter >= 0 && e.parameters >= 0 && e.parameter + e.parameters <= m.parameter_count && within(e.unknowns, 0, max_unknowns + 1) &&
           within(std::int32_t(e.form), 0, std::int32_t(LawForm::bushing) + 1) && e.law >= 0 && (e.form != LawForm::program || e.law < programs),
       "an element refers to something out of range");
  e.measures = 0;
  for (std::int32_t j = e.port; j < e.port + e.ports; ++j)
    e.measures += measures_of(t.ports[std::size_t(j)].measure);
  const std::int32_t takes = 1 + 2 * e.measures + e.states + e.parameters + e.inputs + e.unknowns, gives = e.measures + e.states + 1 + e.signals;
  mind(takes <= max_law_inputs && gives <= max_law_outputs, "a law takes or gives too many numbers");
  mind(e.form != LawForm::linear || (e.measures == 1 && e.parameters == 3), "a linear law has one measure and three parameters");
  mind(e.form != LawForm::limits || (e.measures == 1 && e.parameters == 4), "limits have one measure and four parameters");
  mind(e.form != LawForm::dry || (within(e.measures, 1, max_ports + 1) && e.parameters == 2 * e.measures + 2 && (!e.inputs || e.inputs == e.measures)),
       "dry friction has two parameters for each measure and two more, and a load for each or none");
  mind(e.form != LawForm::bushing || (e.measures == 6 && e.parameters == std::popcount(std::uint32_t(e.law) & 0xfffu)), "a bushing has six measures and as many parameters as bits");
  mind(e.form != LawForm::given || e.inputs == e.measures, "forces that are given need an input each");
  const std::int32_t results = e.unknowns ? gives + e.unknowns * (e.unknowns + 2) : gives;
  mind(e.form != LawForm::program || t.laws_of_elements.programs[std::size_t(e.law)].outputs >= results, "the program of an element gives too little");
}

void complete_programs_of_laws(Tables &t, ModelData &m) {
  std::vector<LawShape> shapes;
  for (const ElementData &e : t.elements)
    if (e.form == LawForm::program)
      shapes.push_back({e.law, e.measures, e.states, e.signals, 1 + 2 * e.measures + e.states + e.parameters + e.inputs, e.unknowns});
  m.programs = complete_programs(t.laws_of_elements, max_law_inputs, t.tables, shapes);
  for (const ElementData &e : t.elements)
    for (std::int32_t k = 0, first = 1; k < e.ports; ++k) {
      PortData &port = t.ports[std::size_t(e.port + k)];
      port.turns |= e.form != LawForm::program;
      for (std::int32_t i = first + 3; port.measure == Measure::pose && i < first + 6; ++i)
        port.turns = port.turns || takes(t.laws_of_elements, t.tables, t.laws_of_elements.programs[std::size_t(e.law)], i);
      first += measures_of(port.measure);
    }
}

void complete_elements(Tables &t, ModelData &m) {
  complete_ports(t, m);
  for (const ElementData &e : t.elements)
    m.nx += e.states, m.signal_count += e.signals;
  const std::int32_t connections = connection_count(m);
  for (const FeedbackData &feedback : t.feedbacks)
    mind(within(feedback.connection, 0, connections) && within(feedback.part, 0, 6), "a transmitted load is out of range");
  m.feedbacks = pointer(t.feedbacks);
  m.feedback_count = count_of(t.feedbacks.size());
  const std::int32_t limits[] = {count_of(t.laws.size()), m.port_count, m.nx, m.signal_count, m.feedback_count};
  for (InputData &input : t.inputs) {
    mind(within(std::int32_t(input.source), 0, std::int32_t(Source::feedback) + 1) && within(input.place, 0, limits[std::int32_t(input.source)]) &&
             within(input.part, 0, 12),
         "an input refers to something out of range");
    if (input.source == Source::law)
      input.part = m.input_count++;
  }
  m.inputs = pointer(t.inputs);
  m.taken_count = count_of(t.inputs.size());
  std::int32_t signals = 0;
  for (ElementData &e : t.elements) {
    complete_element(t, m, e);
    e.signal = signals;
    signals += e.signals;
    e.measured = m.measure_count;
    m.measure_count += e.measures;
  }
  complete_programs_of_laws(t, m);
  find_switching_functions(t, m);
  find_watched(t, m);
  m.elements = pointer(t.elements);
  m.element_count = count_of(t.elements.size());
}

// ---- own numbers

void note_row(const Tables &t, const ModelData &m, const PoseMap &recipe) {
  std::int64_t size = 0;
  switch (recipe.target) {
  case PoseTarget::joint:
  case PoseTarget::body:
    size = m.nb + 1;
    break;
  case PoseTarget::constraint_a:
  case PoseTarget::constraint_b:
  case PoseTarget::constraint_marker:
    size = m.loop_constraint_count;
    break;
  case PoseTarget::port_a:
  case PoseTarget::port_b:
    size = m.port_count;
    break;
  case PoseTarget::marker:
    size = std::int64_t(t.markers.size());
    break;
  }
  mind(within(recipe.row, 0, size), "a recipe refers to something out of range");
}

std::int64_t rows_of(const ModelData &m, ScalarTarget target) {
  switch (target) {
  case ScalarTarget::pitch:
    return m.nb + 1;
  case ScalarTarget::armature:
    return m.armature ? m.nv : 0;
  case ScalarTarget::constraint:
    return m.loop_constraint_count;
  case ScalarTarget::coupled:
    return m.support_count;
  case ScalarTarget::law:
    return m.law_number_count;
  case ScalarTarget::offset:
    return m.drive_count;
  case ScalarTarget::elastic:
    return std::int64_t(DALEMBERT_ISA::elastic_count(m));
  case ScalarTarget::joint:
    return m.joint_constant_count;
  case ScalarTarget::gravity:
    return 3;
  }
  return 0;
}

void complete_recipes(Tables &t, ModelData &m) {
  m.law_number_count = std::int64_t(t.law_numbers.size());
  m.support_count = std::int64_t(t.support.size());
  m.modal_number_count = std::int64_t(t.modal_numbers.size());
  m.joint_constant_count = std::int64_t(t.joints.constants.size());
  const std::int32_t numbers = count_of(t.numbers.size()), markers = count_of(t.marker_recipes.size());
  if (!numbers)
    return;
  const char *const wrong = "a recipe refers to something out of range";
  for (const MarkerMap &recipe : t.marker_recipes)
    mind(recipe.number == -1 || within(recipe.number, 0, numbers - 5), wrong);
  mind(count_of(t.frame_recipes.size()) == m.users, "there is one frame for each body");
  for (const FrameMap &recipe : t.frame_recipes)
    mind(within(recipe.marker, 0, markers), wrong);
  for (const InertiaMap &recipe : t.inertia_recipes)
    mind(within(recipe.body, 1, m.nb + 1) && within(recipe.user, 1, m.users + 1) && within(recipe.number, 0, numbers - 9), wrong);
  for (const PoseMap &recipe : t.pose_recipes) {
    mind(within(recipe.marker, -1, markers) && within(recipe.base, -1, m.users + 1), wrong);
    note_row(t, m, recipe);
  }
  for (ScalarMap &recipe : t.scalar_recipes) {
    if (recipe.target == ScalarTarget::coupled) { // rows of the coupled coordinates stand among the supports
      mind(within(recipe.row, 0, count_of(t.coupled.size())), wrong);
      recipe.row = t.coupled_place[std::size_t(recipe.row)];
    }
    if (recipe.target == ScalarTarget::joint) { // constants have moved since programs were put in order
      mind(within(recipe.row, 0, count_of(t.joints.moved.size())) && t.joints.moved[std::size_t(recipe.row)] >= 0, wrong);
      recipe.row = t.joints.moved[std::size_t(recipe.row)];
    }
    mind(within(recipe.number, 0, numbers) && within(recipe.second, -1, numbers) && within(recipe.row, 0, rows_of(m, recipe.target)), wrong);
  }
  m.recipes = {numbers, markers, count_of(t.inertia_recipes.size()), count_of(t.pose_recipes.size()), count_of(t.scalar_recipes.size()),
               t.numbers.data(), t.numbers.data(), pointer(t.marker_recipes), pointer(t.frame_recipes), pointer(t.inertia_recipes), pointer(t.pose_recipes),
               pointer(t.scalar_recipes)};
}

} // namespace

ModelData complete(Tables &t) {
  ModelData m{};
  mind(t.gravity.size() == 3, "gravity has three components");
  std::copy(t.gravity.begin(), t.gravity.end(), m.gravity);
  complete_curves(t, m);
  complete_tables(t, m);
  m.joints = complete_programs(t.joints, 64, t.tables, {});
  m.inner_starts = pointer(t.inner_starts);
  complete_modal(t, m);
  complete_bodies(t, m);
  find_low_ranks(t, m);
  complete_armature(t, m);
  complete_lent(t, m);
  std::vector<std::int64_t> way_lengths;
  complete_loop_constraints(t, m, way_lengths);
  complete_rows(t, m, way_lengths);
  complete_laws(t, m);
  complete_elements(t, m);
  complete_fronts(t, m);
  complete_recipes(t, m);
  return m;
}

} // namespace dalembert
