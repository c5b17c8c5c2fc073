#include "build.hpp"
#include <algorithm>
#include <cstring>
#include <vector>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

struct HingeSize {
  int nq, nv;
};
// those of a custom hinge are given, those of a modal body are its modes; a node has none
constexpr HingeSize hinge_sizes[hinge_kinds] = {{0, 0}, {1, 1}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, {3, 3},
                                                {3, 3}, {4, 3}, {4, 3}, {7, 6}, {7, 6}, {0, 0}, {0, 0}, {0, 0}};

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
  // parent < child: step back from whichever is further out until they meet
  while (a != b) {
    if (a > b) {
      found.to_a.push_back(a);
      a = bodies[std::size_t(a)].parent;
    } else {
      found.to_b.push_back(b);
      b = bodies[std::size_t(b)].parent;
    }
  }
  return found;
}

// adds what moves a chord's ends against each other: the freedoms on the two ways to ground, as far as they differ, and
// the modes of a flexible body if they part between its nodes. Returns that body, or 0.
std::int32_t add_ways(BoundModel &model, std::int32_t a, std::int32_t b) {
  const auto add = [&model](const std::vector<std::int32_t> &way, double sign) {
    for (const std::int32_t i : way)
      for (std::int32_t f = 0; f < model.bodies[std::size_t(i)].nv; ++f) {
        model.support.push_back(model.bodies[std::size_t(i)].v + f);
        model.support_factor.push_back(sign);
      }
  };
  const Ways found = ways(model.bodies, a, b);
  add(found.to_b, 1.0);
  add(found.to_a, -1.0);
  for (const std::vector<std::int32_t> *way : {&found.to_a, &found.to_b})
    if (!way->empty() && model.bodies[std::size_t(way->back())].kind == Hinge::node) {
      const std::int32_t meet = model.bodies[std::size_t(way->back())].parent;
      add({meet}, 1.0);
      return meet;
    }
  return 0;
}

// curve rows: first piece, number of pieces, degree, closed; piece rows: coefficients (18), centre (3), radius
void build_curves(BoundModel &model, const Doubles &pieces, const Integers &curves) {
  constexpr std::size_t width = 22, codes_width = 4;
  static_assert(sizeof(CurvePiece) == width * sizeof(double) && sizeof(CurveData) == codes_width * sizeof(std::int32_t));
  if (pieces.ndim() != 2 || curves.ndim() != 2 || pieces.shape(1) != width || curves.shape(1) != codes_width)
    throw nb::value_error("the arrays of the curves disagree in shape");
  model.pieces.resize(pieces.shape(0));
  if (pieces.size())
    std::memcpy(model.pieces.data(), pieces.data(), pieces.size() * sizeof(double));
  model.curves.resize(curves.shape(0));
  if (curves.size())
    std::memcpy(model.curves.data(), curves.data(), curves.size() * sizeof(std::int32_t));
  for (const CurveData &curve : model.curves)
    if (curve.first < 0 || curve.count < 1 || std::size_t(curve.first) + std::size_t(curve.count) > model.pieces.size() ||
        curve.degree < 1 || curve.degree > curve_degree)
      throw nb::value_error("a curve's pieces or degree are out of range");
  model.data.curves = model.curves.data();
  model.data.pieces = model.pieces.data();
}

// program rows: first count output outputs; instruction rows: operation a b c d
void build_joint_programs(BoundModel &model, const Integers &programs, const Integers &instructions, const Doubles &constants, const Integers &outputs) {
  BoundModel::Programs &joints = model.joints;
  if (programs.size() % 4 || instructions.size() % 5)
    throw nb::value_error("the arrays of the programs of joints disagree in shape");
  joints.constants.assign(constants.data(), constants.data() + constants.size());
  joints.outputs.assign(outputs.data(), outputs.data() + outputs.size());
  for (std::size_t k = 0; k < instructions.size() / 5; ++k) {
    const std::int32_t *row = instructions.data() + 5 * k;
    if (row[0] < 0 || row[0] > std::int32_t(Operation::less))
      throw nb::value_error("an operation is unknown");
    joints.instructions.push_back({static_cast<Operation>(row[0]), row[1], row[2], row[3], row[4]});
  }
  ProgramTable &table = model.data.joints;
  for (std::size_t k = 0; k < programs.size() / 4; ++k) {
    const std::int32_t *row = programs.data() + 4 * k;
    if (row[0] < 0 || row[1] < 0 || std::size_t(row[0]) + std::size_t(row[1]) > joints.instructions.size() || row[2] < 0 || row[3] < 0 ||
        std::size_t(row[2]) + std::size_t(row[3]) > joints.outputs.size())
      throw nb::value_error("a program of a joint is out of range");
    for (std::int32_t i = 0; i < row[1]; ++i) { // every operation works on results before it
      const Instruction &step = joints.instructions[std::size_t(row[0] + i)];
      const std::int32_t limit = step.operation == Operation::constant ? std::int32_t(constants.size()) : step.operation == Operation::input ? 64 : i;
      for (const std::int32_t place : {step.a, step.b, step.c, step.d})
        if (place < 0 || (place && place >= limit))
          throw nb::value_error("an operation of a joint refers to something out of range");
    }
    for (std::int32_t i = row[2]; i < row[2] + row[3]; ++i)
      if (joints.outputs[std::size_t(i)] < 0 || joints.outputs[std::size_t(i)] >= row[1])
        throw nb::value_error("a result of a joint's program is out of range");
    joints.programs.push_back({row[0], row[1], row[2], row[3]});
    table.most_values = std::max(table.most_values, row[1]);
  }
  table.programs = joints.programs.data();
  table.instructions = joints.instructions.data();
  table.constants = joints.constants.data();
  table.outputs = joints.outputs.data();
}

// programs `at` and `at + 1` of the joints give as many results as they should
bool programs_fit(const BoundModel &model, std::int32_t at, std::int32_t first, std::int32_t second) {
  const std::vector<ProgramData> &programs = model.joints.programs;
  return at >= 0 && std::size_t(at) + 1 < programs.size() && programs[std::size_t(at)].outputs == first &&
         programs[std::size_t(at) + 1].outputs == second;
}

// chord rows: R_FA (9) p_FA (3) R_FB (9) p_FB (3) parameter; integer rows: kind body_a body_b rows, first and number of
// the freedoms that a coupling couples, curve, program, inner coordinates of a chain, where its starts begin, their number
void build_chords(BoundModel &model, const Doubles &numbers, const Integers &integers, const Integers &freedoms, const Doubles &factors) {
  constexpr std::size_t width = 25, codes_width = 11;
  if (numbers.ndim() != 2 || integers.ndim() != 2 || numbers.shape(1) != width || integers.shape(1) != codes_width ||
      numbers.shape(0) != integers.shape(0) || freedoms.size() != factors.size())
    throw nb::value_error("the arrays of the chords disagree in shape");
  ModelData &m = model.data;
  model.coordinate.assign(std::size_t(m.nv), -1);
  std::vector<std::int32_t> body_of(std::size_t(m.nv));
  for (std::int32_t i = 1; i <= m.nb; ++i) {
    const BodyData &b = model.bodies[std::size_t(i)];
    for (std::int32_t f = 0; f < b.nv; ++f) {
      body_of[std::size_t(b.v + f)] = i;
      if (b.nq == b.nv)
        model.coordinate[std::size_t(b.v + f)] = b.q + f;
    }
  }
  for (std::size_t k = 0; k < numbers.shape(0); ++k) {
    const double *row = numbers.data() + k * width;
    const std::int32_t *codes = integers.data() + k * codes_width;
    const bool kind_known = codes[0] >= 0 && (codes[0] <= std::int32_t(Closure::free) || codes[0] >= std::int32_t(Closure::distance)) &&
                            codes[0] <= std::int32_t(Closure::chain);
    const bool curved = codes[0] >= std::int32_t(Closure::point_on_curve) && codes[0] <= std::int32_t(Closure::cam_rolling);
    if (!kind_known || codes[1] < 0 || codes[1] > m.nb || codes[2] < 0 ||
        codes[2] > m.nb || codes[3] < 0 || codes[3] > 6 || codes[4] < 0 || codes[5] < 0 ||
        std::size_t(codes[4]) + std::size_t(codes[5]) > freedoms.size() ||
        (curved && (codes[6] < 0 || std::size_t(codes[6]) >= model.curves.size())))
      throw nb::value_error("a chord's kind, body or size is out of range");
    ChordData chord{};
    chord.kind = static_cast<Closure>(codes[0]);
    chord.body_a = codes[1];
    chord.body_b = codes[2];
    std::memcpy(chord.R_FA, row, sizeof chord.R_FA);
    std::memcpy(chord.p_FA, row + 9, sizeof chord.p_FA);
    std::memcpy(chord.R_FB, row + 12, sizeof chord.R_FB);
    std::memcpy(chord.p_FB, row + 21, sizeof chord.p_FB);
    chord.parameter = row[24];
    chord.curve = codes[6];
    chord.program = codes[7], chord.inner = codes[8], chord.start = codes[9], chord.starts = codes[10];
    const std::int32_t inner = chord.inner;
    if (chord.kind == Closure::custom && !programs_fit(model, chord.program, 8 * codes[3], codes[3]))
      throw nb::value_error("the programs of a custom constraint do not fit");
    if (chord.kind == Closure::chain &&
        (inner < 0 || inner > 24 || chord.start < 0 || chord.starts < 1 ||
         std::size_t(chord.start) + std::size_t(chord.starts) * std::size_t(inner) > model.inner_starts.size() ||
         !programs_fit(model, chord.program, 12 + 6 * inner, 6)))
      throw nb::value_error("the programs of a chain do not fit");
    chord.row = m.nc;
    chord.rows = codes[3];
    chord.support = std::int32_t(model.support.size());
    chord.tree = std::int32_t(model.tree.size());
    std::vector<std::int32_t> ends{chord.body_a, chord.body_b};
    if (chord.kind == Closure::coupling) {
      for (std::int32_t s = codes[4]; s < codes[4] + codes[5]; ++s) {
        const std::int32_t f = freedoms.data()[s];
        if (f < 0 || f >= m.nv || model.coordinate[std::size_t(f)] < 0)
          throw nb::value_error("a coupled freedom has no coordinate of its own");
        model.support.push_back(f);
        model.support_factor.push_back(factors.data()[s]);
        ends.push_back(body_of[std::size_t(f)]);
      }
    } else {
      chord.meet = add_ways(model, chord.body_a, chord.body_b);
    }
    chord.supports = std::int32_t(model.support.size()) - chord.support;
    std::int64_t reach = 0;
    for (const std::int32_t end : ends) {
      const std::int32_t root = root_of(model.bodies, end);
      if (!root || std::find(model.tree.begin() + chord.tree, model.tree.end(), root) != model.tree.end())
        continue;
      model.tree.push_back(root);
      reach += model.bodies[std::size_t(root)].v_end - model.bodies[std::size_t(root)].v;
    }
    chord.trees = std::int32_t(model.tree.size()) - chord.tree;
    chord.values = m.values;
    chord.reach = m.responses;
    m.nc += chord.rows;
    m.values += std::int64_t(chord.rows) * chord.supports;
    m.responses += chord.rows * reach;
    model.chords.push_back(chord);
  }
  m.chord_count = std::int32_t(model.chords.size());
  m.chords = model.chords.data();
  m.support = model.support.data();
  m.support_factor = model.support_factor.data();
  m.tree = model.tree.data();
  m.coordinate = model.coordinate.data();
  model.holonomic.assign(std::size_t(m.nc), 1);
  m.holonomic = model.holonomic.data();
}

// an order of elimination of constraint rows, and the envelope that goes with it
RowOrder order_rows(const BoundModel &model, const Integers &rows, BoundModel::Order &order) {
  const ModelData &m = model.data;
  std::vector<std::int32_t> chord_of(std::size_t(m.nc));
  for (std::int32_t k = 0; k < m.chord_count; ++k)
    for (std::int32_t j = 0; j < model.chords[std::size_t(k)].rows; ++j)
      chord_of[std::size_t(model.chords[std::size_t(k)].row + j)] = k;
  order = {};
  order.start.push_back(0);
  std::vector<std::int32_t> earliest(std::size_t(m.nb) + 1, -1); // first place that moves each tree
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int32_t row = rows.data()[i];
    if (row < 0 || row >= m.nc)
      throw nb::value_error("a constraint row is out of range");
    const std::int32_t k = chord_of[std::size_t(row)];
    std::int32_t first = std::int32_t(i);
    const ChordData &chord = model.chords[std::size_t(k)];
    for (std::int32_t t = chord.tree; t < chord.tree + chord.trees; ++t) {
      std::int32_t &place = earliest[std::size_t(model.tree[std::size_t(t)])];
      if (place < 0)
        place = std::int32_t(i);
      first = place < first ? place : first;
    }
    order.row.push_back(row);
    order.chord.push_back(k);
    order.first.push_back(first);
    order.start.push_back(order.start.back() + std::int64_t(i) - first + 1);
  }
  return {std::int32_t(order.row.size()), order.row.data(), order.chord.data(), order.first.data(), order.start.data()};
}

} // namespace

void settle_rows(BoundModel &model, const Integers &all, const Integers &lean) {
  if (all.size() != std::size_t(model.data.nc) || lean.size() > all.size())
    throw nb::value_error("the rows do not fit the model");
  model.data.all_rows = order_rows(model, all, model.all_rows);
  model.data.lean_rows = order_rows(model, lean, model.lean_rows);
}

// force rows: R_FA (9) p_FA (3) R_FB (9) p_FB (3); integer rows: kind body_a body_b freedom coordinate parameter law
// drive rows: offset; integer rows: row freedom coordinate law level cosine
// law integer rows: kind first count degree
void set_forces(BoundModel &model, const Doubles &force_numbers, const Integers &force_integers, const Doubles &drive_numbers,
                const Integers &drive_integers, const Doubles &law_numbers, const Integers &law_integers, const Doubles &parameters,
                const Integers &holonomic) {
  constexpr std::size_t width = 24, codes_width = 7, drive_width = 6, law_width = 4;
  ModelData &m = model.data;
  if (force_numbers.size() / width * width != force_numbers.size() || force_integers.size() / codes_width != force_numbers.size() / width ||
      drive_integers.size() != drive_numbers.size() * drive_width || law_integers.size() % law_width ||
      holonomic.size() != std::size_t(m.nc))
    throw nb::value_error("the arrays of forces and drives disagree in shape");
  const std::int32_t laws = std::int32_t(law_integers.size() / law_width);
  const auto within = [](std::int32_t value, std::int32_t low, std::int32_t high) {
    if (value < low || value >= high)
      throw nb::value_error("a force, drive or law refers to something out of range");
    return value;
  };
  model.laws.clear();
  m.hosted_laws = 0;
  for (std::int32_t k = 0; k < laws; ++k) {
    const std::int32_t *codes = law_integers.data() + std::size_t(k) * law_width;
    LawData law{static_cast<LawKind>(within(codes[0], 0, std::int32_t(LawKind::hosted) + 1)), codes[1], codes[2], codes[3]};
    if (law.kind == LawKind::hosted)
      law.first = m.hosted_laws++;
    else
      within(law.first, 0, std::int32_t(law_numbers.size()));
    model.laws.push_back(law);
  }
  model.forces.clear();
  for (std::size_t k = 0; k < force_numbers.size() / width; ++k) {
    const double *row = force_numbers.data() + k * width;
    const std::int32_t *codes = force_integers.data() + k * codes_width;
    ForceData force{};
    force.kind = static_cast<Force>(within(codes[0], 0, std::int32_t(Force::slide) + 1));
    force.body_a = within(codes[1], 0, m.nb + 1);
    force.body_b = within(codes[2], 0, m.nb + 1);
    std::memcpy(force.R_FA, row, sizeof force.R_FA);
    std::memcpy(force.p_FA, row + 9, sizeof force.p_FA);
    std::memcpy(force.R_FB, row + 12, sizeof force.R_FB);
    std::memcpy(force.p_FB, row + 21, sizeof force.p_FB);
    force.freedom = within(codes[3], -1, m.nv);
    force.coordinate = within(codes[4], -1, m.nq);
    force.parameter = within(codes[5], 0, std::int32_t(parameters.size()) + 1);
    force.law = within(codes[6], -1, laws);
    model.forces.push_back(force);
  }
  model.drives.clear();
  for (std::size_t k = 0; k < drive_numbers.size(); ++k) {
    const std::int32_t *codes = drive_integers.data() + k * drive_width;
    model.drives.push_back({within(codes[0], -1, m.nc), within(codes[1], -1, m.nv), within(codes[2], -1, m.nq), within(codes[3], 0, laws),
                            within(codes[4], 0, 3), codes[5], drive_numbers.data()[k]});
  }
  model.law_numbers.assign(law_numbers.data(), law_numbers.data() + law_numbers.size());
  model.parameters.assign(parameters.data(), parameters.data() + parameters.size());
  for (std::size_t k = 0; k < holonomic.size(); ++k)
    model.holonomic[k] = holonomic.data()[k] != 0;
  m.force_count = std::int32_t(model.forces.size());
  m.drive_count = std::int32_t(model.drives.size());
  m.parameter_count = std::int32_t(model.parameters.size());
  m.forces = model.forces.data();
  m.drives = model.drives.data();
  m.laws = model.laws.data();
  m.law_numbers = model.law_numbers.data();
}

// flexible rows: modes, order zero, second, source, place of the integrals among the numbers
void build_modal(BoundModel &model, const Doubles &numbers, const Integers &rows) {
  constexpr std::size_t width = 5;
  if (rows.size() % width)
    throw nb::value_error("the arrays of the flexible bodies disagree in shape");
  ModelData &m = model.data;
  model.modal_numbers.assign(numbers.data(), numbers.data() + numbers.size());
  for (std::size_t k = 0; k < rows.size() / width; ++k) {
    const std::int32_t *row = rows.data() + k * width;
    ModalData body{row[0], row[1], row[2], row[3], row[4], m.modal_loads, m.modal_squares, m.modal_factors};
    const std::int64_t n = body.modes;
    const std::int64_t needed = 10 + 12 * n + 12 * n * n + (body.second ? 3 * n * n : 0) + (body.source ? 18 * n + 24 * n * n + 4 * n * n * n : 0);
    if (n < 1 || body.table < 0 || body.table + needed > std::int64_t(numbers.size()))
      throw nb::value_error("the integrals of a flexible body are out of range");
    m.modal_loads += n;
    m.modal_squares += n * n;
    m.modal_factors += n * (n - 1) / 2;
    model.modal.push_back(body);
  }
  m.modal_count = std::int32_t(model.modal.size());
  m.modal = model.modal.data();
  m.modal_numbers = model.modal_numbers.data();
}

// of a modal body or a node: which flexible body, and where its shapes stand
void place_flexible(const BoundModel &model, BodyData &b, const std::int32_t *codes) {
  b.modal = codes[6];
  b.shape = codes[7];
  if (b.modal < 0 || b.modal >= model.data.modal_count || !b.parent)
    throw nb::value_error("a flexible body is out of range");
  const ModalData &body = model.modal[std::size_t(b.modal)];
  const std::int64_t n = body.modes, needed = 3 + 6 * n + (body.second ? 3 * n * n : 0);
  if (b.shape < 0 || b.shape + needed > std::int64_t(model.modal_numbers.size()))
    throw nb::value_error("the shapes of a node are out of range");
  if (b.kind == Hinge::modal) {
    b.nq = b.nv = body.modes;
    b.moves = codes[8] ? 0 : body.modes;
    return;
  }
  const BodyData &frame = model.bodies[std::size_t(b.parent)];
  if (frame.kind != Hinge::modal || frame.modal != b.modal)
    throw nb::value_error("a node is not on its body");
  b.moves = body.modes;
  b.by = frame.v;
}

// body rows: R_PJ (9) p_PJ (3) mass h (3) J (6) R_FB (9) p_FB (3) pitch; integer rows: kind parent reversed user owner
// hinge, of flexible bodies which, place of the shapes, clamped, of custom hinges program, freedoms
void build(BoundModel *self, Doubles numbers, Integers integers, Doubles gravity, Doubles chord_numbers, Integers chord_integers,
           Integers coupled, Doubles factors, Doubles pieces, Integers curves, Integers programs, Integers instructions, Doubles constants,
           Integers outputs, Doubles inner_starts, Doubles modal_numbers, Integers modal_integers) {
  constexpr std::size_t width = 35, codes_width = 11;
  if (numbers.ndim() != 2 || integers.ndim() != 2 || numbers.shape(1) != width || integers.shape(1) != codes_width ||
      numbers.shape(0) != integers.shape(0) || gravity.size() != 3)
    throw nb::value_error("the arrays of a model disagree in shape");
  new (self) BoundModel();
  BoundModel &model = *self;
  const std::size_t nb_ = numbers.shape(0);
  model.bodies.resize(nb_ + 1);
  model.bodies[0] = BodyData{};
  ModelData &m = model.data;
  build_joint_programs(model, programs, instructions, constants, outputs);
  model.inner_starts.assign(inner_starts.data(), inner_starts.data() + inner_starts.size());
  m.inner_starts = model.inner_starts.data();
  build_modal(model, modal_numbers, modal_integers);
  std::vector<std::int32_t> depth(nb_ + 1, 0);
  for (std::size_t i = 1; i <= nb_; ++i) {
    const double *row = numbers.data() + (i - 1) * width;
    const std::int32_t *codes = integers.data() + (i - 1) * codes_width;
    if (codes[0] < 0 || codes[0] >= hinge_kinds || codes[1] < 0 || codes[1] >= std::int32_t(i))
      throw nb::value_error("a hinge kind or a parent is out of range");
    BodyData &b = model.bodies[i];
    std::memcpy(b.R_PJ, row, sizeof b.R_PJ);
    std::memcpy(b.p_PJ, row + 9, sizeof b.p_PJ);
    b.mass = row[12];
    std::memcpy(b.h, row + 13, sizeof b.h);
    std::memcpy(b.J, row + 16, sizeof b.J);
    std::memcpy(b.R_FB, row + 22, sizeof b.R_FB);
    std::memcpy(b.p_FB, row + 31, sizeof b.p_FB);
    b.pitch = row[34];
    b.kind = static_cast<Hinge>(codes[0]);
    b.parent = codes[1];
    b.reversed = codes[2];
    b.nq = hinge_sizes[codes[0]].nq;
    b.nv = hinge_sizes[codes[0]].nv;
    b.user = codes[3], b.owner = codes[4], b.hinge = codes[5];
    if (std::max({b.user, b.owner, b.hinge}) > std::int32_t(nb_) || std::min({b.user, b.hinge}) < 0 || b.owner < 1)
      throw nb::value_error("a body's number is out of range");
    m.users = std::max(m.users, b.user);
    if (b.kind == Hinge::custom) {
      b.program = codes[9];
      b.nq = b.nv = codes[10];
      if (b.nv < 1 || b.nv > 6 || !programs_fit(model, b.program, 12 + 6 * b.nv, 6))
        throw nb::value_error("the programs of a custom hinge do not fit");
      ++m.custom_hinges;
    }
    b.q = m.nq;
    b.v = b.by = m.nv;
    b.H = m.columns;
    b.moves = b.nv;
    if (b.kind == Hinge::modal || b.kind == Hinge::node)
      place_flexible(model, b, codes);
    m.columns += b.moves;
    if (b.nq != b.nv)
      model.attitudes = true;
    m.nq += b.nq;
    m.nv += b.nv;
    depth[i] = depth[std::size_t(b.parent)] + 1;
    m.depth = depth[i] > m.depth ? depth[i] : m.depth;
  }
  // a subtree is a range because the numbering is depth first
  for (std::size_t i = nb_; i > 0; --i) {
    BodyData &b = model.bodies[i];
    b.v_end = b.v_end > b.v + b.nv ? b.v_end : b.v + b.nv;
    b.last = b.last > std::int32_t(i) ? b.last : std::int32_t(i);
    BodyData &parent = model.bodies[std::size_t(b.parent)];
    parent.v_end = parent.v_end > b.v_end ? parent.v_end : b.v_end;
    parent.last = parent.last > b.last ? parent.last : b.last;
  }
  m.nb = std::int32_t(nb_);
  m.bodies = model.bodies.data();
  std::memcpy(m.gravity, gravity.data(), sizeof m.gravity);
  build_curves(model, pieces, curves);
  build_chords(model, chord_numbers, chord_integers, coupled, factors);
}

} // namespace dalembert::bind
