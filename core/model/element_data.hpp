// Constants of force elements: ports, inputs, laws, switching functions; actuators and drives.
#pragma once

#include <cstdint>

namespace dalembert {

// What an element measures and acts along: the coordinate of a joint; the distance of two points; the place of B in A
// (3); place and attitude, as a rotation vector (6). Rates go with them; those of an attitude are angular velocity. A
// load measures nothing but the velocity of B, in axes of the world or in its own (6).
enum class Measure : std::int32_t { joint, distance, place, pose, load_world, load_body };

// where an element measures and acts: between frames A and B, or at a joint, of a tree or cut
struct PortData {
  double R_FA[9], p_FA[3], R_FB[9], p_FB[3];
  Measure measure;
  std::int32_t body_a, body_b;
  std::int32_t dof, coordinate;  // of a joint of a tree; a degree of freedom of an attitude has no coordinate (-1)
  std::int32_t constraint, part; // of a cut joint: the loop constraint, and which of its velocities; else -1
  std::int32_t actuator;         // at a joint: from 1, whose bound what it gives counts to; 0: none
  std::int32_t turns;            // of a pose: the law of its element takes the rotation vector
};

// what actuators can give together at a velocity of a joint
struct ActuatorData {
  double bound;
  std::int32_t port; // at that joint
};

// where a further input of a law comes from
enum class Source : std::int32_t {
  law,      // of time: its number; `part`: its place among the inputs that may be set from outside
  port,     // what is measured elsewhere: a port; `part` counts its measures, then their rates
  state,    // of any element: its place among the states
  signal,   // of an element before: its place among the signals
  feedback, // a load that a connection transmits: its place among those
};
struct InputData {
  Source source;
  std::int32_t place, part;
};

// A load that a joint or loop constraint transmits to its second marker M, at its origin and in its axes. It depends on
// the forces that depend on it; system/load_feedback.hpp finds both.
struct FeedbackData {
  std::int32_t connection; // joints of the trees by the user's numbers of their bodies, from 0; then loop constraints
  std::int32_t part;       // of [moment; force]
};

// how the law of an element is given
enum class LawForm : std::int32_t {
  program,
  function, // outside
  linear,   // parameters stiffness, damping, rest: -k (s - rest) - c s'
  limits,   // parameters lower, upper, stiffness, damping: beyond them, never pulling
  inputs,   // forces are the inputs
  // parameters friction and mode of each measure, coefficient, slip; inputs: none, or loads for each measure
  dry_friction,
  bushing, // of a pose: six stiffnesses and six dampings; `law` has a bit for each that is among the parameters
  // of a pose: compliant contact of two solids (contact/contact_law.hpp); `law` is a place in ModelData::contact_pairs;
  // parameters stiffness, exponent, dissipation, friction, static friction
  contact,
};

// Compliant contact of a pair of solids, in the frames A and B of its port. A half space is always the first.
struct ContactPairData {
  double factor;              // stiffness by that of the parameters
  double tangential;          // stiffness of bristles by that, m^(exponent - 1)
  double mass;                // reduced, kg, for the damping of bristles
  std::int32_t first, second; // places among the solids
  // what follows
  std::int32_t slots, planar;                        // bristles; the first is a half space
  double center_a[3], center_b[3], reach_a, reach_b; // balls that contain the solids, in F of their bodies
  double own_a[3], own_b[3];                         // their centers in A and B
  double extent_b; // farthest point of the second from the origin of B; 0 of a sphere about it, which may turn
};
constexpr int contact_parameters = 5;
constexpr int contact_monitor_inputs = 12; // origin and axes of B in A

// An element. Its law takes t, the measures of its ports, their rates, its states, its parameters, its further inputs,
// its unknowns. It gives a force for every measure, on B, conjugate to the rate; the rates of its states; what it
// stores; its signals; and, for its unknowns, the residuals that they must make vanish, the derivatives of the
// residuals by them, row by row, and where to begin.
struct ElementData {
  std::int32_t port, ports, measures;
  LawForm form;
  std::int32_t law; // number of its program or function
  std::int32_t parameter, parameters;
  std::int32_t state, states;
  std::int32_t input, inputs;
  std::int32_t signal, signals;
  std::int32_t unknowns;
  std::int32_t active;      // what it does not store counts as brought from outside, not as lost
  std::int32_t measured;    // where its measures stand among those of all elements
  std::int32_t report_only; // gives signals that nothing else takes: evaluated for the record only
  std::int32_t bounded;     // some port is that of an actuator
  // where its law changes branches: places in ModelData::switching functions
  std::int32_t first_switching, switching_functions;
};
// A switching function: a number of a law at which that changes branches, where the number passes zero, or any of many
// levels: whole numbers, or the breaks of a table.
struct SwitchingFunctionData {
  std::int32_t element;
  std::int32_t whole;       // it has levels
  std::int32_t table, axis; // whose breaks are the levels, and along which variable; table -1: whole numbers
  // no branch is held, because it would have no slope at its end; the monitor looks at it all the same
  std::int32_t followed;
};
// added to the size of Instruction::branch by the description: `followed`
constexpr std::int32_t follow_branch = 1 << 20;

// An element that the monitor of switching functions looks at (system/switching.hpp): it has some, or gives signals to
// one that has.
struct MonitoredElementData {
  std::int32_t element;
  std::int32_t first, count;      // its inputs among those of all
  std::int32_t support, supports; // angles that move its frames: places in ModelData::monitor_support
};
constexpr int max_law_inputs = 192, max_law_outputs = 768, max_ports = 8, max_unknowns = 24; // of a law

// a prescribed coordinate of a joint, attitude (and place) of a joint, or constraint row
struct DriveData {
  double offset;
  std::int32_t row;             // constraint row, or -1
  std::int32_t dof, coordinate; // of a joint; the first of several
  std::int32_t law, level;      // what the law gives: 0 position, 1 velocity, 2 acceleration
  std::int32_t cosine; // of a row: its residual is a cosine, less the offset; else the law's value less the offset
  // of an attitude: 3 laws of angles, or 4 of a quaternion of any length, from `law` on; else 0
  std::int32_t turns;
  std::int32_t axes[3]; // about which angles turn, one after the other
  std::int32_t moves;   // further 3 laws, of the place of a free joint, or 0
  std::int32_t wraps;   // of a row: its residual is an angle, known but for whole turns
};

} // namespace dalembert
