#include "flexible/low_rank_modes.hpp"
#include "joints/registry.hpp"
#include "model/complete/parts.hpp"
#include <algorithm>

namespace dalembert {

void complete_modal(Tables &t, ModelData &m) {
  for (ModalData &body : t.modal) {
    const std::int64_t n = body.modes;
    const std::int64_t needed = 10 + 12 * n + n * n + n * (body.second ? 15 : 12) * ((n + 7) / 8 * 8) +
                                (body.source ? 18 * n + 24 * n * n + 4 * n * n * n : 0);
    require(n >= 1 && body.table >= 0 && body.table + needed <= std::int64_t(t.modal_values.size()),
            "the integrals of a flexible body are out of range");
    require(body.elastic >= 0 && body.elastic + 2 * n * n <= std::int64_t(t.modal_values.size()),
            "the stiffness of a flexible body is out of range");
    body.rank = 0;
    body.loads = m.modal_loads, body.squares = m.modal_squares, body.factors = m.modal_factors;
    m.modal_loads += n;
    m.modal_squares += n * n;
    m.modal_factors += n * (n - 1) / 2;
    m.max_modes = std::max(m.max_modes, body.modes);
  }
  m.modal_count = count_of(t.modal.size());
  m.modal = pointer(t.modal);
  m.modal_values = pointer(t.modal_values);
}

// modes that are orthogonal in mass and carry little beside their number are eliminated by flexible/low_rank_modes.hpp,
// from where it was measured to be ahead
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

// of a modal body or a node: which flexible body, and where its shapes stand; `moves`: whether its frame moves with
// them
static void place_flexible(const Tables &t, const ModelData &m, BodyData &b) {
  require(within(b.modal, 0, m.modal_count) && b.parent > 0, "a flexible body is out of range");
  const ModalData &body = t.modal[std::size_t(b.modal)];
  const std::int64_t n = body.modes, needed = 3 + 6 * n + (body.second ? 6 * n * n : 0);
  require(b.shape >= 0 && b.shape + needed <= std::int64_t(t.modal_values.size()),
          "the shapes of a node are out of range");
  b.moves = b.moves ? body.modes : 0;
  if (b.form == JointForm::modal) {
    b.nq = b.nv = body.modes;
    return;
  }
  const BodyData &frame = t.bodies[std::size_t(b.parent)];
  require(frame.form == JointForm::modal && frame.modal == b.modal, "a node is not on its body");
  b.nq = b.nv = 0;
  b.by = frame.v;
}

// sizes, form and series of the joint that carries a body
static void complete_joint(const Tables &t, ModelData &m, BodyData &b) {
  if (b.form == JointForm::modal || b.form == JointForm::node)
    return place_flexible(t, m, b);
  if (b.form == JointForm::custom) {
    b.nq = b.nv;
    b.series = MotionMapDependence::forward;
    require(within(b.nv, 1, 7) && programs_fit(t.joints, b.program, 12 + 6 * b.nv, 6),
            "the programs of a custom joint do not fit");
    ++m.custom_joints;
  } else {
    require(within(b.kind, 0, DALEMBERT_ISA::JointLibrary::count), "a joint is not in the library");
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
    require(within(b.parent, 0, std::int64_t(i)), "a parent is out of range");
    require(b.user >= 0 && b.joint >= 0 && b.owner >= 1 && std::max({b.user, b.owner, b.joint}) <= count_of(n),
            "a body's number is out of range");
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
  require(t.markers.size() == std::size_t(m.users), "every body needs the second marker of its joint");
  for (const JointMarkerData &marker : t.markers)
    require(within(marker.place, 1, m.nb + 1) && within(marker.body, 0, m.nb + 1), "a marker is out of range");
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
  require(t.armature.size() == std::size_t(m.nv), "the armatures do not fit the degrees of freedom");
  for (BodyData &b : t.bodies)
    for (std::int32_t f = b.v; f < b.v + b.nv; ++f)
      b.armature |= t.armature[std::size_t(f)] != 0.0;
  m.armature = t.armature.data();
}

void complete_lent(Tables &t, ModelData &m) {
  if (t.regularizing_inertia.empty())
    return;
  require(t.regularizing_inertia.size() == std::size_t(m.nv),
          "the regularizing inertia does not fit the degrees of freedom");
  for (BodyData &b : t.bodies)
    for (std::int32_t f = b.v; f < b.v + b.nv; ++f)
      b.is_regularized |= t.regularizing_inertia[std::size_t(f)] != 0.0;
  m.regularizing_inertia = t.regularizing_inertia.data();
}

} // namespace dalembert
