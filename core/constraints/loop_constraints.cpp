#include "constraints/loop_constraints.hpp"
#include "constraints/by_lane.hpp"
#include "constraints/kinematic_chain.hpp"
#include "constraints/library.hpp"
#include "constraints/coupling_rows.hpp"
#include "constraints/custom_rows.hpp"
#include "joints/registry.hpp"
#include "tree/kinematics.hpp"
#include "tree/joint_maps.hpp"
#include <algorithm>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

template <class T>
static void closing_rows(const ModelData &m, Workspace<T> &ws, const ChordData &chord, const RelativeMotion<T> &relative, ChordRows<T> &rows) {
  rows.count = 0;
  switch (chord.form) {
  case ChordForm::hinge:
    HingeLibrary::visit(chord.kind, [&](auto hinge) { decltype(hinge)::rows(parameter_of<T>(m, chord), relative, rows); });
    return keep_rows(chord.kept, rows);
  case ChordForm::constraint:
    if constexpr (requires(T x) { x[0]; })
      if (chord.curve >= 0) // the point of contact is searched for
        return rows_by_lane(ws, relative, rows, [&](Workspace<double> &one, const RelativeMotion<double> &motion, ChordRows<double> &its) {
          closing_rows(m, one, chord, motion, its);
        });
    if constexpr (requires(T x) { x[0]; })
      return ConstraintLibrary::visit(chord.kind, [&](auto constraint) {
        if constexpr (!requires { decltype(constraint)::curved; })
          decltype(constraint)::rows(m, chord, relative, rows);
      });
    else
      return ConstraintLibrary::visit(chord.kind, [&](auto constraint) { decltype(constraint)::rows(m, chord, relative, rows); });
  case ChordForm::custom:
    return rows_custom(m, ws, chord, relative, rows);
  case ChordForm::chain:
    return rows_chain(m, ws, chord, relative, rows);
  case ChordForm::coupling:
    return;
  }
}

// the face of a rope: |p|, its rate along u = p / |p|, and |p|'' = u . a + (v^2 - (u . v)^2) / |p|
template <class T> static void face_of_rope(const RelativeMotion<T> &m, HingeFace<T> &face) {
  const T distance = root(dot(m.p, m.p)), inverse = 1.0 / larger(distance, T(1e-300));
  const Vec3<T> u = scale(inverse, m.p);
  const T along = dot(u, m.v);
  face.q[0] = distance;
  face.D[0] = sliding(u);
  face.bias = sliding(scale(-(dot(m.v, m.v) - along * along) * inverse, u));
}

template <class T>
void chord_face(const ModelData &m, Workspace<T> &ws, const ChordData &chord, const RelativeMotion<T> &relative, HingeFace<T> &face) {
  if (chord.form == ChordForm::chain)
    return face_of_custom(m, ws, chord, relative, face);
  if (chord.form == ChordForm::constraint)
    return face_of_rope(relative, face);
  HingeLibrary::visit(chord.kind, [&](auto hinge) { decltype(hinge)::face(parameter_of<T>(m, chord), relative, face); });
}

// rows that hold the coordinates of a cut hinge, s' = D . [w; v] = 0; they demand nothing of those that are not held. A rope is
// held at its length.
template <class T>
static void hold_rows(const ModelData &m, Workspace<T> &ws, const ChordData &chord, const RelativeMotion<T> &relative, ChordRows<T> &rows) {
  HingeFace<T> face;
  const bool any = ws.held && std::any_of(ws.held + chord.v, ws.held + chord.v + chord.nv, [](unsigned char h) { return h != 0; });
  if (any)
    chord_face(m, ws, chord, relative, face);
  for (int j = 0; j < chord.nv; ++j) {
    if (!any || !ws.held[chord.v + j])
      rows.add(T(0.0), zero3<T>(), zero3<T>(), T(0.0));
    else
      rows.add(chord.form == ChordForm::constraint ? face.q[j] - parameter_of<T>(m, chord) : T(0.0), face.D[j].w, face.D[j].v, -(dot(face.D[j].w, face.bias.w) + dot(face.D[j].v, face.bias.v)));
  }
}

template <class T>
void chord_rows(const ModelData &m, Workspace<T> &ws, const ChordData &chord, const RelativeMotion<T> &relative, ChordRows<T> &rows) {
  closing_rows(m, ws, chord, relative, rows);
  if (chord.held)
    hold_rows(m, ws, chord, relative, rows);
}

template <class T>
static void put_coupling(const ModelData &m, Workspace<T> &ws, const ChordData &chord, const T *q, const T *v, const ChordOutputs<T> &out) {
  const int row = chord.row;
  CouplingRow<T> found;
  coupling_row(m, ws, chord, q, out.bias ? v : nullptr, found);
  if (out.residual)
    out.residual[row] = found.residual;
  if (out.bias)
    out.bias[row] = found.bias;
  if (out.leverage)
    out.leverage[row] = T(1.0);
  if (out.drift)
    out.drift[row] = found.drift;
  for (int s = 0; out.values && s < chord.supports; ++s)
    out.values[chord.values + s] = found.coefficient(m, chord, s);
}

template <class T> static void clear_chord(const ChordData &chord, const ChordOutputs<T> &out) {
  for (int j = chord.row; j < chord.row + chord.rows; ++j)
    for (T *each : {out.residual, out.bias, out.leverage, out.drift})
      if (each)
        each[j] = T(0.0);
  for (std::int64_t k = 0; out.values && k < std::int64_t(chord.rows) * chord.supports; ++k)
    out.values[chord.values + k] = T(0.0);
}

// What freedom f of body i does to a point, world axes; of a flexible body, by the node `via` through which the way leads
// (0: none). reach: largest part of it that is no turn.
template <class T> struct FreedomMotion {
  Vec3<T> w, v;
  T reach;
};
template <class T>
static DALEMBERT_INLINE void add_column(const Workspace<T> &ws, const Motion<T> &h, int i, double sign, const Vec3<T> &point,
                                        FreedomMotion<T> &S) {
  const Mat3<T> &R = ws.X_W[i].R;
  const Vec3<T> w = scale(sign, mul(R, h.w));
  S.w += w;
  S.v += scale(sign, mul(R, h.v)) + cross(w, point - ws.X_W[i].p);
  S.reach = S.reach + root(dot(h.v, h.v));
}
template <class T>
static DALEMBERT_INLINE FreedomMotion<T> freedom_motion(const ModelData &m, const Workspace<T> &ws, int i, int f, int via, const Vec3<T> &point) {
  const BodyData &b = m.bodies[i];
  FreedomMotion<T> S{zero3<T>(), zero3<T>(), T(0.0)};
  if (b.moves)
    add_column(ws, column(b, ws.H + b.H, f), i, 1.0, point, S);
  if (b.form == Form::modal && via && m.bodies[via].form == Form::node)
    add_column(ws, ws.H[m.bodies[via].H + f], via, 1.0, point, S);
  return S;
}

// the node of flexible body `meet` on the way from ground to `end`; 0 if the way leads through none
static int node_before(const ModelData &m, int end, int meet) {
  int i = end;
  while (i != meet && m.bodies[i].parent != meet)
    i = m.bodies[i].parent;
  return m.bodies[i].form == Form::node && i != meet ? i : 0;
}

// calls enter(motion) for every freedom of a chord's support, in its order
template <class T, class Enter>
static inline void for_support(const ModelData &m, const Workspace<T> &ws, const ChordData &chord, const Vec3<T> &point, Enter &&enter) {
  int at = 0;
  for (const int end : {chord.body_b, chord.body_a})
    for (int i = end, via = 0; at < chord.supports && i && i != chord.meet; via = i, i = m.bodies[i].parent) {
      const BodyData &b = m.bodies[i];
      if (b.nv && m.support[chord.support + at] != b.v)
        break; // the ways have met
      for (int f = 0; f < b.nv; ++f, ++at)
        enter(at, freedom_motion(m, ws, i, f, via, point));
    }
  if (!chord.meet)
    return;
  const int to_b = node_before(m, chord.body_b, chord.meet), to_a = node_before(m, chord.body_a, chord.meet);
  for (int f = 0; f < m.bodies[chord.meet].nv; ++f, ++at) {
    FreedomMotion<T> S{zero3<T>(), zero3<T>(), T(0.0)};
    if (to_b)
      add_column(ws, ws.H[m.bodies[to_b].H + f], to_b, 1.0, point, S);
    if (to_a)
      add_column(ws, ws.H[m.bodies[to_a].H + f], to_a, -1.0, point, S);
    enter(at, S);
  }
}

// the size of a chord's loop: all lengths on the ways to its ends
template <class T> static T loop_length(const ModelData &m, const Workspace<T> &ws, const ChordData &chord) {
  T length = seen<T>(m, chord, [](const auto &own) {
    const auto far = [](const auto &p) { return root(dot(p, p)); };
    return T(far(as_vec(own.p_FA)) + far(as_vec(own.p_FB)));
  });
  for (const int end : {chord.body_b, chord.body_a})
    for (int i = end; i; i = m.bodies[i].parent)
      length = length + root(dot(ws.X[i].p, ws.X[i].p));
  return length;
}

template <class T> static void widen(const ChordData &chord, const ChordRows<T> &rows, const T &length, T &opening) {
  if (chord.form != ChordForm::hinge && chord.form != ChordForm::chain)
    return;
  const T inverse = 1.0 / select(less(T(0.0), length), length, T(1.0));
  for (int j = 0; j < rows.count; ++j) {
    const auto displacement = less(T(0.0), dot(rows.g[j].v, rows.g[j].v));
    opening = larger(opening, absolute(rows.residual[j]) * select(displacement, inverse, T(1.0)));
  }
}

// (1): a block of the Jacobian
template <class T>
static void put_values(const ModelData &m, const Workspace<T> &ws, const ChordData &chord, const ChordPlace<T> &place,
                       const ChordRows<T> &rows, const ChordOutputs<T> &out) {
  Vec3<T> moment[6], force[6];
  T turning_size[6], sliding_size[6], lever[6];
  for (int j = 0; j < rows.count; ++j) {
    moment[j] = mul(place.A.R, rows.g[j].w);
    force[j] = mul(place.A.R, rows.g[j].v);
    if (!out.leverage)
      continue;
    turning_size[j] = root(dot(moment[j], moment[j]));
    sliding_size[j] = root(dot(force[j], force[j]));
    lever[j] = T(0.0);
  }
  T *block = out.values + chord.values;
  const T length = out.leverage || out.opening ? loop_length(m, ws, chord) : T(0.0);
  if (out.opening)
    widen(chord, rows, length, *out.opening);
  for_support(m, ws, chord, place.B.p, [&](int at, const FreedomMotion<T> &S) {
    const double sign = m.support_factor[chord.support + at];
    const T turn = root(dot(S.w, S.w)), reach = S.reach + turn * length;
    for (int j = 0; j < rows.count; ++j) {
      const T entry = dot(moment[j], S.w) + dot(force[j], S.v);
      block[j * chord.supports + at] = sign * entry;
      if (!out.leverage)
        continue;
      const T most = turning_size[j] * turn + sliding_size[j] * reach, size = absolute(entry);
      const auto more = less(lever[j] * most, size);
      lever[j] = select(more, size / select(more, most, T(1.0)), lever[j]);
    }
  });
  for (int j = 0; out.leverage && j < rows.count; ++j)
    out.leverage[chord.row + j] = lever[j];
}

template <class T> void evaluate_chords(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const ChordOutputs<T> &out) {
  start_at_ground(m, ws, false);
  place_frames(m, ws, q);
  place_in_world(m, ws);
  if (v) {
    move_frames(m, ws, q, v);
    move_in_world(m, ws, v);
    accelerate_frames(m, ws, static_cast<const T *>(nullptr));
  } else {
    for (int i = 1; i <= m.nb; ++i)
      ws.w[i] = ws.u[i] = ws.A[i].w = ws.A[i].v = zero3<T>();
  }
  if (out.opening)
    *out.opening = T(0.0);
  ws.held = out.held;
  ChordRows<T> rows;
  rows.moving = v != nullptr;
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    if (out.active && !out.active[k]) {
      clear_chord(chord, out);
      continue;
    }
    if (chord.form == ChordForm::coupling) {
      put_coupling(m, ws, chord, q, v, out);
      continue;
    }
    const ChordPlace<T> place = chord_place(m, ws, chord);
    chord_rows(m, ws, chord, place.relative, rows);
    Motion<T> coasting{zero3<T>(), zero3<T>()};
    if (out.bias)
      coasting = chord_acceleration(m, ws, chord, place);
    for (int j = 0; j < rows.count; ++j) {
      if (out.residual)
        out.residual[chord.row + j] = rows.residual[j];
      if (out.bias)
        out.bias[chord.row + j] = dot(rows.g[j].w, coasting.w) + dot(rows.g[j].v, coasting.v) + rows.bias[j];
      if (out.drift)
        out.drift[chord.row + j] = rows.drift[j];
    }
    if (out.values)
      put_values(m, ws, chord, place, rows, out);
  }
}

void cut_hinges(const ModelData &m, Workspace<double> &ws, double *q, double *v, double *a) {
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    if (!chord.nv)
      continue;
    const ChordPlace<double> place = chord_place(m, ws, chord);
    HingeFace<double> face;
    chord_face(m, ws, chord, place.relative, face);
    for (int j = 0; q && j < chord.nq; ++j)
      q[chord.q + j] = face.q[j];
    for (int j = 0; v && j < chord.nv; ++j)
      v[chord.v + j] = face_speed(face, place.relative, j);
    if (!a)
      continue;
    const Motion<double> A = chord_acceleration(m, ws, chord, place);
    for (int j = 0; j < chord.nv; ++j)
      a[chord.v + j] = dot(face.D[j].w, A.w - face.bias.w) + dot(face.D[j].v, A.v - face.bias.v);
  }
}

template <class T> void cut_coordinate(const ModelData &m, Workspace<T> &ws, const ChordData &chord, int k, T &coordinate, T *row) {
  const ChordPlace<T> place = chord_place(m, ws, chord);
  HingeFace<T> face;
  chord_face(m, ws, chord, place.relative, face);
  coordinate = face.q[k];
  if (!row)
    return;
  const Vec3<T> moment = mul(place.A.R, face.D[k].w), force = mul(place.A.R, face.D[k].v);
  for (int f = 0; f < m.nv; ++f)
    row[f] = T(0.0);
  for_support(m, ws, chord, place.B.p, [&](int at, const FreedomMotion<T> &S) {
    row[m.support[chord.support + at]] = m.support_factor[chord.support + at] * (dot(moment, S.w) + dot(force, S.v));
  });
}

template void cut_coordinate(const ModelData &, Workspace<double> &, const ChordData &, int, double &, double *);
template void cut_coordinate(const ModelData &, Workspace<Pack> &, const ChordData &, int, Pack &, Pack *);
template void chord_rows(const ModelData &, Workspace<double> &, const ChordData &, const RelativeMotion<double> &, ChordRows<double> &);
template void chord_rows(const ModelData &, Workspace<Pack> &, const ChordData &, const RelativeMotion<Pack> &, ChordRows<Pack> &);
template void chord_rows(const ModelData &, Workspace<Dual> &, const ChordData &, const RelativeMotion<Dual> &, ChordRows<Dual> &);
template void chord_face(const ModelData &, Workspace<double> &, const ChordData &, const RelativeMotion<double> &, HingeFace<double> &);
template void chord_face(const ModelData &, Workspace<Pack> &, const ChordData &, const RelativeMotion<Pack> &, HingeFace<Pack> &);
template void chord_face(const ModelData &, Workspace<Dual> &, const ChordData &, const RelativeMotion<Dual> &, HingeFace<Dual> &);
template void evaluate_chords(const ModelData &, Workspace<double> &, const double *, const double *, const ChordOutputs<double> &);
template void evaluate_chords(const ModelData &, Workspace<Pack> &, const Pack *, const Pack *, const ChordOutputs<Pack> &);
template void evaluate_chords(const ModelData &, Workspace<Dual> &, const Dual *, const Dual *, const ChordOutputs<Dual> &);

} // namespace dalembert::DALEMBERT_ISA
