// The compiled constants of a system: flat, immutable, shared by all threads.
//
// Bodies are numbered 1..nb in depth-first order, so that parent < child and every subtree is a
// contiguous range; 0 is ground. Body i carries frame F_i at the outboard end of joint i. Frame
// J_i is the inboard end of that joint, fixed in the parent's F. Both are aligned with the joint:
// a rotation axis is local z. Users never see F: the constant pose X_FB maps their body frame.
//
// A flexible body takes several places in the list (flexible/body.hpp): a massless one that its joint carries, at the
// node where the joint attaches; the modal body, with the mass, the modes and the user's frame; and a massless frame
// for every other node that something is attached to.
//
// What Python fills in, row by row and field by field, is listed in model/schema.hpp; what follows from it is worked
// out in model/complete/complete.cpp.
#pragma once

#include "model/constraint_data.hpp"
#include "model/element_data.hpp"
#include "model/elimination_plan.hpp"
#include "model/law_data.hpp"
#include "model/loop_plan.hpp"
#include "model/parameter_map_data.hpp"
#include "model/tree_data.hpp"
#include <cstddef>

namespace dalembert {

struct ModelData {
  std::int32_t nb, nq, nv, nx;
  std::int32_t users;     // bodies of the user; nb counts the places of flexible bodies too
  std::int32_t columns;   // of all motion maps
  std::int32_t depth;     // longest path from ground, in bodies
  double gravity[3];      // acceleration of free fall, world axes
  const BodyData *bodies; // nb + 1; entry 0 is ground
  const double *armature; // nv: inertia of drive trains, seen at the degrees of freedom
  // nv, or null: inertia that loops are solved with and that is taken back (constraints/loop_dynamics.hpp)
  const double *regularizing_inertia;
  const std::int32_t *coordinate; // of each degree of freedom, where it has one of its own; else -1
  const JointMarkerData *markers; // users: second markers of the joints
  // flexible bodies
  std::int32_t modal_count, max_modes;
  const ModalData *modal;
  const double *modal_values;
  std::int64_t modal_loads, modal_squares, modal_factors; // numbers that all modal bodies need
  // closures
  std::int32_t loop_constraint_count, nc; // loop constraints and their rows
  std::int32_t cut_nq, cut_nv;            // coordinates and velocities of all cut joints
  const LoopConstraintData *loop_constraints;
  const CurveData *curves;
  const CurvePiece *pieces;
  // degrees of freedom that move a loop constraint's ends against each other, constraint by constraint
  const std::int32_t *support;
  const double *support_factor; // +1 on the way to B, -1 on the way to A; coefficients of couplings
  // first bodies of the trees that a loop constraint touches, constraint by constraint
  const std::int32_t *tree;
  std::int64_t values;                    // numbers in all blocks of the Jacobian
  std::int64_t responses;                 // numbers in all blocks of M^-1 P^T
  const unsigned char *holonomic;         // of each row: binds positions too
  const double *row_scale, *column_scale; // of rows and degrees of freedom: make both parts of the system's size
  double length;                          // characteristic length of the system, m
  std::int32_t spare_rows;                // rows that are not among the independent ones
  std::int64_t spare_loads;               // connections that states of self-stress load, all together
  RowElimination all_rows;                // every row
  // without those that repeat others of their loop constraint in every configuration
  RowElimination independent_rows;
  const std::int32_t *constraint_of_row; // the loop constraint that each row belongs to
  const unsigned char *independent;      // of each row: it is among the independent ones
  // elimination within the trees, of the independent rows and of all; no steps: D is cheaper
  LoopPlan loop_plan, all_loop_plan;
  // joints by programs
  ProgramTable joints;
  std::int32_t custom_joints; // how many the trees have
  const double *inner_starts; // of chains
  // elements, laws, drives
  std::int32_t drive_count, callback_law_count, parameter_count;
  std::int32_t element_count, port_count, measure_count, signal_count, feedback_count;
  std::int32_t law_input_count; // rows of `inputs`
  std::int32_t input_count;     // those of them that laws of time give: they may be set from outside
  std::int32_t actuator_count;
  bool needs_body_motion; // some element needs poses and velocities in the world
  const ElementData *elements;
  const SwitchingFunctionData *switching_functions;
  std::int32_t switching_count;
  const MonitoredElementData *monitored;
  const std::int32_t *monitor_support;          // degrees of freedom
  std::int32_t monitored_count, monitor_inputs; // elements, and the inputs of all of them
  bool monitors_callbacks;                      // some of these are laws given from outside
  const double *table_breaks;
  const PortData *ports;
  const InputData *inputs;
  const FeedbackData *feedbacks;
  const ActuatorData *actuators;
  const ContactPairData *contact_pairs; // of compliant contact
  const void *const *contact_solids;    // ConvexSolid of geometry/convex_solid.hpp
  std::int32_t contact_pair_count;
  std::int32_t bristle_states; // of these contacts, the last of all states; 0: they are not the last
  const TableData *tables;
  const double *table_values;
  ProgramTable programs;
  const DriveData *drives;
  const LawData *laws;
  const double *law_values;
  FrontTables fronts; // of the Newton systems of implicit steps
  ParameterMaps parameter_maps;
  std::int64_t law_value_count, support_count, modal_value_count, joint_constant_count; // sizes of tables
  // numbers in place of those of the tables, dual ones or those of each lane (model/parameter_maps.hpp); null: as they
  // stand
  const void *varied;
};

// Frames fixed in one body, given in F; or points of a flexible body, with axes that turn with it there.
struct PointsData {
  std::int32_t body; // place in the list; of points of a flexible body its modal place
  std::int32_t count;
  // count x 12: axes (9) and origin (3) in F; of points of a flexible body in the frame of the node
  const double *frames;
  const double *nodes; // null, or of each point its shapes as in ModelData::modal_values, `width` numbers
  std::ptrdiff_t width;
};

// connections whose loads are reported: joints of the trees, then loop constraints
inline std::int32_t connection_count(const ModelData &m) { return m.users + m.loop_constraint_count; }

} // namespace dalembert
