// State, memory and log of a run with rigid contact by events (contact/contact_modes.hpp). Plain data: the arithmetic is
// in contact/contact_motion.hpp, contact/contact_impacts.hpp, contact/contact_modes.hpp and contact/contact_watch.hpp.
#pragma once

#include "contact/contact_steps.hpp"
#include "dense/pivoted_qr.hpp"
#include <algorithm>

namespace dalembert {

enum class ContactMode : std::int32_t { open, sticks, slides };

// A contact point that is closed, a stop of a joint (without friction), or dry friction of a joint, which is always here:
// its slip is its velocity, along the first row, and the bound of its effort does not depend on a load.
struct ClosedPoint {
  std::int32_t contact, material, shapes[2], places[2], features[2]; // as ScenePoint
  std::int32_t stop = -1, joint = -1; // stop; dry friction of a joint; both -1: a contact point
  SceneFeature first, second;
  double start[2];                               // angles near the points of rims, rad
  double axis[3];                                // the first tangent is across it, world axes
  double friction, static_friction, restitution; // of a joint: bounds of the effort, N m or N
  ContactMode mode;
  bool carries;        // its force is an unknown; false: others carry its load, or drive the joint
  double direction[3]; // slip where a step begins, unit, world axes; of a joint: its sign, 0, 0
  double slow_slip;    // slip velocity where the last step ended, if it was one of rest; 0: it was not, m/s
  double fastest;      // largest slip velocity since it has last stuck, m/s
  double scale;        // largest scale of it (contact/contact_motion.hpp) since then, m/s; of joints 0

  bool touches() const { return stop < 0 && joint < 0; }
  bool slides_with_friction() const { return mode == ContactMode::slides && friction > 0.0 && stop < 0; }
  // rows that its mode holds: [first_held, last_held)
  int first_held() const { return joint < 0 && mode != ContactMode::sticks ? 2 : 0; }
  int last_held() const { return joint < 0 ? 3 : mode == ContactMode::sticks ? 1 : 0; }

  bool is(const ScenePoint &p) const {
    return touches() && shapes[0] == p.shapes[0] && shapes[1] == p.shapes[1] && features[0] == p.features[0] &&
           features[1] == p.features[1];
  }
  bool is(const ClosedPoint &p) const {
    return stop == p.stop && joint == p.joint &&
           (!touches() || (shapes[0] == p.shapes[0] && shapes[1] == p.shapes[1] && features[0] == p.features[0] &&
                           features[1] == p.features[1]));
  }
};

// An impact at one point.
struct ImpactPoint {
  std::int32_t contact, shapes[2], stop;
  double place[3], normal[3], impulse[3]; // on the second shape, N s; world axes
  double before, after;                   // normal velocities, m/s
  double normal_work, friction_work;      // done by the impulse, J
};

// A change of the modes at a time: impacts, then the closed points and their modes.
struct ContactChange {
  double t;
  double energy;           // change of the kinetic energy by the impacts, J
  double restitution_part; // 1; less: restitution was lowered by this factor, lest energy grows
  bool reverses;           // slip of a point has reversed
  bool two_solutions;      // a sliding point may as well open as be pressed (Painleve)
  bool jams;               // the impulse stopped sliding that no force can go on with
  std::vector<ImpactPoint> impacts;
  std::vector<ClosedPoint> after;
};

enum class ContactFailure : std::int32_t { none, undecided, crowded, frequent, stagnated };

// A gap at a state within a step.
struct WatchedGap {
  std::uint64_t shapes, features;
  double gap, rate; // m, m/s

  bool operator<(const WatchedGap &other) const {
    return shapes != other.shapes ? shapes < other.shapes : features < other.features;
  }
};

// A stop at a state: rad or m, rad/s or m/s.
struct StopMotion {
  double gap, rate;
};

// Newton's restitution of all points at once, of one pair of shapes after the other, or Poisson's restitution at once.
enum class ImpactLaw : std::int32_t { at_once, in_turn, poisson };

struct ContactEvents {
  ContactSteps rows; // scene, stops, searches; rows of the points in `closed` at a state, and their responses
  int max_points = 16;
  double max_rate = 1000.0;                         // changes per second
  double closed_gap = 1e-9;                         // m: points closer than this are closed at a change
  double overlap = 1e-10;                           // m: a gap that falls below minus this closes
  double rest_tol = 1e-9, relative_rest_tol = 1e-9; // velocity at rest: m/s, and of the largest scale of slip
  double hop_height = 1e-9;                         // m: rebounds lower than this are none
  static constexpr double well_above = 100.0;
  ImpactLaw impact_law = ImpactLaw::at_once;

  std::vector<ClosedPoint> closed;
  // of a run that is repeated: modes from each time on, in place of those that are determined
  bool repeats = false;
  bool starts_closed = false; // a state at which a run starts is put onto the closed points first
  std::vector<double> known_times;
  std::vector<std::vector<ClosedPoint>> known_modes;

  // m/s or rad/s: A slower point or joint is at rest. A point whose slip was well above the errors of its terms counts as
  // at rest within them: they keep its slip from becoming smaller. One that begins to slide is slower for a while.
  double resting(const ClosedPoint &p) const {
    const bool slid = p.fastest > well_above * relative_rest_tol * p.scale;
    return rest_tol + relative_rest_tol * (slid ? std::max(p.fastest, p.scale) : p.fastest);
  }
  double rest_speed(const ClosedPoint &p) const { return widening * resting(p); }

  // whether an effort along a row moves anything; it does not at dead points of loops
  bool responds(std::size_t row) const { return D[row * 3 * closed.size() + row] > 0.0; }

  void set_known_modes(double t) {
    const auto row = std::upper_bound(known_times.begin(), known_times.end(), t) - known_times.begin();
    if (row)
      closed = known_modes[std::size_t(row - 1)];
    else
      closed.clear();
  }

  // log
  std::vector<ContactChange> changes;
  std::int64_t change_count = 0;
  bool redundant = false, not_unique = false; // shares of forces are not unique; nor are friction forces
  ContactFailure failure = ContactFailure::none;
  double failure_time = 0.0;
  std::vector<ClosedPoint> failed; // points that the failure is about

  // progress
  std::vector<double> recent; // times of the last changes
  double widening = 1.0;      // of rest_tol, where changes make no progress

  // space
  std::vector<ScenePoint> points;  // of `closed` at a state
  std::vector<double> point_rates; // 27 each: rates of the axes, of both points and of the velocity without forces
  std::vector<double> D, b, lam, u, w, right, unknowns;
  std::vector<double> known, right_of_known; // efforts of joints that slide; accelerations with them
  std::vector<int> columns;                  // unknowns: 3 point + row
  dense::PivotedQr outer, inner;
  int rank = 0;
  double force_scale = 0.0, rate_scale = 0.0;
  std::vector<double> q, v, x, a, dx, mu, shift;
  std::vector<WatchedGap> gaps, gaps_before, pairs, pairs_before;
  std::vector<StopMotion> stop_gaps; // where a step begins
  // of stops and dry friction of joints: efforts (nv + cut_nv), loads of those of cut joints on the bodies (users x 6)
  std::vector<double> joint_efforts, joint_loads;
};

} // namespace dalembert
