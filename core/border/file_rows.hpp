// Rows of a model file beside the tables of the model (model/schema.hpp): settings, names, outputs, friction.
#pragma once

#include "friction/friction_run.hpp"
#include "model/schema.hpp"

namespace dalembert::border {

struct SettingsRow {
  double t = 0.0, rtol = 1e-8, max_step = 0.0, fixed_step = 0.0, spectral_radius = 0.8, horizon = 0.0;
  double damping = 0.0, stiffness = 0.0; // Baumgarte's
  std::int32_t method = 0, project = 1, detect_stiffness = 1;
};

struct NameRow {
  std::int32_t kind = 0;  // dal_kind
  std::int32_t place = 0; // of parameters and inputs: index of the number; of efforts of joints: of the velocity
  std::int32_t flags = 0;
  std::int32_t name = 0, unit = 0, meaning = 0; // where their texts begin
  double value = 0.0, least = 0.0;
};
enum NameFlags : std::int32_t {
  is_effort = 1,  // an input is the effort of a joint
  is_cosine = 2,  // an angle whose cosine is stored
  is_tunable = 4, // may change during a run
};

enum class SourceKind : std::int32_t { state, report, pose, velocity, acceleration };
struct SourceRow {
  SourceKind kind = SourceKind::state;
  std::int32_t number = 0;  // of states: q v x; of reports: where the text of the part's name begins
  std::int32_t body = 0;    // of points
  std::int32_t frame = 0;   // of points: the first of 12 numbers in `.frames`
  std::int32_t nodes = -1;  // of points of flexible bodies: the first of `width` numbers there; -1: none
  std::int32_t width = 0;
};
struct TermRow {
  std::int32_t out = 0, source = 0, index = 0;
  double factor = 0.0;
};
struct FrictionSettingsRow {
  double position_tol = 0.0, span = 1.0, weight = 0.0, max_step = 0.0, stuck_step = 0.0;
};

} // namespace dalembert::border

namespace dalembert {

template <> inline std::vector<Field> fields<border::SettingsRow>() {
  using S = border::SettingsRow;
  return {field("t", &S::t),
          field("rtol", &S::rtol),
          field("max_step", &S::max_step),
          field("fixed_step", &S::fixed_step),
          field("spectral_radius", &S::spectral_radius),
          field("horizon", &S::horizon),
          field("damping", &S::damping),
          field("stiffness", &S::stiffness),
          field("method", &S::method),
          field("project", &S::project),
          field("detect_stiffness", &S::detect_stiffness)};
}
template <> inline std::vector<Field> fields<border::NameRow>() {
  using S = border::NameRow;
  return {field("kind", &S::kind), field("place", &S::place), field("flags", &S::flags),     field("name", &S::name),
          field("unit", &S::unit), field("value", &S::value), field("meaning", &S::meaning), field("least", &S::least)};
}
template <> inline std::vector<Field> fields<border::SourceRow>() {
  using S = border::SourceRow;
  return {field("kind", &S::kind),   field("number", &S::number), field("body", &S::body),
          field("frame", &S::frame), field("nodes", &S::nodes),   field("width", &S::width)};
}
template <> inline std::vector<Field> fields<border::TermRow>() {
  using S = border::TermRow;
  return {field("out", &S::out), field("source", &S::source), field("index", &S::index), field("factor", &S::factor)};
}
template <> inline std::vector<Field> fields<border::FrictionSettingsRow>() {
  using S = border::FrictionSettingsRow;
  return {field("position_tol", &S::position_tol), field("span", &S::span), field("weight", &S::weight),
          field("max_step", &S::max_step), field("stuck_step", &S::stuck_step)};
}
template <> inline std::vector<Field> fields<FrictionRow>() {
  using S = FrictionRow;
  return {field("place", &S::place),
          field("coordinate", &S::coordinate),
          field("friction", &S::friction),
          field("mode", &S::mode),
          field("coefficient", &S::coefficient),
          field("load", &S::load),
          field("group", &S::group),
          field("sliding_friction", &S::sliding_friction),
          field("static_friction", &S::static_friction),
          field("static_ratio", &S::static_ratio),
          field("lower", &S::lower),
          field("upper", &S::upper),
          field("restitution", &S::restitution),
          field("rest_tol", &S::rest_tol)};
}
template <> inline std::vector<Field> fields<RowSwitch>() {
  using S = RowSwitch;
  return {field("kind", &S::kind), field("row", &S::row)};
}

} // namespace dalembert
