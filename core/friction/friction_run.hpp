// Dry friction and stops of one run: rows, their modes between two changes, and the changes so far.
//
// A row is a coordinate with dry friction, stops, or both: of a joint of the trees, of a cut joint, or the length of a
// rope. With u its velocity and lam the effort on it, friction f and static friction s >= f,
//
//     u > 0: lam = -f,     u < 0: lam = f,     u = 0: lam in [-s, s], at a stop up to infinity                    (1)
//
// Between two changes every row has a mode. A sliding row has a given sign, which its friction keeps even if a step
// passes its rest. A stuck row is locked, and its effort is that of the lock. Modes change where a sliding row comes to
// rest, where the holding efforts leave their bounds, and where a coordinate reaches a stop (friction/crossings.hpp,
// friction/mode_change.hpp).
#pragma once

#include "numerics/bounded_qp.hpp"
#include "runs/memory_pool.hpp"
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
  double sliding_friction, static_friction; // as described, N m or N
  double static_ratio;                      // static coefficient divided by sliding coefficient
  double lower, upper;                      // stops, rad or m; infinite: none
  double restitution;
  double rest_tol; // slower is at rest, rad/s or m/s
};

// Modes of all rows between two changes.
struct FrictionModes {
  std::vector<double> sign;            // of the velocity of sliding rows; 0 of others
  std::vector<double> side;            // -1 on the lower stop, 1 on the upper stop, else 0
  std::vector<unsigned char> stuck;    // at rest, by friction or by stops
  std::vector<unsigned char> immobile; // at rest, and no effort can move it in this configuration
  std::vector<std::int32_t> locked;    // independent rows among the stuck ones, in order

  void resize(std::size_t n) {
    sign.assign(n, 0.0), side.assign(n, 0.0), stuck.assign(n, 0), immobile.assign(n, 0);
    locked.clear();
    locked.reserve(n);
  }
};

// Limits of the efforts h that hold stuck rows: with lam within the bounds of each row, lam_l + C' lam_r = h, l the
// locked rows, r those that depend on them, J_r = C J_l.
struct HoldingLimits {
  bool holds = false; // there are locked rows
  std::vector<std::int32_t> dependent;
  std::vector<unsigned char> unbounded_below, unbounded_above; // rows that a stop pushes
  std::vector<double> coupling;                                // C', locked x dependent
  std::vector<double> scale;                                   // sizes of the efforts of all rows
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

// A change of modes, as it is reported.
struct FrictionChange {
  double t;
  bool velocities_jumped;
  std::vector<double> before, after; // states q, v, x
  FrictionModes modes;               // after it
  HoldingLimits holding;             // after it
  std::vector<StopImpact> impacts;
  std::vector<std::int32_t> unloaded; // rows on stops whose load is zero within rounding
};

// Memory of one run; a copy of the run has none of it.
struct OwnMemory {
  std::unique_ptr<Block> block;
  OwnMemory() = default;
  OwnMemory(const OwnMemory &) {}
  OwnMemory &operator=(const OwnMemory &) { return *this; }
};

struct FrictionRun {
  // ---- description
  std::vector<FrictionRow> rows;
  std::vector<RowSwitch> switches; // the last switching function, after these, is the margin of the holding efforts
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
  double rest_tol_factor = 1.0;
  std::vector<double> values;       // of the switching functions at the state of the run
  std::vector<double> change_times; // of recent changes, s, the latest last
  std::vector<double> parameters;   // of the elements, with modes
  std::vector<unsigned char> current_prescribed[3], current_cut_locked; // with the locks of stuck rows

  // ---- reported
  std::vector<FrictionChange> changes;
  std::vector<std::int32_t> passed; // switching functions that crossed zero at the last change

  // ---- workspace
  std::vector<std::int32_t> constraint, part; // of rows of cut joints: the loop constraint, and the velocity in it
  bool has_cut_rows = false, has_load_friction = false;
  std::vector<unsigned char> movable; // neither driven nor locked by the user
  std::vector<unsigned char> opened;  // zero for each loop constraint: all loops are open
  std::vector<double> s, u, cut_q, cut_v, cut_a, signals;
  std::vector<double> J, D, A, own; // rows x nv, rows x nv, rows x rows, rows: see friction/row_response.hpp
  std::vector<double> efforts, held_efforts, limits; // of all velocities, of locked rows; static friction of all rows
  std::vector<double> state;                         // q, v, x before a change
  BoundedQp qp;
  FreeSet independent;
  OwnMemory report_memory; // of evaluations with holding efforts

  int count() const { return int(rows.size()); }
  int function_count() const { return int(switches.size()) + 1; }
};

} // namespace dalembert
