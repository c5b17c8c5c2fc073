// State, memory and log of a run with rigid contact by steps (steppers/methods/moreau.hpp). Plain data: the arithmetic is
// in the stepper.
#pragma once

#include "contact/contact_scene.hpp"
#include "numerics/cone_solver.hpp"
#include "numerics/cone_sweeps.hpp"
#include "runs/growing_array.hpp"
#include <cstdint>
#include <memory>
#include <vector>

namespace dalembert {

// A stop of a joint or of a rope: its coordinate may not pass a limit.
struct JointStop {
  std::int32_t coordinate, dof; // indices of its coordinate and of its velocity (contact/joint_rows.hpp)
  double limit, sign;           // sign: 1 lower, -1 upper
  double restitution;
  std::int32_t block; // its velocity belongs to
};

// Dry friction of a joint: an effort up to a bound, against its velocity.
struct JointFriction {
  std::int32_t dof;
  double sliding, at_rest; // bounds, N m or N
  std::int32_t block;      // its velocity belongs to
};

// Moments of friction at a contact point.
enum class Turning : std::int8_t { none, rolls, spins };

// Rows of a step: a contact point, a stop (the third row, without friction), dry friction of a joint (the first row), or
// moments at the contact point of a row before it: about both tangents (the first two rows) or about the normal (the first).
struct ContactRow {
  std::int32_t point;     // in the list of the search; -1: a stop or a joint
  std::int32_t stop;      // -1: none
  std::int32_t friction;  // of a joint; -1: none
  Turning turning = Turning::none;
  double arm = 0.0;       // m: largest moment divided by the normal force
  std::int32_t after = 0; // how many rows after that of its point
  std::int32_t blocks[2]; // velocities that it acts on; -1: none
  std::int32_t island;
  double axes[9];                           // two tangents and the normal, world axes, rows
  double gap;                               // m or rad
  double approach;                          // normal velocity before the step, negative while it closes, m/s or rad/s
  double mu, sliding_friction, restitution; // mu: static friction while it sticks; of joints the bound of the effort
  double static_friction;
  bool known;      // it was a contact of the last step
  double start[3]; // force of the last step along the axes, N

  int first() const { return stop >= 0 ? 2 : 0; } // of its rows that act
  int last() const { return friction >= 0 || turning == Turning::spins ? 1 : turning == Turning::rolls ? 2 : 3; }
};

// What is kept of a point of a step for the next one, by name.
struct ContactMemory {
  std::uint64_t shapes, features; // pair of shapes, pair of features
  double force[3];                // on the second shape, world axes, N
  bool sticks;

  bool operator<(const ContactMemory &other) const {
    return shapes != other.shapes ? shapes < other.shapes : features < other.features;
  }
};

// Points that carried a load in a step; stops and friction of joints have contact -1, and -1 and the velocity as shapes.
struct ContactLogPoint {
  std::int32_t contact, shapes[2];
  std::int32_t state;                        // 1 sticks, 2 slides
  double place[3], normal[3], force[3], gap; // force on the second shape, N; world axes
  double slip;                               // sliding velocity, m/s
  double friction_work, normal_work;         // done by the force in the step, J
  double impact_speed, time;                 // approach of an impact, 0: none, m/s; when, s
  double moment[3];                          // of rolling and spin friction on the second shape, N m; world axes
};

struct ContactLog {
  GrowingArray<double> times; // beginnings of the steps
  GrowingArray<double> begin; // first point of each step
  GrowingArray<ContactLogPoint> points;
  GrowingArray<double> loads; // of each step users x 6: [moment; force] on the bodies at their origins, world axes
  GrowingArray<double> efforts; // of each step nv + cut_nv, of stops and dry friction of joints; none without these

  void clear() { times.clear(), begin.clear(), points.clear(), loads.clear(), efforts.clear(); }
};

// A block that is one free body: its response needs no recursion.
struct FreeBlock {
  bool alone = false;     // nothing but a free joint carries the body, and it carries nothing
  double given[10] = {};  // mass, first moment, inertia about the origin of F: those of what follows
  double center[3] = {};  // of mass, in F
  double over_mass = 0.0; // 1 / mass
  double turns[6] = {};   // inverse of the inertia about the centre: xx, xy, xz, yy, yz, zz

  // whether the inertia is that of a ball
  bool turns_evenly() const {
    const double least = 1e-9 * turns[0];
    const auto differ = [&](double a, double b) { return a - b > least || b - a > least; };
    return !(differ(turns[3], turns[0]) || differ(turns[5], turns[0]) || differ(turns[1], 0.0) ||
             differ(turns[2], 0.0) || differ(turns[4], 0.0));
  }
};

// A part of a step, or an impact within it, with its solution: what derivatives of the step need
// (steppers/methods/moreau_derivatives.hpp).
struct ContactPart {
  double step;                  // when the step begins, s
  double t, h;                  // beginning and length, s; length 0: an impact
  std::vector<double> q, v, x;  // where it begins
  std::vector<double> q1;       // where it ends
  std::vector<ContactRow> rows; // `point`: in `points`
  std::vector<ScenePoint> points;
  std::vector<double> lam;         // impulses, 3 for each row, N s
  std::vector<double> separation;  // of overlaps that were removed, in units of impulses, for each row
  std::vector<double> bound;       // friction as in numerics/cone_sweeps.hpp, for each row
  std::vector<std::int32_t> kind;  // of c_n, moreau.hpp (4), (5): 0 none, 1 restitution, 2 an open contact; for each row
  bool lowered;                    // restitution was lowered, lest energy grows
  bool swept;                      // the impulses are those of sweeps
};

// Space of the bisection for the largest restitution that adds no energy: by island, but for rows and velocities.
struct RestitutionWorkspace {
  std::vector<ContactRow> rows; // as described, before impulses
  std::vector<double> free;
  std::vector<double> part, low, high, work, size;
  std::vector<unsigned char> lowered, gains;
};

struct ContactSteps {
  const ContactScene *scene = nullptr;
  std::vector<JointStop> stops;
  std::vector<JointFriction> friction;
  bool logs = true;
  bool logs_last_only = false;   // the log has the last step only
  double tolerance = 1e-10;      // residual of the cone problems, m/s
  double sweep_tolerance = 1e-6; // of large islands
  int dense_points = 64;         // islands with more points are solved by sweeps
  int max_sweeps = 50;

  // of the last step
  std::vector<ContactRow> rows;       // in the order of their islands
  std::vector<ContactMemory> memory;  // in order
  std::vector<ContactMemory> earlier; // before the last step
  bool keeps_parts = false;
  std::vector<ContactPart> parts; // since they were taken
  ContactLog log;
  // of the run
  double missed = 0.0, missed_time = 0.0; // largest residual of a cone problem, m/s, and when
  std::int64_t points = 0, newton_steps = 0, admm_iterations = 0, sweeps = 0, failures = 0;
  double restitution_part = 1.0, restitution_time = 0.0; // smallest part of restitution that adds no energy, and when
  double deepest = 0.0, deepest_time = 0.0;              // largest overlap at the end of a step, m, and when

  // space
  std::vector<double> motions;                                           // 6 for each body
  std::vector<std::int32_t> block, block_start, block_first, block_last; // of each body; of each block
  std::vector<FreeBlock> free_blocks;
  bool all_free = false; // every block is a free body
  bool has_joint_terms = false; // elements act along single coordinates: damping and stiffness within a step
  bool has_cut_joints = false; // rows of cut joints act
  std::vector<double> cut_q, cut_v, cut_a; // motion of cut joints: see contact/joint_rows.hpp
  std::vector<std::int32_t> row_blocks, order, order_begin, order_next;
  std::vector<std::int64_t> at;     // of each side of a row: where its J and Y begin
  std::vector<std::int32_t> parent; // of blocks: another one of its island
  std::vector<double> J, Y, bias, mu, D, b, lam, change, displacement, no_friction, gaps;
  std::vector<double> q, v, x; // the state within a step
  std::vector<double> u_before, u_after; // velocities of the rows before the step and after it: 3 for each
  std::vector<double> before;  // velocities before contact, in the axes of the middle of the step
  std::vector<double> free;    // velocities without contact
  RestitutionWorkspace restitution;
  ConeSolver solver;
  ConeSweeps sweeper;
  std::unique_ptr<ContactSearch> search, impact_search; // in the middle of a step; at impacts
  std::vector<unsigned char> skip, skip_stops;          // points and stops that are no contacts of a step

  // adds the statistics of another run
  void add_statistics(const ContactSteps &other) {
    if (other.missed > missed)
      missed = other.missed, missed_time = other.missed_time;
    if (other.restitution_part < restitution_part)
      restitution_part = other.restitution_part, restitution_time = other.restitution_time;
    if (other.deepest > deepest)
      deepest = other.deepest, deepest_time = other.deepest_time;
    points += other.points, newton_steps += other.newton_steps, admm_iterations += other.admm_iterations;
    sweeps += other.sweeps, failures += other.failures;
  }
  // the same contacts for another run, without memory and log
  ContactSteps fresh() const {
    ContactSteps other;
    other.scene = scene, other.stops = stops, other.friction = friction;
    other.logs = logs, other.logs_last_only = logs_last_only;
    other.tolerance = tolerance, other.sweep_tolerance = sweep_tolerance;
    other.dense_points = dense_points, other.max_sweeps = max_sweeps;
    other.search = std::make_unique<ContactSearch>(*scene);
    other.impact_search = std::make_unique<ContactSearch>(*scene);
    return other;
  }
};

} // namespace dalembert
