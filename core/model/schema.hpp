// The contract of the tables with Python: their rows field by field, and the numbers behind names. One list, from which
// the border of each language is made.
#pragma once

#include "model/tables.hpp"
#include <type_traits>
#include <utility>

namespace dalembert {

struct Field {
  const char *name;
  char type; // d: double, i: 32-bit integer, q: 64-bit integer
  std::size_t count, offset;
};

template <class S, class M> inline Field field(const char *name, M S::*member) {
  using Number = std::remove_all_extents_t<M>;
  static_assert(std::is_same_v<Number, double> || sizeof(Number) == 4 || std::is_same_v<Number, std::int64_t>);
  static const S sample{};
  const auto offset = reinterpret_cast<const char *>(&(sample.*member)) - reinterpret_cast<const char *>(&sample);
  const char type = std::is_same_v<Number, double> ? 'd' : sizeof(Number) == 4 ? 'i' : 'q';
  return {name, type, sizeof(M) / sizeof(Number), std::size_t(offset)};
}

// Fields that are filled in; what follows from others is not among them.
template <class S> std::vector<Field> fields();

template <> inline std::vector<Field> fields<BodyData>() {
  using S = BodyData;
  return {field("R_PJ", &S::R_PJ),     field("p_PJ", &S::p_PJ),
          field("mass", &S::mass),     field("h", &S::h),
          field("J", &S::J),           field("R_FB", &S::R_FB),
          field("p_FB", &S::p_FB),     field("pitch", &S::pitch),
          field("kind", &S::kind),     field("form", &S::form),
          field("parent", &S::parent), field("reversed", &S::reversed),
          field("nv", &S::nv),         field("program", &S::program),
          field("user", &S::user),     field("owner", &S::owner),
          field("joint", &S::joint),   field("modal", &S::modal),
          field("shape", &S::shape),   field("moves", &S::moves)};
}
template <> inline std::vector<Field> fields<JointMarkerData>() {
  using S = JointMarkerData;
  return {field("R_FM", &S::R_FM), field("p_FM", &S::p_FM), field("place", &S::place), field("body", &S::body),
          field("outboard", &S::outboard)};
}
template <> inline std::vector<Field> fields<ModalData>() {
  using S = ModalData;
  return {field("modes", &S::modes),   field("order_zero", &S::order_zero), field("second", &S::second),
          field("source", &S::source), field("table", &S::table),           field("elastic", &S::elastic)};
}
template <> inline std::vector<Field> fields<LoopConstraintData>() {
  using S = LoopConstraintData;
  return {field("R_FA", &S::R_FA),     field("p_FA", &S::p_FA),   field("R_FB", &S::R_FB),
          field("p_FB", &S::p_FB),     field("R_FM", &S::R_FM),   field("parameter", &S::parameter),
          field("form", &S::form),     field("kind", &S::kind),   field("body_a", &S::body_a),
          field("body_b", &S::body_b), field("curve", &S::curve), field("program", &S::program),
          field("inner", &S::inner),   field("start", &S::start), field("starts", &S::starts),
          field("rows", &S::rows),     field("kept", &S::kept),   field("held", &S::held),
          field("nq", &S::nq),         field("nv", &S::nv)};
}
template <> inline std::vector<Field> fields<CouplingTermData>() {
  using S = CouplingTermData;
  return {field("factor", &S::factor), field("loop_constraint", &S::constraint), field("dof", &S::dof)};
}
template <> inline std::vector<Field> fields<CurveData>() {
  using S = CurveData;
  return {field("first", &S::first), field("count", &S::count), field("degree", &S::degree),
          field("closed", &S::closed)};
}
template <> inline std::vector<Field> fields<CurvePiece>() {
  using S = CurvePiece;
  return {field("c", &S::c), field("centre", &S::centre), field("radius", &S::radius)};
}
template <> inline std::vector<Field> fields<ProgramData>() {
  using S = ProgramData;
  return {field("first", &S::first), field("count", &S::count), field("output", &S::output),
          field("outputs", &S::outputs)};
}
template <> inline std::vector<Field> fields<Instruction>() {
  using S = Instruction;
  return {field("operation", &S::operation), field("a", &S::a), field("b", &S::b), field("c", &S::c), field("d", &S::d),
          field("branch", &S::branch)};
}
template <> inline std::vector<Field> fields<ElementData>() {
  using S = ElementData;
  return {field("port", &S::port),           field("ports", &S::ports),
          field("form", &S::form),           field("law", &S::law),
          field("parameter", &S::parameter), field("parameters", &S::parameters),
          field("state", &S::state),         field("states", &S::states),
          field("input", &S::input),         field("inputs", &S::inputs),
          field("signals", &S::signals),     field("unknowns", &S::unknowns),
          field("active", &S::active),       field("report_only", &S::report_only),
          field("bounded", &S::bounded)};
}
template <> inline std::vector<Field> fields<PortData>() {
  using S = PortData;
  return {field("R_FA", &S::R_FA),
          field("p_FA", &S::p_FA),
          field("R_FB", &S::R_FB),
          field("p_FB", &S::p_FB),
          field("measure", &S::measure),
          field("body_a", &S::body_a),
          field("body_b", &S::body_b),
          field("dof", &S::dof),
          field("coordinate", &S::coordinate),
          field("loop_constraint", &S::constraint),
          field("part", &S::part),
          field("actuator", &S::actuator)};
}
template <> inline std::vector<Field> fields<InputData>() {
  using S = InputData;
  return {field("source", &S::source), field("place", &S::place), field("part", &S::part)};
}
template <> inline std::vector<Field> fields<FeedbackData>() {
  using S = FeedbackData;
  return {field("connection", &S::connection), field("part", &S::part)};
}
template <> inline std::vector<Field> fields<ActuatorData>() {
  using S = ActuatorData;
  return {field("bound", &S::bound), field("port", &S::port)};
}
template <> inline std::vector<Field> fields<ContactPairData>() {
  using S = ContactPairData;
  return {field("factor", &S::factor), field("tangential", &S::tangential), field("mass", &S::mass),
          field("first", &S::first), field("second", &S::second)};
}
template <> inline std::vector<Field> fields<TableData>() {
  using S = TableData;
  return {field("variables", &S::variables), field("degree", &S::degree), field("cells", &S::cells),
          field("first", &S::first), field("extrapolation", &S::extrapolation)};
}
template <> inline std::vector<Field> fields<DriveData>() {
  using S = DriveData;
  return {field("offset", &S::offset),         field("row", &S::row),     field("dof", &S::dof),
          field("coordinate", &S::coordinate), field("law", &S::law),     field("level", &S::level),
          field("cosine", &S::cosine),         field("turns", &S::turns), field("axes", &S::axes),
          field("moves", &S::moves),           field("wraps", &S::wraps)};
}
template <> inline std::vector<Field> fields<LawData>() {
  using S = LawData;
  return {field("kind", &S::kind), field("first", &S::first), field("count", &S::count), field("degree", &S::degree)};
}

template <> inline std::vector<Field> fields<MarkerMap>() {
  using S = MarkerMap;
  return {field("R", &S::R), field("p", &S::p), field("number", &S::number)};
}
template <> inline std::vector<Field> fields<FrameMap>() {
  using S = FrameMap;
  return {field("axes", &S::axes), field("marker", &S::marker)};
}
template <> inline std::vector<Field> fields<InertiaMap>() {
  using S = InertiaMap;
  return {field("body", &S::body), field("user", &S::user), field("number", &S::number)};
}
template <> inline std::vector<Field> fields<PoseMap>() {
  using S = PoseMap;
  return {field("axes", &S::axes), field("marker", &S::marker), field("base", &S::base), field("target", &S::target),
          field("row", &S::row)};
}
template <> inline std::vector<Field> fields<ScalarMap>() {
  using S = ScalarMap;
  return {field("factor", &S::factor), field("number", &S::number), field("second", &S::second),
          field("target", &S::target), field("row", &S::row)};
}

// calls visit(name, rows) for every table that is filled in
template <class Visit> inline void for_each_table(Tables &t, Visit &&visit) {
  visit("bodies", t.bodies), visit("markers", t.markers), visit("armature", t.armature),
      visit("regularizing_inertia", t.regularizing_inertia);
  visit("modal", t.modal), visit("modal_values", t.modal_values);
  visit("loop_constraints", t.loop_constraints), visit("coupling_terms", t.coupling_terms), visit("curves", t.curves),
      visit("curve_pieces", t.pieces);
  visit("joint_programs", t.joints.programs), visit("joint_instructions", t.joints.instructions);
  visit("joint_constants", t.joints.constants), visit("joint_outputs", t.joints.outputs),
      visit("inner_starts", t.inner_starts);
  visit("all_rows", t.all_rows), visit("independent_rows", t.independent_rows), visit("holonomic", t.holonomic);
  visit("row_scale", t.row_scale), visit("column_scale", t.column_scale);
  visit("elements", t.elements), visit("ports", t.ports), visit("inputs", t.inputs), visit("feedbacks", t.feedbacks);
  visit("actuators", t.actuators), visit("contact_pairs", t.contact_pairs);
  visit("programs", t.laws_of_elements.programs), visit("instructions", t.laws_of_elements.instructions);
  visit("constants", t.laws_of_elements.constants), visit("outputs", t.laws_of_elements.outputs);
  visit("tables", t.tables), visit("table_values", t.table_values);
  visit("drives", t.drives), visit("laws", t.laws), visit("law_values", t.law_values),
      visit("parameters", t.parameters);
  visit("gravity", t.gravity), visit("length", t.length), visit("mapped_parameters", t.mapped_parameters);
  visit("marker_maps", t.marker_maps), visit("frame_maps", t.frame_maps), visit("inertia_maps", t.inertia_maps);
  visit("pose_maps", t.pose_maps), visit("scalar_maps", t.scalar_maps);
}

// names of numbers
struct Name {
  const char *name;
  std::int32_t number;
};
struct Enumeration {
  const char *name;
  std::vector<Name> names;
};
template <class E> inline Name named(const char *name, E value) { return {name, static_cast<std::int32_t>(value)}; }

inline std::vector<Enumeration> enumerations() {
  using F = JointForm;
  using C = LoopConstraintForm;
  using M = Measure;
  using S = Source;
  using G = LawForm;
  using K = LawKind;
  using O = Operation;
  using B = Extrapolation;
  using P = PoseTarget;
  using N = ScalarTarget;
  return {
      {"joint_form",
       {named("none", F::none), named("about_z", F::about_z), named("along_z", F::along_z),
        named("columns", F::columns), named("custom", F::custom), named("modal", F::modal), named("node", F::node)}},
      {"loop_constraint_form",
       {named("joint", C::joint), named("constraint", C::constraint), named("custom", C::custom),
        named("chain", C::chain), named("coupling", C::coupling)}},
      {"measure",
       {named("joint", M::joint), named("distance", M::distance), named("place", M::place), named("pose", M::pose),
        named("load_world", M::load_world), named("load_body", M::load_body)}},
      {"source",
       {named("law", S::law), named("port", S::port), named("state", S::state), named("signal", S::signal),
        named("feedback", S::feedback)}},
      {"law_form",
       {named("program", G::program), named("function", G::function), named("linear", G::linear),
        named("limits", G::limits), named("inputs", G::inputs), named("dry_friction", G::dry_friction),
        named("bushing", G::bushing), named("contact", G::contact)}},
      {"law",
       {named("constant", K::constant), named("polynomial", K::polynomial), named("harmonic", K::harmonic),
        named("ramp", K::ramp), named("table", K::table), named("callback", K::callback)}},
      {"operation",
       {named("constant", O::constant),
        named("input", O::input),
        named("add", O::add),
        named("subtract", O::subtract),
        named("multiply", O::multiply),
        named("divide", O::divide),
        named("negate", O::negate),
        named("power", O::power),
        named("root", O::root),
        named("exponential", O::exponential),
        named("logarithm", O::logarithm),
        named("sine", O::sine),
        named("cosine", O::cosine),
        named("arctangent", O::arctangent),
        named("arctangent2", O::arctangent2),
        named("hyperbolic_tangent", O::hyperbolic_tangent),
        named("absolute", O::absolute),
        named("smaller", O::smaller),
        named("larger", O::larger),
        named("less", O::less),
        named("lookup", O::lookup),
        named("floor", O::floor)}},
      {"extrapolation",
       {named("refuse", B::refuse), named("hold", B::hold), named("zero", B::zero), named("repeat", B::repeat)}},
      {"pose_target",
       {named("joint", P::joint), named("body", P::body), named("loop_constraint_a", P::constraint_a),
        named("loop_constraint_b", P::constraint_b), named("loop_constraint_marker", P::constraint_marker),
        named("port_a", P::port_a), named("port_b", P::port_b), named("marker", P::marker)}},
      {"scalar_target",
       {named("pitch", N::pitch), named("armature", N::armature), named("loop_constraint", N::constraint),
        named("coupled", N::coupled), named("law", N::law), named("offset", N::offset), named("elastic", N::elastic),
        named("joint", N::joint), named("gravity", N::gravity), named("law_term", N::law_term)}},
      {"limit",
       {{"inputs", max_law_inputs},
        {"outputs", max_law_outputs},
        {"ports", max_ports},
        {"unknowns", max_unknowns},
        {"curve_degree", curve_degree}}},
  };
}

} // namespace dalembert
