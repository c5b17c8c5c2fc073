// Dry friction and stops of one run: rows, their modes between two changes, and the changes so far.
//
// A row is a coordinate with dry friction, stops, or both: of a joint of the trees, of a cut joint, or the length of a
// rope. With u its velocity and lam the effort on it, friction f and static friction s >= f,
//
//     u > 0: lam = -f,     u < 0: lam = f,     u = 0: lam in [-s, s], at a stop up to infinity                    (1)
//
// Rows of a vector group, as those of a ball joint, have |lam / f| <= 1 as one vector, against the motion.
//
// Between two changes every row has a mode. A sliding row has a given sign, which its friction keeps even if a step
// passes its rest. A stuck row is locked, and its effort is that of the lock. Modes change where a sliding row comes to
// rest, where the holding efforts leave their bounds, and where a coordinate reaches a stop (steppers/switching/crossing_search.hpp,
// friction/mode_change.hpp).
#pragma once

#include "friction/rows_at_rest.hpp"
#include "numerics/bound_widening.hpp"
#include "runs/memory_pool.hpp"
#include "steppers/switching/crossing_workspace.hpp"
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace dalembert {

struct FrictionRow {
  std::int32_t place;             // index of its velocity: those of the trees, then of cut joints
  std::int32_t coordinate;        // index of its coordinate: those of the trees, then of cut joints; -1: none
  std::int32_t friction;          // parameter of its friction, N m or N; -1: it has none
  std::int32_t mode;              // parameter of its mode: the sign of sliding, or 0
  std::int32_t coefficient, load; // parameter of its coefficient, and signal of the load that it multiplies; -1: none
  std::int32_t group;             // number of its vector group; -1: none
  double sliding_friction, static_friction; // as described, N m or N
  double static_ratio;                      // static coefficient divided by sliding coefficient
  double lower, upper;                      // stops, rad or m; infinite: none
  double restitution;
  double rest_tol; // slower is at rest, rad/s or m/s
};

// Modes of all rows between two changes.
struct FrictionModes {
  std::vector<double> sign;            // of the velocity of sliding rows; 0 of others. Of groups: the slip direction
  std::vector<double> side;            // -1 on the lower stop, 1 on the upper stop, else 0
  std::vector<unsigned char> stuck;    // at rest, by friction or by stops
  std::vector<unsigned char> immobile; // at rest, and no effort can move it in this configuration
  std::vector<std::int32_t> locked;    // independent rows among the stuck ones, in order
  // switching functions of laws that help to hold stuck rows, and of laws in sliding mode
  std::vector<std::int32_t> holding_laws, sliding_laws;

  void resize(std::size_t n) {
    sign.assign(n, 0.0), side.assign(n, 0.0), stuck.assign(n, 0), immobile.assign(n, 0);
    locked.clear();
    locked.reserve(n);
  }
};

// Limits of the efforts h that hold stuck rows: with lam within the bounds of each row, lam_l + C' lam_r = h, l the
// locked rows, r those that depend on them, J_r = C J_l. Laws that help to hold them are rows after all others.
struct HoldingLimits {
  bool holds = false; // there are locked rows
  std::vector<std::int32_t> dependent;
  std::vector<unsigned char> unbounded_below, unbounded_above; // rows that a stop pushes
  std::vector<double> coupling;                                // C', locked x dependent
  std::vector<double> scale;                                   // sizes of the efforts of all rows
  std::vector<std::int32_t> group;                             // vector group of each row; -1: bounds of its own
  // sets of rows that hold together: of each locked row, and of each dependent row
  std::vector<std::int32_t> set_of_locked, set_of_dependent;
  int sets = 0;

  void resize(std::size_t n) {
    unbounded_below.assign(n, 0), unbounded_above.assign(n, 0), scale.assign(n, 0.0), group.assign(n, -1);
    dependent.clear(), coupling.clear(), set_of_locked.clear(), set_of_dependent.clear();
    dependent.reserve(n), coupling.reserve(n * n), set_of_locked.reserve(n), set_of_dependent.reserve(n);
    holds = false, sets = 0;
  }
  // space for rows and laws
  void extend(std::size_t n) {
    unbounded_below.resize(n, 0), unbounded_above.resize(n, 0), scale.resize(n, 0.0), group.resize(n, -1);
    dependent.reserve(n), coupling.reserve(n * n), set_of_dependent.reserve(n);
  }
};

enum class SwitchKind : std::int32_t { rest, lower, upper };

// A switching function of a row; it falls below zero at a change.
struct RowSwitch {
  SwitchKind kind;
  std::int32_t row;
};

struct StopImpact {
  std::int32_t row, side;
  double speed; // of approach, rad/s or m/s
};

// Rows that were held without regard to their limits, because their modes changed without progress.
struct HoldNote {
  std::vector<std::int32_t> rows;
  int changes = 0;   // without progress
  double time = 0.0; // length of the hold, s
};

// A change of modes, as it is reported.
struct FrictionChange {
  double t;
  bool velocities_jumped;
  std::vector<double> before, after; // states q, v, x
  FrictionModes modes;               // after it
  std::vector<StopImpact> impacts;
  std::vector<std::int32_t> unloaded; // rows on stops whose load is zero within rounding
  std::vector<std::int32_t> passed;   // switching functions that crossed zero
  HoldNote hold;
  std::vector<std::int32_t> jams;      // rows that were stopped at once: no friction was consistent with their load
  double jam_gain = 0.0;               // gain of friction on its own load there
  std::vector<std::int32_t> gain_rows; // sliding rows with a gain of one or more: accelerations may not be unique
  double gain = 0.0;
};

// Changes so far, as far as progress is judged by them (friction/progress.hpp).
struct FrictionProgress {
  std::vector<double> times;          // of recent changes, s, the latest last
  std::vector<unsigned char> changed; // changes x rows: modes that changed
  double rest_tol_factor = 1.0;
  double hold_time = 0.0; // length of the last hold, s
  double held_until = -std::numeric_limits<double>::infinity();
  double next_review = std::numeric_limits<double>::infinity(); // end of the present hold
  std::vector<unsigned char> held;                              // rows of the last hold
};

enum class FrictionFailure : std::int32_t { none, no_solution, stagnated, not_finite };

// Workspace of one change (friction/change.hpp).
struct ChangeWorkspace {
  std::vector<double> s, u, speed; // coordinates, velocities, slip speeds of the rows
  std::vector<double> side, sign, free_accelerations, sizes, friction, static_friction;
  std::vector<unsigned char> at_rest, sliding, starting, broke_away, low, high, held, marks;
  FrictionModes before, start, last; // before the change; before and in rounds of load-dependent limits
  HoldingLimits held_before;
  std::vector<double> state, parameters, base_signals, impulses, sums; // state: q, v, x before
  std::vector<int> rows, others, chosen, slides;
  std::vector<int> jams, jammed;     // rows without a friction consistent with their load; those that are stopped
  std::vector<double> gain, squared; // friction/load_limits.hpp
  std::vector<double> jammed_A, jammed_D; // the response A, D while jammed rows were free
  bool released = false;             // stuck rows cannot all be held any longer
  // closed stops along their normals
  std::vector<int> stops;
  std::vector<double> stop_A, stop_u, stop_a, pressed, zero, unlimited, restitution, stop_b, stop_lower, stop_x;
  std::vector<unsigned char> stays;
  // response that is known: of rows, for marks of velocities that do not respond
  std::vector<int> responding;
  std::vector<unsigned char> responding_marks;
  bool responds = false;
};

// Workspace of the margin of holding efforts (friction/holding_margin.hpp).
struct HoldingWorkspace {
  BoundWidening widening;
  std::vector<int> rows, locked, dependent; // of one set
  std::vector<std::int32_t> group;
  std::vector<double> h, lower, upper, f, wide, coupling;
};

// Laws that jump at the state of a change (friction/discontinuous_laws.hpp).
struct DiscontinuousLaws {
  bool possible = false;                     // the model has such laws
  std::vector<double> sides;                 // switching_count: branches of laws in the modes; NaN: those that fit
  int count = 0;                             // laws at their jumps that push back along their switching functions
  std::vector<std::int32_t> functions;       // their switching functions
  std::vector<unsigned char> by_coordinates; // of coordinates rather than velocities
  std::vector<double> G, D;                  // count x nv: slopes of the switching functions, responses to efforts
  std::vector<double> strength;              // half of the jumps, along the slopes, N m or N
  std::vector<double> offsets, rates;        // values of the switching functions; their rates without efforts
  std::vector<double> mean; // switching_count: means of both branches of these laws, branches of passed ones
  std::vector<int> helping; // of these laws: those that help to hold rows
  std::vector<double> values, above, below, over_q, over_v, held; // workspace
  std::vector<double> q, v, x, move, efforts;
};

struct FrictionRun {
  // ---- description
  std::vector<FrictionRow> rows;
  std::vector<RowSwitch> switches; // after these: the end of a hold, and the margin of the holding efforts
  double position_tol = 0.0;       // a coordinate this far beyond a stop has reached it, rad or m
  double span = 0.0;               // length of the run, s
  double weight = 0.0;             // size of gravity in the metric of the mass matrix
  double longest_step = 0.0, longest_stuck_step = 0.0;  // s: while nothing sticks, and while a row does
  std::vector<unsigned char> prescribed[3], cut_locked; // acceleration, velocity, position (nv); cut joints (cut_nv)

  // ---- state
  bool undetermined = false; // modes have to be found where the run starts
  bool pauses = false;       // the run pauses after each change
  FrictionModes modes;
  HoldingLimits holding;
  FrictionProgress progress;
  std::vector<double> values;     // of the switching functions at the state of the run
  std::vector<double> parameters; // of the elements, with modes
  std::vector<unsigned char> current_prescribed[3], current_cut_locked; // with the locks of stuck rows

  // ---- reported
  std::vector<FrictionChange> changes;
  std::vector<std::int32_t> passed; // switching functions that crossed zero at the last change
  FrictionFailure failure = FrictionFailure::none;
  std::vector<std::int32_t> failed_rows;
  int failed_changes = 0;   // changes without progress
  double failed_time = 0.0; // within this time, s

  // ---- workspace
  std::vector<std::int32_t> constraint, part;    // of rows of cut joints: the loop constraint, and the velocity in it
  std::vector<std::vector<std::int32_t>> groups; // rows of vector groups
  bool has_cut_rows = false, has_load_friction = false;
  std::vector<unsigned char> movable; // neither driven nor locked by the user
  std::vector<unsigned char> opened;  // zero for each loop constraint: all loops are open
  std::vector<double> s, u, speed, cut_q, cut_v, cut_a, signals;
  std::vector<double> J, D, A, own; // rows x nv, rows x nv, rows x rows, rows: see friction/row_response.hpp
  std::vector<double> efforts, held_efforts, limits; // of all velocities, of locked rows; static friction of all rows
  ChangeWorkspace change;
  RowsAtRest problem, combined; // of rows; of rows and laws
  DiscontinuousLaws laws;
  BoundedQp qp;
  FreeSet independent;
  HoldingWorkspace margins;
  CrossingWorkspace search;
  OwnMemory report_memory; // of evaluations with holding efforts

  int count() const { return int(rows.size()); }
  int review_function() const { return int(switches.size()); }
  int margin_function() const { return int(switches.size()) + 1; }
  int function_count() const { return int(switches.size()) + 2; }
};

} // namespace dalembert
