#include "kinematics/dyad_chain.hpp"
#include "joints/registry.hpp"
#include "system/drives.hpp"
#include <algorithm>
#include <cmath>
#include <type_traits>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr double out_of_plane = 1e-14;   // components of unit vectors that are rounding
constexpr double least_branch = 1e-3;    // g, as a part of what it can be, below which the general solver takes over
constexpr double part_of_branch = 2.0;   // how often the way of g from one time to the next must fit into it
constexpr double part_of_error = 0.05;   // that (3) of kinematics/sweep.hpp may be of the way
constexpr double same_position = 1e-7;   // scaled distance of a chain from a position of the same branch
constexpr double longest = 1.5;          // scaled way from one time to the next
constexpr double whole_turn = 6.283185307179586476925;

// ---- the plane

template <class T> DALEMBERT_INLINE PlaneVector<T> operator+(const PlaneVector<T> &a, const PlaneVector<T> &b) {
  return {a.x + b.x, a.y + b.y};
}
template <class T> DALEMBERT_INLINE PlaneVector<T> operator-(const PlaneVector<T> &a, const PlaneVector<T> &b) {
  return {a.x - b.x, a.y - b.y};
}
template <class T> DALEMBERT_INLINE PlaneVector<T> operator*(const T &f, const PlaneVector<T> &a) {
  return {f * a.x, f * a.y};
}
template <class T> DALEMBERT_INLINE T dot(const PlaneVector<T> &a, const PlaneVector<T> &b) {
  return a.x * b.x + a.y * b.y;
}
template <class T> DALEMBERT_INLINE T cross(const PlaneVector<T> &a, const PlaneVector<T> &b) {
  return a.x * b.y - a.y * b.x;
}
template <class T> DALEMBERT_INLINE PlaneVector<T> quarter(const PlaneVector<T> &a) { return {-a.y, a.x}; }

// a direction of a link, given where the chain was built
DALEMBERT_INLINE PlaneVector<Pack> turned(const LinkMotion &k, const PlaneVector<double> &d) {
  return {k.c * d.x - k.s * d.y, k.s * d.x + k.c * d.y};
}
struct PointMotion { PlaneVector<Pack> p, v, a; };
// the point of a link that is at r from its reference point
DALEMBERT_INLINE PointMotion beside(const LinkMotion &k, const PlaneVector<Pack> &r) {
  return {k.p + r, k.v + k.w * quarter(r), k.a + k.dw * quarter(r) - k.w * k.w * r};
}
DALEMBERT_INLINE PointMotion point_of(const LinkMotion &k, const PlaneVector<double> &p) {
  return beside(k, turned(k, p - k.reference));
}

const PlaneVector<double> &place_on(const PlaneJoint &joint, int link) {
  return joint.first == link ? joint.at_first : joint.at_second;
}
int across(const PlaneJoint &joint, int link) { return joint.first == link ? joint.second : joint.first; }
// of a slide: +1 if its coordinate is the way of this link against the other
double sense_for(const PlaneJoint &joint, int link) { return joint.second == link ? 1.0 : -1.0; }

// ---- which links and joints there are

enum class PlaneRole { none, weld, turn, slide };
template <class J> constexpr PlaneRole role_of_joint(bool cut) {
  if constexpr (std::is_same_v<J, Fixed>)
    return PlaneRole::weld;
  else if constexpr (std::is_same_v<J, Revolute>)
    return PlaneRole::turn;
  else if constexpr (std::is_same_v<J, Prismatic>)
    return PlaneRole::slide;
  else if constexpr (std::is_same_v<J, Spherical<false>> || std::is_same_v<J, Spherical<true>> ||
                     std::is_same_v<J, Cylindrical>)
    return cut ? PlaneRole::turn : PlaneRole::none; // cut, they hold a point of the plane
  return PlaneRole::none;
}
PlaneRole role_of(int kind, bool cut) {
  PlaneRole role = PlaneRole::none;
  JointLibrary::visit(kind, [&](auto joint) { role = role_of_joint<decltype(joint)>(cut); });
  return role;
}
bool has_axis(int kind) {
  bool axis = true;
  JointLibrary::visit(kind, [&](auto joint) {
    axis = !std::is_same_v<decltype(joint), Spherical<false>> && !std::is_same_v<decltype(joint), Spherical<true>>;
  });
  return axis;
}

struct PlaneAxes { Vec3<double> x, y, n; };
PlaneAxes axes_normal_to(const Vec3<double> &n) {
  const double a = std::fabs(n.x), b = std::fabs(n.y), c = std::fabs(n.z);
  const Vec3<double> other = a <= b && a <= c   ? Vec3<double>{1.0, 0.0, 0.0}
                             : b <= a && b <= c ? Vec3<double>{0.0, 1.0, 0.0}
                                                : Vec3<double>{0.0, 0.0, 1.0};
  Vec3<double> y = DALEMBERT_ISA::cross(n, other);
  y = scale(1.0 / std::sqrt(DALEMBERT_ISA::dot(y, y)), y);
  return {DALEMBERT_ISA::cross(y, n), y, n};
}
PlaneVector<double> in_plane(const PlaneAxes &axes, const Vec3<double> &p) {
  return {DALEMBERT_ISA::dot(axes.x, p), DALEMBERT_ISA::dot(axes.y, p)};
}
Vec3<double> third_column(const Mat3<double> &R) { return {R.xz, R.yz, R.zz}; }

const DriveData *drive_of(const ModelData &m, int dof) {
  for (int k = 0; k < m.drive_count; ++k)
    if (m.drives[k].row < 0 && m.drives[k].dof == dof)
      return &m.drives[k];
  return nullptr;
}

// whether the model has nothing but what a chain knows
bool is_candidate(const ModelData &m, const Conditions &c) {
  if (m.modal_count || m.custom_joints || m.callback_law_count || m.nq != m.nv || m.nb == 0)
    return false;
  for (int k = 0; k < m.drive_count; ++k)
    if (m.drives[k].row >= 0 || m.drives[k].turns || m.drives[k].level)
      return false;
  for (int f = 0; f < m.nv; ++f)
    if (c.position_prescribed && c.position_prescribed[f] && !drive_of(m, f))
      return false;
  for (int k = 0; k < m.loop_constraint_count; ++k)
    if (m.loop_constraints[k].form != LoopConstraintForm::joint || (c.constraint_active && !c.constraint_active[k]) ||
        role_of(m.loop_constraints[k].kind, true) == PlaneRole::none)
      return false;
  for (int k = 0; c.cut_velocity_locked && k < m.cut_nv; ++k)
    if (c.cut_velocity_locked[k])
      return false;
  for (int i = 1; i <= m.nb; ++i)
    if (role_of(m.bodies[i].kind, false) == PlaneRole::none)
      return false;
  return true;
}

// links and joints in the plane; false if axes point elsewhere
bool find_joints(const ModelData &m, const Workspace<double> &ws, const double *q, DyadChain &chain) {
  bool known = false;
  PlaneAxes axes{};
  const auto fits = [&](PlaneRole role, const Vec3<double> &z) {
    if (role == PlaneRole::turn && !known)
      axes = axes_normal_to(z), known = true;
    if (role == PlaneRole::weld || !known)
      return role == PlaneRole::weld;
    const double along = DALEMBERT_ISA::dot(axes.n, z);
    if (role == PlaneRole::slide)
      return std::fabs(along) <= out_of_plane;
    const Vec3<double> across = z - scale(along, axes.n);
    return DALEMBERT_ISA::dot(across, across) <= out_of_plane * out_of_plane;
  };
  for (int i = 1; i <= m.nb && !known; ++i)
    if (role_of(m.bodies[i].kind, false) == PlaneRole::turn)
      fits(PlaneRole::turn, third_column(ws.X_W[i].R));
  chain.links = 1, chain.joints = 0, chain.link_of[0] = 0;
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    const PlaneRole role = role_of(b.kind, false);
    const Vec3<double> z = third_column(ws.X_W[i].R); // turns about it, and slides along it, leave it where it is
    if (!fits(role, z))
      return false;
    if (role == PlaneRole::weld) {
      chain.link_of[i] = chain.link_of[b.parent];
      continue;
    }
    chain.link_of[i] = chain.links++;
    PlaneJoint &joint = chain.joint[chain.joints++];
    const PlaneVector<double> at = in_plane(axes, ws.X_W[i].p);
    const bool slides = role == PlaneRole::slide;
    joint = {chain.link_of[b.parent], chain.link_of[i], slides, b.v, b.q, 1.0, q[b.q], at, at,
             slides ? in_plane(axes, z) : PlaneVector<double>{0.0, 0.0}};
    if (!slides && DALEMBERT_ISA::dot(axes.n, z) < 0.0)
      joint.sense = -1.0;
  }
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    const PlaneRole role = role_of(constraint.kind, true);
    const Pose<double> &a = ws.X_W[constraint.body_a], &b = ws.X_W[constraint.body_b];
    const Vec3<double> z = third_column(mul(a.R, as_mat(constraint.R_FA)));
    if (has_axis(constraint.kind) && !fits(role, z))
      return false;
    const int first = chain.link_of[constraint.body_a], second = chain.link_of[constraint.body_b];
    if (role == PlaneRole::weld || first == second)
      return false; // held twice: not by dyads
    PlaneJoint &joint = chain.joint[chain.joints++];
    const bool slides = role == PlaneRole::slide;
    joint = {first, second, slides, -1, -1, 1.0, 0.0, in_plane(axes, a.p + mul(a.R, as_vec(constraint.p_FA))),
             in_plane(axes, b.p + mul(b.R, as_vec(constraint.p_FB))),
             slides ? in_plane(axes, z) : PlaneVector<double>{0.0, 0.0}};
  }
  return known;
}

// ---- the order in which links are placed

double length_of(const PlaneVector<double> &d) { return std::sqrt(dot(d, d)); }

// branch and lengths of a dyad; false where it is singular or of no known kind
bool measure(const DyadChain &chain, ChainStep &step) {
  const PlaneJoint &outer = chain.joint[step.joints[0]], &inner = chain.joint[step.joints[1]],
                   &last = chain.joint[step.joints[2]];
  const PlaneVector<double> A = place_on(outer, step.link), B = place_on(last, step.other);
  const PlaneVector<double> r1 = place_on(inner, step.link) - A, r2 = place_on(inner, step.other) - B;
  double g = 0.0, size = 1.0;
  if (!outer.slides && !inner.slides && !last.slides) {
    step.kind = ChainStepKind::rrr;
    step.lengths[0] = length_of(r1), step.lengths[1] = length_of(r2);
    g = cross(r1, r2), size = step.lengths[0] * step.lengths[1];
    step.branch = g > 0.0 ? 1.0 : -1.0;
  } else if (!outer.slides && !inner.slides) {
    step.kind = ChainStepKind::rrp;
    step.lengths[0] = length_of(r1);
    g = dot(last.along, r1), size = step.lengths[0];
    step.branch = g > 0.0 ? 1.0 : -1.0;
  } else if (!outer.slides && inner.slides && !last.slides) {
    step.kind = ChainStepKind::rpr;
    const PlaneVector<double> d = place_on(last, step.other) - A;
    step.lengths[0] = cross(inner.along, d), step.lengths[1] = g = dot(inner.along, d), size = length_of(d);
    step.branch = g > 0.0 ? 1.0 : -1.0;
  } else if (outer.slides && !inner.slides && last.slides) {
    step.kind = ChainStepKind::prp;
    g = cross(outer.along, last.along);
  } else if (!outer.slides && inner.slides && last.slides) {
    step.kind = ChainStepKind::rpp;
    g = cross(inner.along, last.along);
  } else {
    return false;
  }
  return std::fabs(g) > least_branch * size;
}

// false if a dyad is singular here
bool order_steps(const ModelData &m, DyadChain &chain) {
  chain.steps = 0, chain.complete = false;
  // reference.x of a link that is not placed yet is not a number
  for (int k = 0; k < chain.links; ++k)
    chain.motion[k].reference = {std::numeric_limits<double>::quiet_NaN(), 0.0};
  const auto placed = [&](int link) { return chain.motion[link].reference.x == chain.motion[link].reference.x; };
  chain.motion[0].reference = {0.0, 0.0};
  for (bool found = true; found;) {
    found = false;
    for (int k = 0; k < chain.joints; ++k) {
      PlaneJoint &joint = chain.joint[k];
      if (joint.used || placed(joint.first) == placed(joint.second))
        continue;
      const DriveData *drive = joint.dof < 0 ? nullptr : drive_of(m, joint.dof);
      if (!drive)
        continue;
      ChainStep &step = chain.step[chain.steps++];
      step = {joint.slides ? ChainStepKind::slide : ChainStepKind::turn, {k, -1, -1},
              placed(joint.first) ? joint.second : joint.first, -1, int(drive - m.drives), 1.0, {0.0, 0.0}};
      chain.motion[step.link].reference = place_on(joint, step.link);
      joint.used = joint.driven = found = true;
    }
    for (int k = 0; k < chain.joints && !found; ++k) {
      PlaneJoint &inner = chain.joint[k];
      if (inner.used || placed(inner.first) || placed(inner.second) || (inner.dof >= 0 && drive_of(m, inner.dof)))
        continue;
      int outer[2] = {-1, -1}, links[2] = {inner.first, inner.second};
      for (int j = 0; j < chain.joints; ++j)
        for (int end = 0; end < 2; ++end) {
          const PlaneJoint &joint = chain.joint[j];
          if (j != k && !joint.used && (joint.first == links[end] || joint.second == links[end]) &&
              placed(across(joint, links[end])))
            outer[end] = outer[end] < 0 ? j : chain.joints; // a second one: the links are held too often
        }
      if (outer[0] < 0 || outer[1] < 0 || outer[0] == chain.joints || outer[1] == chain.joints)
        continue;
      // the first outer joint turns rather than slides
      const int first = chain.joint[outer[0]].slides && !chain.joint[outer[1]].slides ? 1 : 0;
      ChainStep step{ChainStepKind::rrr, {outer[first], k, outer[1 - first]}, links[first], links[1 - first], -1, 1.0,
                     {0.0, 0.0}};
      if (!measure(chain, step))
        return false;
      chain.step[chain.steps++] = step;
      for (const int j : step.joints)
        chain.joint[j].used = true;
      const PlaneJoint &end = chain.joint[outer[1 - first]];
      const bool on_inner = step.kind == ChainStepKind::rrp || step.kind == ChainStepKind::prp;
      const PlaneJoint &begin = chain.joint[outer[first]];
      chain.motion[step.link].reference = place_on(begin.slides ? inner : begin, step.link);
      chain.motion[step.other].reference = place_on(on_inner ? inner : end, step.other);
      found = true;
    }
  }
  for (int k = 0; k < chain.joints; ++k)
    if (!chain.joint[k].used)
      return true;
  for (int k = 0; k < chain.links; ++k)
    if (!placed(k))
      return true;
  return chain.complete = true;
}

// ---- evaluation

DALEMBERT_INLINE void hold(LinkMotion &k, const PointMotion &p) { k.p = p.p, k.v = p.v, k.a = p.a; }
// turns with another link, which it slides against
DALEMBERT_INLINE void turn_with(LinkMotion &k, const LinkMotion &guide) {
  k.c = guide.c, k.s = guide.s, k.angle = guide.angle, k.w = guide.w, k.dw = guide.dw;
}
// turned so that a vector of the link, of a length, points along r
DALEMBERT_INLINE void point_along(LinkMotion &k, const PlaneVector<Pack> &r, const PlaneVector<double> &from,
                                  double square) {
  const double fx = from.x / square, fy = from.y / square;
  k.c = r.x * fx + r.y * fy, k.s = r.y * fx - r.x * fy;
  k.angle = arctan2(k.s, k.c);
}
// slid along a direction e of a guide from the point K of it
DALEMBERT_INLINE PointMotion slid(const LinkMotion &guide, const PointMotion &at, const PlaneVector<Pack> &e,
                                  const SlideMotion &s) {
  return {at.p, at.v + s.v * e, at.a + s.a * e + (Pack(2.0) * guide.w * s.v) * quarter(e)};
}

// the coordinate of a slide, by which a link has slid against the other
void tell(DyadChain &chain, int number, int link, const SlideMotion &s) {
  const PlaneJoint &joint = chain.joint[number];
  const double sense = sense_for(joint, link);
  chain.coordinate[number] = {joint.start + sense * s.s, sense * s.v, sense * s.a};
}

void place_by_drive(const ModelData &m, DyadChain &chain, const ChainStep &step, const Pack &t) {
  const PlaneJoint &joint = chain.joint[step.joints[0]];
  const LinkMotion &from = chain.motion[across(joint, step.link)];
  LinkMotion &to = chain.motion[step.link];
  const LawValue<Pack> law = drive_demand<Pack>(m, m.drives[step.drive], t, nullptr);
  const double sense = joint.sense * sense_for(joint, step.link);
  const PlaneVector<double> &on_from = place_on(joint, across(joint, step.link));
  chain.coordinate[step.joints[0]] = {law.value, law.rate, law.second};
  if (step.kind == ChainStepKind::turn) {
    to.angle = from.angle + sense * (law.value - joint.start);
    to.w = from.w + sense * law.rate, to.dw = from.dw + sense * law.second;
    sincos(to.angle, to.s, to.c);
    hold(to, point_of(from, on_from));
    return;
  }
  turn_with(to, from);
  const SlideMotion s{sense * (law.value - joint.start), sense * law.rate, sense * law.second};
  const PlaneVector<Pack> e = turned(from, joint.along);
  hold(to, slid(from, beside(from, turned(from, on_from - from.reference) + s.s * e), e, s));
}

struct BranchDistance { Pack g, rate; };

BranchDistance place_rrr(DyadChain &chain, const ChainStep &step) {
  const PlaneJoint &outer = chain.joint[step.joints[0]], &inner = chain.joint[step.joints[1]],
                   &last = chain.joint[step.joints[2]];
  LinkMotion &one = chain.motion[step.link], &two = chain.motion[step.other];
  const int base = across(outer, step.link), end = across(last, step.other);
  const PointMotion A = point_of(chain.motion[base], place_on(outer, base)),
                    B = point_of(chain.motion[end], place_on(last, end));
  const double l1 = step.lengths[0], l2 = step.lengths[1];
  const PlaneVector<Pack> d = B.p - A.p, dv = B.v - A.v;
  const Pack square = dot(d, d), inverse = 1.0 / square;
  const Pack u = 0.5 * (square + (l1 - l2) * (l1 + l2)) * inverse, h = step.branch * root(l1 * l1 * inverse - u * u);
  const PlaneVector<Pack> r1 = u * d + h * quarter(d), r2 = r1 - d;
  const Pack area = cross(r1, r2), per = 1.0 / area;
  const PlaneVector<double> from1 = place_on(inner, step.link) - place_on(outer, step.link),
                            from2 = place_on(inner, step.other) - place_on(last, step.other);
  point_along(one, r1, from1, l1 * l1);
  point_along(two, r2, from2, l2 * l2);
  one.w = dot(r2, dv) * per, two.w = dot(r1, dv) * per;
  const PlaneVector<Pack> b = B.a - A.a + (one.w * one.w) * r1 - (two.w * two.w) * r2;
  one.dw = dot(r2, b) * per, two.dw = dot(r1, b) * per;
  hold(one, A), hold(two, B);
  return {absolute(area) * (1.0 / (l1 * l2)), two.w - one.w};
}

BranchDistance place_rrp(DyadChain &chain, const ChainStep &step) {
  const PlaneJoint &outer = chain.joint[step.joints[0]], &inner = chain.joint[step.joints[1]],
                   &last = chain.joint[step.joints[2]];
  LinkMotion &one = chain.motion[step.link], &two = chain.motion[step.other];
  const int base = across(outer, step.link);
  const LinkMotion &guide = chain.motion[across(last, step.other)];
  const PointMotion A = point_of(chain.motion[base], place_on(outer, base));
  const double l1 = step.lengths[0];
  const PlaneVector<Pack> e = turned(guide, last.along);
  const PlaneVector<Pack> r = turned(guide, place_on(inner, step.other) - guide.reference), w = guide.p + r - A.p;
  const Pack off = cross(e, w), reach = step.branch * root(l1 * l1 - off * off);
  SlideMotion s;
  s.s = reach - dot(e, w);
  const PointMotion K = beside(guide, r + s.s * e);
  const PlaneVector<Pack> r1 = K.p - A.p;
  const Pack per = 1.0 / dot(r1, e);
  s.v = dot(r1, A.v - K.v) * per;
  const PlaneVector<Pack> v = K.v + s.v * e - A.v;
  one.w = cross(r1, v) * (1.0 / (l1 * l1));
  const PlaneVector<Pack> bend = (Pack(2.0) * guide.w * s.v) * quarter(e);
  s.a = (dot(r1, A.a - K.a - bend) - dot(v, v)) * per;
  one.dw = cross(r1, K.a + bend + s.a * e - A.a) * (1.0 / (l1 * l1));
  point_along(one, r1, place_on(inner, step.link) - place_on(outer, step.link), l1 * l1);
  hold(one, A);
  turn_with(two, guide);
  hold(two, slid(guide, K, e, s));
  tell(chain, step.joints[2], step.other, s);
  return {absolute(reach) * (1.0 / l1), one.w - guide.w};
}

BranchDistance place_rpr(DyadChain &chain, const ChainStep &step) {
  const PlaneJoint &outer = chain.joint[step.joints[0]], &inner = chain.joint[step.joints[1]],
                   &last = chain.joint[step.joints[2]];
  LinkMotion &one = chain.motion[step.link], &two = chain.motion[step.other];
  const int base = across(outer, step.link), end = across(last, step.other);
  const PointMotion A = point_of(chain.motion[base], place_on(outer, base)),
                    B = point_of(chain.motion[end], place_on(last, end));
  const double n = step.lengths[0], start = step.lengths[1];
  const PlaneVector<Pack> d = B.p - A.p, v = B.v - A.v, a = B.a - A.a;
  const Pack square = dot(d, d), m = step.branch * root(square - n * n), per = 1.0 / m;
  // d = m e + n J e where the link has turned e from `along`
  const PlaneVector<Pack> e = (1.0 / square) * (m * d - Pack(n) * quarter(d));
  point_along(one, e, inner.along, 1.0);
  one.w = dot(v, quarter(e)) * per;
  SlideMotion s;
  s.s = m - start;
  s.v = dot(v, e) + one.w * n;
  one.dw = (dot(a, quarter(e)) - Pack(2.0) * one.w * s.v + n * one.w * one.w) * per;
  s.a = dot(a, e) + n * one.dw + m * one.w * one.w;
  turn_with(two, one);
  hold(one, A), hold(two, B);
  tell(chain, step.joints[1], step.other, s);
  return {absolute(m), s.v};
}

// two guides cross: those of the outer joints (PRP), or the inner one, on a link that turns with the last (RPP)
BranchDistance place_crossing(DyadChain &chain, const ChainStep &step) {
  const PlaneJoint &outer = chain.joint[step.joints[0]], &inner = chain.joint[step.joints[1]],
                   &last = chain.joint[step.joints[2]];
  LinkMotion &one = chain.motion[step.link], &two = chain.motion[step.other];
  const int base = across(outer, step.link);
  const LinkMotion &guide = chain.motion[across(last, step.other)];
  const bool turns = step.kind == ChainStepKind::rpp;
  if (turns) {
    turn_with(one, guide);
    hold(one, point_of(chain.motion[base], place_on(outer, base)));
  }
  const LinkMotion &other = turns ? one : chain.motion[base];
  const PlaneVector<Pack> e1 = turned(other, turns ? inner.along : outer.along), e2 = turned(guide, last.along);
  // the point that both guides lead: of PRP the inner joint, of RPP that where the last joint was
  const PlaneVector<double> on_two = turns ? place_on(last, step.other) : place_on(inner, step.other);
  const PlaneVector<double> on_one = turns ? on_two : place_on(inner, step.link);
  const PlaneVector<Pack> k1 = turned(other, on_one - other.reference), k2 = turned(guide, on_two - guide.reference);
  const PlaneVector<Pack> b = guide.p + k2 - other.p - k1;
  const Pack area = cross(e1, e2), per = 1.0 / area;
  SlideMotion s1, s2;
  s1.s = cross(b, e2) * per, s2.s = cross(b, e1) * per;
  const PointMotion K1 = beside(other, k1 + s1.s * e1), K2 = beside(guide, k2 + s2.s * e2);
  const PlaneVector<Pack> v = K2.v - K1.v;
  s1.v = cross(v, e2) * per, s2.v = cross(v, e1) * per;
  const PlaneVector<Pack> a = K2.a - K1.a + (Pack(2.0) * guide.w * s2.v) * quarter(e2) -
                              (Pack(2.0) * other.w * s1.v) * quarter(e1);
  s1.a = cross(a, e2) * per, s2.a = cross(a, e1) * per;
  if (!turns) {
    turn_with(one, other);
    hold(one, slid(other, K1, e1, s1));
  }
  turn_with(two, guide);
  hold(two, slid(guide, K2, e2, s2));
  tell(chain, step.joints[turns ? 1 : 0], turns ? step.other : step.link, s1);
  tell(chain, step.joints[2], step.other, s2);
  return {absolute(area), guide.w - other.w};
}

DALEMBERT_INLINE Pack load(const double *p) {
  Pack x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
DALEMBERT_INLINE void store(double *p, const Pack &x) { std::memcpy(p, &x, sizeof x); }

constexpr int row_length = 1 + chain_rows + 8; // with room for the lanes after the last

// motion at W times, from row on
void evaluate_lanes(const ModelData &m, DyadChain &chain, int row) {
  const Pack t = load(chain.times + row);
  Pack least(1.0);
  for (int k = 0; k < chain.steps; ++k) {
    const ChainStep &step = chain.step[k];
    BranchDistance distance{Pack(1.0), Pack(0.0)};
    switch (step.kind) {
    case ChainStepKind::turn:
    case ChainStepKind::slide:
      place_by_drive(m, chain, step, t);
      continue;
    case ChainStepKind::rrr:
      distance = place_rrr(chain, step);
      break;
    case ChainStepKind::rrp:
      distance = place_rrp(chain, step);
      break;
    case ChainStepKind::rpr:
      distance = place_rpr(chain, step);
      distance.g = distance.g * (1.0 / std::hypot(step.lengths[0], step.lengths[1]));
      distance.rate = distance.rate * (1.0 / std::hypot(step.lengths[0], step.lengths[1]));
      break;
    default:
      distance = place_crossing(chain, step);
    }
    store(chain.g + k * row_length + row, distance.g);
    store(chain.rate + k * row_length + row, distance.rate);
    least = select(less(distance.g, least), distance.g, least);
  }
  store(chain.slack + row, least);
  for (int k = 0; k < chain.joints; ++k) {
    const PlaneJoint &joint = chain.joint[k];
    if (joint.dof < 0)
      continue;
    const std::ptrdiff_t at = std::ptrdiff_t(joint.dof) * row_length + row;
    if (joint.slides || joint.driven) {
      const SlideMotion &s = chain.coordinate[k];
      store(chain.q + at, s.s), store(chain.v + at, s.v), store(chain.a + at, s.a);
    } else {
      const LinkMotion &a = chain.motion[joint.first], &b = chain.motion[joint.second];
      store(chain.q + at, joint.start + joint.sense * (b.angle - a.angle));
      store(chain.v + at, joint.sense * (b.w - a.w));
      store(chain.a + at, joint.sense * (b.dw - a.dw));
    }
  }
}

// Adds whole turns to the angles of rows from `row` on, so that they go on from the row before.
void count_turns(DyadChain &chain, const PlaneJoint &joint, int row, int count) {
  double *q = chain.q + std::ptrdiff_t(joint.dof) * row_length, *v = chain.v + std::ptrdiff_t(joint.dof) * row_length;
  double &turns = chain.turns[joint.dof];
  if (turns == 0.0) { // most often none are missing
    const Pack way = 0.5 * (load(chain.times + row) - load(chain.times + row - 1)) * (load(v + row - 1) + load(v + row));
    const Pack missing = absolute(load(q + row - 1) + way - load(q + row));
    if ((bits(less(missing, Pack(0.5 * whole_turn))) & (every_lane >> (W - count))) == every_lane >> (W - count))
      return;
  }
  for (int k = row; k < row + count; ++k) {
    const double way = 0.5 * (chain.times[k] - chain.times[k - 1]) * (v[k - 1] + v[k]);
    const double more = std::nearbyint((q[k - 1] + way - (q[k] + whole_turn * turns)) * (1.0 / whole_turn));
    if (more != 0.0 && std::fabs(more) < 1e12) // what is no number ends the chain
      turns += more;
    q[k] += whole_turn * turns;
  }
}

// Whether lanes from `row` on follow, each with the row before, one smooth branch: a bit for each.
unsigned certain_lanes(const ModelData &m, DyadChain &chain, int row) {
  const Pack h = load(chain.times + row) - load(chain.times + row - 1), size = absolute(h);
  Pack way(0.0), error(0.0), guess(0.0);
  for (int f = 0; f < m.nv; ++f) {
    const std::ptrdiff_t at = std::ptrdiff_t(f) * row_length + row;
    const Pack per(1.0 / m.column_scale[f]);
    const Pack step = load(chain.q + at) - load(chain.q + at - 1);
    const Pack v0 = load(chain.v + at - 1), v1 = load(chain.v + at), a0 = load(chain.a + at - 1),
               a1 = load(chain.a + at);
    way = larger(way, absolute(step * per));
    error = larger(error, absolute((step - 0.5 * h * (v0 + v1) - h * h * (1.0 / 12.0) * (a0 - a1)) * per));
    guess = larger(guess, absolute((h * v0 + 0.5 * h * h * a0) * per));
  }
  // what is no number is not less than anything
  unsigned fine = bits(less(error, part_of_error * way + 1e-9)) & bits(less(guess, Pack(longest))) &
                  bits(less(way, Pack(longest)));
  for (int k = 0; k < chain.steps; ++k) {
    if (chain.step[k].kind < ChainStepKind::rrr)
      continue;
    const std::ptrdiff_t at = std::ptrdiff_t(k) * row_length + row;
    const Pack g0 = load(chain.g + at - 1), g1 = load(chain.g + at),
               rate = larger(absolute(load(chain.rate + at - 1)), absolute(load(chain.rate + at)));
    const Pack least = part_of_branch * size * rate;
    fine &= bits(less(least, g0)) & bits(less(least, g1)) & bits(less(Pack(least_branch), g1));
  }
  return fine;
}

} // namespace

std::size_t lay_out(const ModelData &m, std::byte *base, DyadChain &chain) {
  Arena arena{base};
  const std::size_t nv = std::size_t(m.nv), joints = std::size_t(m.nb + m.loop_constraint_count),
                    links = std::size_t(m.nb) + 1;
  chain.link_of = arena.take<std::int32_t>(links);
  chain.joint = arena.take<PlaneJoint>(joints);
  chain.step = arena.take<ChainStep>(links);
  chain.motion = arena.take<LinkMotion>(links);
  chain.coordinate = arena.take<SlideMotion>(joints);
  chain.q = arena.take<double>(nv * row_length);
  chain.v = arena.take<double>(nv * row_length);
  chain.a = arena.take<double>(nv * row_length);
  chain.g = arena.take<double>(links * row_length);
  chain.rate = arena.take<double>(links * row_length);
  chain.turns = arena.take<double>(nv);
  chain.slack = arena.take<double>(row_length);
  chain.times = arena.take<double>(row_length);
  return arena.used;
}

bool build_chain(const ModelData &m, const Conditions &c, const Workspace<double> &ws, const double *q,
                 DyadChain &chain) {
  chain.complete = false;
  if (!is_candidate(m, c) || !find_joints(m, ws, q, chain))
    return false;
  if (!order_steps(m, chain))
    return true;
  LinkMotion &ground = chain.motion[0];
  const Pack none(0.0);
  ground = {Pack(1.0), none, none, none, none, {none, none}, {none, none}, {none, none}, {0.0, 0.0}};
  return chain.complete;
}

void begin_rows(const ModelData &m, DyadChain &chain, double t, const double *q, const double *v, const double *a,
                bool &matches) {
  for (int k = 0; k < row_length; ++k)
    chain.times[k] = t;
  evaluate_lanes(m, chain, 0);
  matches = true;
  for (int k = 0; k < chain.joints; ++k) {
    const PlaneJoint &joint = chain.joint[k];
    if (joint.dof < 0)
      continue;
    const double gap = q[joint.coordinate] - chain.q[std::ptrdiff_t(joint.dof) * row_length];
    const double turns = joint.slides ? 0.0 : std::nearbyint(gap * (1.0 / whole_turn));
    matches &= std::fabs(gap - whole_turn * turns) <= same_position * m.column_scale[joint.dof];
  }
  for (int f = 0; f < m.nv; ++f) {
    const std::ptrdiff_t at = std::ptrdiff_t(f) * row_length;
    chain.q[at] = q[f], chain.v[at] = v[f], chain.a[at] = a[f], chain.turns[f] = 0.0;
  }
}

int follow_chain(const ModelData &m, DyadChain &chain, const double *times, int count) {
  for (int k = 0; k < chain_rows + 8; ++k)
    chain.times[1 + k] = times[k < count ? k : count - 1];
  for (int row = 1; row <= count; row += W) {
    evaluate_lanes(m, chain, row);
    const int lanes = std::min(W, count + 1 - row);
    for (int k = 0; k < chain.joints; ++k)
      if (const PlaneJoint &joint = chain.joint[k]; joint.dof >= 0 && !joint.slides && !joint.driven)
        count_turns(chain, joint, row, lanes);
    const unsigned fine = certain_lanes(m, chain, row);
    for (int lane = 0; lane < lanes; ++lane)
      if (!(fine >> lane & 1u))
        return row - 1 + lane;
  }
  return count;
}

void read_rows(const ModelData &m, const DyadChain &chain, int count, double *q, double *v, double *a, double *slack) {
  for (int f = 0; f < m.nv; ++f) {
    const std::ptrdiff_t at = std::ptrdiff_t(f) * row_length + 1;
    for (int k = 0; k < count; ++k) {
      q[k * m.nq + f] = chain.q[at + k];
      v[k * m.nv + f] = chain.v[at + k];
      a[k * m.nv + f] = chain.a[at + k];
    }
  }
  std::copy_n(chain.slack + 1, count, slack);
}

void keep_row(const ModelData &m, DyadChain &chain, int row) {
  chain.times[0] = chain.times[row];
  for (double *of : {chain.q, chain.v, chain.a})
    for (int f = 0; f < m.nv; ++f)
      of[std::ptrdiff_t(f) * row_length] = of[std::ptrdiff_t(f) * row_length + row];
  for (double *of : {chain.g, chain.rate})
    for (int k = 0; k < chain.steps; ++k)
      of[std::ptrdiff_t(k) * row_length] = of[std::ptrdiff_t(k) * row_length + row];
}

} // namespace dalembert::DALEMBERT_ISA
