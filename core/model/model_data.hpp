// The compiled constants of a system: flat, immutable, shared by all threads.
//
// Bodies are numbered 1..nb in depth-first order, so that parent < child and every subtree is a
// contiguous range; 0 is ground. Body i carries frame F_i at the outboard end of hinge i. Frame
// J_i is the inboard end of that hinge, fixed in the parent's F. Both are aligned with the hinge:
// a rotation axis is local z. Users never see F: the constant pose X_FB maps their body frame.
//
// A flexible body takes several places in the list (flexible/body.hpp): a massless one that its hinge carries, at the node
// where the hinge attaches; the modal body, with the mass, the modes and the user's frame; and a massless frame for
// every other node that something is attached to.
//
// What Python fills in, row by row and field by field, is listed in model/schema.hpp; what follows from it is worked out in
// model/complete.cpp.
#pragma once

#include "model/elimination_plan.hpp"

namespace dalembert {

// ---- trees

// how the recursions use the motion map of a hinge
enum class JointForm : std::int32_t {
  none,    // no freedoms
  about_z, // H = [z; 0]: products with H are component picks
  along_z, // H = [0; z]
  columns, // any H, nv columns kept in the workspace
  custom,  // the same, pose and H by a program of the coordinates; a program of its own for each direction
  modal,   // the frame of a flexible body against the node that its hinge holds
  node,    // a node of a flexible body against the body's frame; moves with the freedoms of its parent
};

// how the columns of a motion map depend on the coordinates: fixed in the body, fixed in the parent, or one after the other
enum class MotionMapDependence : std::int32_t { outboard, inboard, forward, backward };

struct BodyData {
  double R_PJ[9], p_PJ[3]; // hinge frame J in the parent's frame, constant
  double mass;             // kg
  double h[3];             // first moment of mass about the origin of F, kg m
  double J[6];             // inertia about the origin of F (xx xy xz yy yz zz), kg m2
  double R_FB[9], p_FB[3]; // the user's body frame in F
  double pitch;            // screw: advance per radian, m
  std::int32_t kind;       // of a hinge of the library: its number there (joints/registry.hpp)
  JointForm form;
  MotionMapDependence series;
  std::int32_t parent;
  std::int32_t reversed;   // the outboard marker is the user's first
  std::int32_t nq, nv;     // sizes of this hinge
  std::int32_t q, v;       // offsets of its coordinates and speeds
  std::int32_t v_end;      // speeds of the subtree of this body: [v, v_end)
  std::int32_t last;       // last body of its subtree
  std::int32_t H;          // offset of its motion map in the workspace, in columns
  std::int32_t program;    // custom: of its pose and motion map among ModelData::joints; that of its bias follows
  std::int32_t moves, by;  // columns of its motion map, and offset of the speeds they go with
  std::int32_t user;       // the user's number of the body whose frame this is, from 1; 0: none
  std::int32_t owner;      // the user's number of the body it belongs to
  std::int32_t joint;      // the user's number of the body whose hinge this is; 0: none
  std::int32_t modal;      // of modal bodies and nodes: place in ModelData::modal
  std::int32_t ordinal;    // of nodes that carry something: their number among those of their body
  std::int32_t armature;   // some freedom of it has an inertia of its own
  std::int32_t lent;       // some freedom of it has inertia from its loop alone
  std::int64_t shape;      // of modal bodies and nodes: where the shapes of the node stand in ModelData::modal_numbers
};

// A flexible body; see flexible/body.hpp for what the numbers are.
struct ModalData {
  std::int32_t modes;
  std::int32_t order_zero; // inertia and gyroscopic loads are those of the undeformed body at rest in its frame
  std::int32_t second;     // displacements have a part of second order (geometric stiffening)
  std::int32_t source;     // tables of Jain & Rodriguez 1990, appendix B, beside the consistent ones; slopes are velocities
  std::int64_t table;      // where its integrals stand in ModelData::modal_numbers; equal bodies share them
  std::int64_t elastic;    // where its stiffness stands there, n x n, and its damping after it
  std::int32_t rank;       // rows of what its modes carry, where they are few (flexible/low_rank_modes.hpp); 0: dense factors
  std::int64_t loads, squares, factors; // its places in the workspace
};

// ---- closures

// what closes a loop
enum class LoopConstraintForm : std::int32_t {
  joint,      // of the library, in its constraint form: the rows of the second frame seen from the first
  constraint, // of the library (constraints/library.hpp)
  custom,     // rows by programs
  chain,      // hinges in series, custom ones among them: their pose as a program of inner coordinates
  coupling,   // of hinge coordinates: constant coefficients, or by programs
};

// a piece of a curve: sum of c[k] u^k, 0 <= u <= 1, and a sphere that holds it
constexpr int curve_degree = 5;
struct CurvePiece {
  double c[curve_degree + 1][3]; // m, in axes of a chord's frame A
  double centre[3], radius;
};

struct CurveData {
  std::int32_t first, count; // where its pieces stand in ModelData::pieces, and how many
  std::int32_t degree;       // of all its pieces
  std::int32_t closed;
};

// A closure between frame A, the first marker, and frame B, the second, both aligned with it.
struct LoopConstraintData {
  double R_FA[9], p_FA[3]; // A in F of body_a
  double R_FB[9], p_FB[3]; // B in F of body_b
  double R_FM[9];          // axes of the user's second marker in F of body_b
  double parameter;        // screw: advance per radian, m; a length, an angle or its cosine, a radius, an offset
  LoopConstraintForm form;
  std::int32_t kind;       // of a hinge or constraint of the library: its number there
  std::int32_t body_a, body_b;
  std::int32_t curve;      // its place in ModelData::curves, for those that have one
  std::int32_t program;    // custom, chain, coupling: its first program among ModelData::joints; of constant couplings -1
  std::int32_t inner, start, starts; // chain: number of inner coordinates; sets of them to search from, and how many
  std::int32_t row, rows;  // its rows among the constraint rows
  std::int32_t kept;       // of hinges in a plane: bits of the rows that close the loop there; 0: all of them
  std::int32_t held;       // the last rows of a hinge, one for each speed, hold its coordinates while it sticks; 0: it has none
  std::int32_t q, nq, v, nv; // of hinges: its coordinates and speeds among those of all cut hinges, and how many
  std::int32_t meet;       // flexible body between two nodes of which the ways to its ends part, or 0
  std::int32_t support, supports; // where its freedoms stand in ModelData::support, and how many
  std::int32_t tree, trees; // where the trees it touches stand in ModelData::tree, and how many
  std::int64_t reach, values; // offsets of its block in the response and in the Jacobian values
};

// a hinge coordinate that a coupling couples, with its coefficient
struct CouplingTermData {
  double factor;
  std::int32_t constraint, dof;
};

// constraint rows in an order of elimination, and the envelope of their coupling matrix
struct RowElimination {
  std::int32_t count;
  const std::int32_t *row;          // constraint row at each place
  const std::int32_t *constraint;        // the chord it belongs to
  const std::int32_t *first;        // first place that each place is coupled with
  const std::int64_t *start;        // where each place's numbers begin in the envelope; count + 1
};

// ---- laws

// a function of time with two derivatives; its numbers stand in ModelData::law_numbers from `first`
enum class LawKind : std::int32_t {
  constant,   // value
  polynomial, // count coefficients, from the constant upwards
  harmonic,   // amplitude, frequency, phase, offset
  ramp,       // start, end, duration, begin
  table,      // count pieces of degree `degree`: their ends (count + 1), then each piece's coefficients from its begin
  hosted,     // given from outside at every evaluation: `first` is its place among those
};
struct LawData {
  LawKind kind;
  std::int32_t first, count, degree;
};

// One operation of a program; its result is the value of that number. Values a, b, c, d are results before it, or for
// `constant` and `input` a place. A constant with a branch is an own number: its value may change.
enum class Operation : std::int32_t {
  constant, input,
  add, subtract, multiply, divide, negate,
  power, root, exponential, logarithm, sine, cosine, arctangent, arctangent2, hyperbolic_tangent, absolute,
  smaller, larger,
  less,   // a < b ? c : d
  lookup, // table a at values b, c, d, as many as it has variables
  floor,  // the whole number at or below
};
struct Instruction {
  Operation operation;
  std::int32_t a, b, c, d;
  std::int32_t branch; // of an operation with branches: 0, or its threshold, from 1 in each program; less than 0: seen from the other side
};

// A law as a program: instructions from `first`, whose results `outputs` are what the law gives. As it is run, its numbers
// stand in a row: what it is given, its constants, its results (model/program_order.hpp).
enum class ProgramPart : std::int32_t { known, residuals, slopes, results, stored };
struct ProgramData {
  std::int32_t first, count;
  std::int32_t output, outputs;     // places in ProgramTable::outputs
  std::int32_t inputs;              // numbers that it is given
  std::int32_t constant, constants; // places in ProgramTable::constants
  std::int32_t ends[5];             // of its parts, in instructions
};

// programs with their tables
struct ProgramTable {
  const ProgramData *programs;
  const Instruction *instructions;
  const double *constants;
  const std::int32_t *outputs;
  std::int32_t max_values; // numbers of a run of the longest
};

// A table of one to three variables: polynomials of degree 1 or 3 in each, cell by cell. Its knots stand in
// ModelData::table_numbers, axis by axis, then the coefficients of the cells, highest axis running fastest, of powers of the
// distances from the cell's lower corner.
enum class Extrapolation : std::int32_t { refuse, hold, zero, repeat }; // the ends: not a number, as at the end, nothing, all again
struct TableData {
  std::int32_t variables, degree;
  std::int32_t cells[3];
  std::int32_t first; // of its numbers
  Extrapolation beyond;
  std::int32_t breaks[3], break_counts[3]; // along each variable, where value or slope jump: places in ModelData::table_breaks
  double low, high;                        // bounds of its values
};

// laws that are functions outside: inputs as for ElementData, outputs likewise
struct Functions {
  void (*const *call)(void *self, const double *inputs, double *outputs);
  void *const *self;
};

// ---- elements

// What an element measures and acts along: the coordinate of a hinge; the distance of two points; the place of B in A (3);
// place and attitude, as a rotation vector (6). Rates go with them; those of an attitude are angular velocity. A load
// measures nothing but the velocity of B, in axes of the world or in its own (6).
enum class Measure : std::int32_t { joint, distance, place, pose, load_world, load_body };

// where an element measures and acts: between frames A and B, or at a hinge, of a tree or cut
struct PortData {
  double R_FA[9], p_FA[3], R_FB[9], p_FB[3];
  Measure measure;
  std::int32_t body_a, body_b;
  std::int32_t dof, coordinate; // of a hinge of a tree; a freedom of an attitude has no coordinate (-1)
  std::int32_t constraint, part;         // of a cut hinge: the chord, and which of its speeds; else -1
  std::int32_t actuator;            // at a hinge: from 1, whose bound what it gives counts to; 0: none
  std::int32_t turns;               // of a pose: the law of its element takes the rotation vector
};

// what actuators can give together at a speed of a hinge
struct ActuatorData {
  double bound;
  std::int32_t port; // at that hinge
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

// A load that a hinge or chord transmits to its second marker M, at its origin and in its axes. It depends on the forces that
// depend on it; system/load_feedback.hpp finds both.
struct FeedbackData {
  std::int32_t connection; // hinges of the trees by the user's numbers of their bodies, from 0; then chords
  std::int32_t part;       // of [moment; force]
};

// how the law of an element is given
enum class LawForm : std::int32_t {
  program,
  function, // outside
  linear,   // parameters stiffness, damping, rest: -k (s - rest) - c s'
  limits,   // parameters lower, upper, stiffness, damping: beyond them, never pulling
  given,    // forces are the inputs
  dry,      // parameters friction and mode of each measure, coefficient, slip; inputs: none, or loads for each measure
  bushing,  // of a pose: six stiffnesses and six dampings; `law` has a bit for each that is among the parameters
};

// An element. Its law takes t, the measures of its ports, their rates, its states, its parameters, its further inputs, its
// unknowns. It gives a force for every measure, on B, conjugate to the rate; the rates of its states; what it stores; its
// signals; and, for its unknowns, the residuals that they must make vanish, the derivatives of the residuals by them, row by
// row, and where to begin.
struct ElementData {
  std::int32_t port, ports, measures;
  LawForm form;
  std::int32_t law;                 // number of its program or function
  std::int32_t parameter, parameters;
  std::int32_t state, states;
  std::int32_t input, inputs;
  std::int32_t signal, signals;
  std::int32_t unknowns;
  std::int32_t active;              // what it does not store counts as brought from outside, not as lost
  std::int32_t measured;            // where its measures stand among those of all elements
  std::int32_t quiet;               // gives signals that nothing else takes: evaluated for the record only
  std::int32_t bounded;             // some port is that of an actuator
  std::int32_t first_switching, switching_functions; // where its law changes branches: places in ModelData::thresholds
};
// A switching function: a number of a law at which that changes branches, where the number passes zero, or any of many levels:
// whole numbers, or the breaks of a table.
struct SwitchingFunctionData {
  std::int32_t element;
  std::int32_t whole;       // it has levels
  std::int32_t table, axis; // whose breaks are the levels, and along which variable; table -1: whole numbers
  std::int32_t followed;    // no branch is held, because it would have no slope at its end; the monitor looks at it all the same
};
constexpr std::int32_t follow_branch = 1 << 20; // added to the size of Instruction::branch by who describes it: `followed`

// An element that the monitor of switching functions looks at (system/switching.hpp): it has some, or gives signals to one that has.
struct WatchedData {
  std::int32_t element;
  std::int32_t first, count;      // its inputs among those of all
  std::int32_t support, supports; // angles that move its frames: places in ModelData::watch_support
};
constexpr int max_law_inputs = 192, max_law_outputs = 768, max_ports = 8, max_unknowns = 24; // of a law

// a prescribed coordinate of a hinge, attitude (and place) of a hinge, or constraint row
struct DriveData {
  double offset;
  std::int32_t row;        // constraint row, or -1
  std::int32_t dof, coordinate; // of a hinge; the first of several
  std::int32_t law, level; // what the law gives: 0 position, 1 speed, 2 acceleration
  std::int32_t cosine;     // of a row: its residual is a cosine, less the offset; else the law's value less the offset
  std::int32_t turns;      // of an attitude: 3 laws of angles, or 4 of a quaternion of any length, from `law` on; else 0
  std::int32_t axes[3];    // about which angles turn, one after the other
  std::int32_t moves;      // further 3 laws, of the place of a free hinge, or 0
  std::int32_t wraps;      // of a row: its residual is an angle, known but for whole turns
};

// ---- connections, for the loads that they transmit

// the second marker of a hinge of a tree
struct JointMarkerData {
  double R_FM[9], p_FM[3]; // in F of its body
  std::int32_t place;      // the hinge's place in the list of bodies
  std::int32_t body;       // that the second marker is on
  std::int32_t outboard;   // it is on the body that the hinge carries, or one further in
};

// ---- own numbers: what may be given other values without compiling again, and the entries of the tables that follow

// A marker on a body of the user: its pose in the user's frame, constant or by own numbers: place (3), rotation vector (3).
struct MarkerMap {
  double R[9], p[3];
  std::int32_t number; // the first of them; -1: constant
};
// where frame F of a body of the user is: at the marker that its hinge carries, turned by constant axes
struct FrameMap {
  double axes[9];
  std::int32_t marker;
};
// mass, centre of mass (3) and inertia about it (xx xy xz yy yz zz), axes of the user's frame
struct InertiaMap {
  std::int32_t body, user, number; // place in the list; the user's number; the first own number
};
// a marker turned by constant axes, seen from F
enum class PoseTarget : std::int32_t { joint, body, constraint_a, constraint_b, constraint_marker, port_a, port_b, marker };
struct PoseMap {
  double axes[9];
  std::int32_t marker;
  std::int32_t base;   // the user's number of the body whose F it is seen from; -1: from the user's frame
  PoseTarget target;
  std::int32_t row;    // of that table
};
// factor times one own number, or times two
enum class ScalarTarget : std::int32_t { pitch, armature, constraint, coupled, law, offset, elastic, joint, gravity };
struct ScalarMap {
  double factor;
  std::int32_t number, second; // second: -1 if there is none
  ScalarTarget target;
  std::int32_t row;            // of that table; of elastic entries, their place among those of all flexible bodies; of joints,
                               // of the constants of their programs
};

struct ParameterMaps {
  std::int32_t numbers, markers, inertias, poses, scalars;
  const double *number, *described; // own numbers, as they are and as poses of markers stand in their recipes
  const MarkerMap *marker;
  const FrameMap *frame; // one for each body of the user
  const InertiaMap *inertia;
  const PoseMap *pose;
  const ScalarMap *scalar;
};

struct ModelData {
  std::int32_t nb, nq, nv, nx;
  std::int32_t users;     // bodies of the user; nb counts the places of flexible bodies too
  std::int32_t columns;   // of all motion maps
  std::int32_t depth;     // longest path from ground, in bodies
  double gravity[3];      // acceleration of free fall, world axes
  const BodyData *bodies; // nb + 1; entry 0 is ground
  const double *armature; // nv: inertia of drive trains, seen at the freedoms
  const double *lent;     // nv, or null: inertia that loops are solved with and that is taken back (constraints/loop_dynamics.hpp)
  const std::int32_t *coordinate; // of each freedom, where it has one of its own; else -1
  const JointMarkerData *markers; // users: second markers of the hinges
  // flexible bodies
  std::int32_t modal_count, max_modes;
  const ModalData *modal;
  const double *modal_numbers;
  std::int64_t modal_loads, modal_squares, modal_factors; // room that all modal bodies need
  // closures
  std::int32_t loop_constraint_count, nc; // chords and their rows
  std::int32_t cut_nq, cut_nv;  // coordinates and speeds of all cut hinges
  const LoopConstraintData *loop_constraints;
  const CurveData *curves;
  const CurvePiece *pieces;
  const std::int32_t *support;      // freedoms that move a chord's ends against each other, chord by chord
  const double *support_factor;     // +1 on the way to B, -1 on the way to A; coefficients of couplings
  const std::int32_t *tree;         // first bodies of the trees that a chord touches, chord by chord
  std::int64_t values;              // numbers in all blocks of the Jacobian
  std::int64_t responses;           // numbers in all blocks of M^-1 P^T
  const unsigned char *holonomic;   // of each row: binds positions too
  const double *row_scale, *column_scale; // of rows and freedoms: make both parts of the system's size
  double length;                    // characteristic length of the system, m
  std::int32_t spare_rows;          // rows that are not among the lean ones
  std::int64_t spare_loads;         // connections that states of self-stress load, all together
  RowElimination all_rows;                // every row
  RowElimination lean_rows;               // without those that repeat others of their chord in every configuration
  const unsigned char *lean;        // of each row: it is among the lean ones
  // joints by programs
  ProgramTable joints;
  std::int32_t custom_joints;       // how many the trees have
  const double *inner_starts;       // of chains
  // elements, laws, drives
  std::int32_t drive_count, hosted_laws, parameter_count;
  std::int32_t element_count, port_count, measure_count, signal_count, feedback_count;
  std::int32_t taken_count;         // rows of `inputs`
  std::int32_t input_count;         // those of them that laws of time give: they may be set from outside
  std::int32_t actuator_count;
  bool looks_at_bodies;             // some element needs poses and velocities in the world
  const ElementData *elements;
  const SwitchingFunctionData *switching_functions;
  std::int32_t switching_count;
  const WatchedData *watched;
  const std::int32_t *watch_support; // freedoms
  std::int32_t watched_count, watch_inputs; // elements, and the inputs of all of them
  bool watch_hosted;                 // some of these are laws given from outside
  const double *table_breaks;
  const PortData *ports;
  const InputData *inputs;
  const FeedbackData *feedbacks;
  const ActuatorData *actuators;
  const TableData *tables;
  const double *table_numbers;
  ProgramTable programs;
  const DriveData *drives;
  const LawData *laws;
  const double *law_numbers;
  FrontTables fronts; // of the Newton systems of implicit steps
  ParameterMaps recipes;
  std::int64_t law_number_count, support_count, modal_number_count, joint_constant_count; // sizes of tables
  const void *varied; // numbers in place of those of the tables, dual ones or those of each lane (model/parameter_maps.hpp); null: as they stand
};

// Frames fixed in one body, given in F; or points of a flexible body, with axes that turn with it there.
struct PointsData {
  std::int32_t body;    // place in the list; of points of a flexible body its modal place
  std::int32_t count;
  const double *frames; // count x 12: axes (9) and origin (3) in F; of points of a flexible body in the frame of the node
  const double *nodes;  // null, or of each point its shapes as in ModelData::modal_numbers, `width` numbers
  std::ptrdiff_t width;
};

// connections whose loads are told: hinges of the trees, then chords
inline std::int32_t connection_count(const ModelData &m) { return m.users + m.loop_constraint_count; }

} // namespace dalembert
