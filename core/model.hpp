// The compiled constants of a system: flat, immutable, shared by all threads.
//
// Bodies are numbered 1..nb in depth-first order, so that parent < child and every subtree is a
// contiguous range; 0 is ground. Body i carries frame F_i at the outboard end of hinge i. Frame
// J_i is the inboard end of that hinge, fixed in the parent's F. Both are aligned with the hinge:
// a rotation axis is local z. Users never see F: the constant pose X_FB maps their body frame.
//
// A flexible body takes several places in the list (flexible.hpp): a massless one that its hinge carries, at the node
// where the hinge attaches; the modal body, with the mass, the modes and the user's frame; and a massless frame for
// every other node that something is attached to.
#pragma once

#include <cstdint>

namespace dalembert {

// what a hinge is; "reversed" when the tree runs from the user's second marker to the first
enum class Hinge : std::int32_t {
  fixed,
  revolute,
  prismatic,
  screw,
  cylindrical,
  universal,
  universal_reversed,
  planar,
  planar_reversed,
  spherical,
  spherical_reversed,
  free,
  free_reversed,
  custom, // its pose is a program of its coordinates; a program of its own for each direction
  modal, // the frame of a flexible body against the node that its hinge holds
  node,  // a node of a flexible body against the body's frame; moves with the freedoms of its parent
};
constexpr int hinge_kinds = 16;

struct BodyData {
  double R_PJ[9], p_PJ[3]; // hinge frame J in the parent's frame, constant
  double mass;             // kg
  double h[3];             // first moment of mass about the origin of F, kg m
  double J[6];             // inertia about the origin of F (xx xy xz yy yz zz), kg m2
  double R_FB[9], p_FB[3]; // the user's body frame in F
  double pitch;            // screw: advance per radian, m
  Hinge kind;
  std::int32_t parent;
  std::int32_t reversed; // the outboard marker is the user's first
  std::int32_t nq, nv; // sizes of this hinge
  std::int32_t q, v;   // offsets of its coordinates and speeds
  std::int32_t v_end;  // speeds of the subtree of this body: [v, v_end)
  std::int32_t last;   // last body of its subtree
  std::int32_t H;      // offset of its motion map in the workspace, in columns
  std::int32_t program; // custom: of its pose and motion map among ModelData::joints; that of its bias follows
  std::int32_t moves, by; // columns of its motion map, and offset of the speeds they go with
  std::int32_t user;   // the user's number of the body whose frame this is, from 1; 0: none
  std::int32_t owner;  // the user's number of the body it belongs to
  std::int32_t hinge;  // the user's number of the body whose hinge this is; 0: none
  std::int32_t modal;  // of modal bodies and nodes: place in ModelData::modal
  std::int64_t shape;  // of modal bodies and nodes: where the shapes of the node stand in ModelData::modal_numbers
};

// A flexible body; see flexible.hpp for what the numbers are.
struct ModalData {
  std::int32_t modes;
  std::int32_t order_zero; // inertia and gyroscopic loads are those of the undeformed body at rest in its frame
  std::int32_t second;     // displacements have a part of second order (geometric stiffening)
  std::int32_t source;     // tables of Jain & Rodriguez 1990, appendix B, beside the consistent ones; slopes are velocities
  std::int64_t table;      // where its integrals stand in ModelData::modal_numbers
  std::int64_t loads, squares, factors; // its places in the workspace
};

// what closes a loop: a hinge in its constraint form (numbered as in Hinge; never reversed, the rows are those of the
// second frame seen from the first), a constraint, or a coupling of coordinates
enum class Closure : std::int32_t {
  fixed = 0,
  revolute = 1,
  prismatic = 2,
  screw = 3,
  cylindrical = 4,
  universal = 5,
  planar = 7,
  spherical = 9,
  free = 11,
  distance = 20,
  point_on_line,
  point_on_plane,
  parallel,
  angle,
  skate,
  rolling_sphere,
  rolling_disc,
  coupling,
  point_on_curve,
  cam_roller,
  cam_flat,
  cam_rolling,
  custom, // rows by programs
  chain,  // hinges in series, custom ones among them: their pose as a program of inner coordinates
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
struct ChordData {
  Closure kind;
  std::int32_t body_a, body_b;
  double R_FA[9], p_FA[3]; // A in F of body_a
  double R_FB[9], p_FB[3]; // B in F of body_b
  double parameter;        // screw: advance per radian, m; a length, the cosine of an angle, a radius, an offset
  std::int32_t curve;      // its place in ModelData::curves, for those that have one
  std::int32_t program;    // custom, chain: its first program among ModelData::joints
  std::int32_t inner, start, starts; // chain: number of inner coordinates; sets of them to search from, and how many
  std::int32_t row, rows;  // its rows among the constraint rows
  std::int32_t meet;       // flexible body between two nodes of which the ways to its ends part, or 0
  std::int32_t support, supports; // where its freedoms stand in ModelData::support, and how many
  std::int32_t tree, trees; // where the trees it touches stand in ModelData::tree, and how many
  std::int64_t reach, values; // offsets of its block in the response and in the Jacobian values
};

// constraint rows in an order of elimination, and the envelope of their coupling matrix
struct RowOrder {
  std::int32_t count;
  const std::int32_t *row;          // constraint row at each place
  const std::int32_t *chord;        // the chord it belongs to
  const std::int32_t *first;        // first place that each place is coupled with
  const std::int64_t *start;        // where each place's numbers begin in the envelope; count + 1
};

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

// what pushes: between two markers, on one, or at a coordinate; its numbers stand in the parameters from `parameter`
enum class Force : std::int32_t {
  spring,     // stiffness, damping, length: along the line from A to B
  load_world, // six laws: [moment; force] on B, world axes
  load_body,  // six laws: [moment; force] on B, its own axes
  hinge,      // stiffness, damping, rest: -k (q - rest) - c v
  effort,     // a law
  limits,     // lower, upper, stiffness, damping: beyond them, never pulling
  turn,       // stiffness, damping, rest: about the z axis of A, on the angle of B seen from A
  slide,      // stiffness, damping, rest: along the z axis of A, on the place of B seen from A
};
struct ForceData {
  Force kind;
  std::int32_t body_a, body_b;
  double R_FA[9], p_FA[3]; // frame A in F of body_a
  double R_FB[9], p_FB[3]; // frame B in F of body_b
  std::int32_t freedom, coordinate; // of hinge, effort and limits; a freedom may have no coordinate (-1)
  std::int32_t parameter, law;
};

// One operation of a program; its result is the value of that number. Values a, b, c, d are results before it, or for
// `constant` and `input` a place.
enum class Operation : std::int32_t {
  constant, input,
  add, subtract, multiply, divide, negate,
  power, root, exponential, logarithm, sine, cosine, arctangent, arctangent2, hyperbolic_tangent, absolute,
  smaller, larger,
  less,   // a < b ? c : d
  lookup, // table a at values b, c, d, as many as it has variables
};
struct Instruction {
  Operation operation;
  std::int32_t a, b, c, d;
};

// A law as a program: instructions from `first`, whose results `outputs` are what the law gives.
struct ProgramData {
  std::int32_t first, count;
  std::int32_t output, outputs; // places in ModelData::program_outputs
};

// programs with their tables
struct ProgramTable {
  const ProgramData *programs;
  const Instruction *instructions;
  const double *constants;
  const std::int32_t *outputs;
  std::int32_t most_values; // instructions of the longest
};

// what an element measures: the coordinate of a hinge; the distance of two points; the place of B in A (3); place and
// attitude, as a rotation vector (6). Rates go with them; those of an attitude are angular velocity.
enum class Measure : std::int32_t { hinge, distance, place, pose };

// where an element measures: between frames A and B, or at a hinge
struct PortData {
  Measure measure;
  std::int32_t body_a, body_b;
  double R_FA[9], p_FA[3], R_FB[9], p_FB[3];
  std::int32_t freedom, coordinate; // of a hinge
};

// where a further input of a law comes from
enum class Source : std::int32_t {
  law,      // of time: its number
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
// depend on it; feedback.hpp finds both.
struct FeedbackData {
  std::int32_t chord;      // or -1: the hinge of `carried`
  std::int32_t carried;    // body
  std::int32_t on_carried; // the second marker is on that body, not on the one that carries it
  std::int32_t body;       // of the second marker
  std::int32_t part;       // of [moment; force]
  double R_FM[9], p_FM[3]; // the second marker in F of its body
};

// An element whose law is a program or a function outside. The law's inputs: t, the measures of its ports, their rates, its
// states, its parameters, its further inputs, its unknowns. It gives a force for every measure, on B, conjugate to the
// rate; the rates of its states; what it stores; its signals; and, for its unknowns, the residuals that they must make
// vanish, the derivatives of the residuals by them, row by row, and where to begin.
struct ElementData {
  std::int32_t port, ports, measures;
  std::int32_t program;             // or -1
  std::int32_t function;            // place in the table of functions, or -1
  std::int32_t parameter, parameters;
  std::int32_t state, states;
  std::int32_t input, inputs;
  std::int32_t signal, signals;
  std::int32_t unknowns;
  std::int32_t active;              // what it does not store counts as brought from outside, not as lost
};
constexpr int most_inputs = 192, most_outputs = 768, most_ports = 8, most_unknowns = 24; // of a law

// A table of one to three variables: polynomials of degree 1 or 3 in each, cell by cell. Its knots stand in
// ModelData::table_numbers, axis by axis, then the coefficients of the cells, highest axis running fastest, of powers of the
// distances from the cell's lower corner.
enum class Beyond : std::int32_t { refuse, hold, zero }; // the ends: not a number, as at the end, nothing
struct TableData {
  std::int32_t variables, degree;
  std::int32_t cells[3];
  std::int32_t first; // of its numbers
  Beyond beyond;
};

// laws that are functions outside: inputs as for ElementData, outputs likewise
struct Functions {
  void (*const *call)(void *self, const double *inputs, double *outputs);
  void *const *self;
};

// a prescribed coordinate of a hinge, or constraint row
struct DriveData {
  std::int32_t row;        // constraint row, or -1
  std::int32_t freedom, coordinate;
  std::int32_t law, level; // what the law gives: 0 position, 1 speed, 2 acceleration
  std::int32_t cosine;     // of a row: its residual is a cosine, less the offset; else the law's value less the offset
  double offset;
};

struct ModelData {
  std::int32_t nb, nq, nv, nx;
  std::int32_t users;     // bodies of the user; nb counts the places of flexible bodies too
  std::int32_t columns;   // of all motion maps
  std::int32_t modal_count;
  const ModalData *modal;
  const double *modal_numbers;
  std::int64_t modal_loads, modal_squares, modal_factors; // room that all modal bodies need
  std::int32_t depth;     // longest path from ground, in bodies
  double gravity[3];      // acceleration of free fall, world axes
  const BodyData *bodies; // nb + 1; entry 0 is ground
  std::int32_t chord_count, nc; // chords and their rows
  const ChordData *chords;
  const CurveData *curves;
  const CurvePiece *pieces;
  const std::int32_t *support;      // freedoms that move a chord's ends against each other, chord by chord
  const double *support_factor;     // +1 on the way to B, -1 on the way to A; coefficients of couplings
  const std::int32_t *coordinate;   // of each freedom, where it has one of its own; else -1
  const std::int32_t *tree;         // first bodies of the trees that a chord touches, chord by chord
  std::int64_t values;              // numbers in all blocks of the Jacobian
  std::int64_t responses;           // numbers in all blocks of M^-1 P^T
  const unsigned char *holonomic;   // of each row: binds positions too
  ProgramTable joints;              // of custom hinges, custom constraints and chains
  std::int32_t custom_hinges;       // how many the trees have
  const double *inner_starts;       // of chains
  std::int32_t force_count, drive_count, hosted_laws, parameter_count;
  std::int32_t element_count, most_values; // most_values: instructions of the longest program
  std::int32_t signal_count, feedback_count;
  bool looks_at_bodies; // some force or element needs poses and velocities in the world
  const ForceData *forces;
  const ElementData *elements;
  const PortData *ports;
  const InputData *inputs;
  const FeedbackData *feedbacks;
  const TableData *tables;
  const double *table_numbers;
  const ProgramData *programs;
  const Instruction *instructions;
  const double *program_constants;
  const std::int32_t *program_outputs;
  const DriveData *drives;
  const LawData *laws;
  const double *law_numbers;
  RowOrder all_rows;  // every row
  RowOrder lean_rows; // without those that repeat others in every configuration
};

// a frame fixed in a body, given in F
struct MarkerData {
  std::int32_t body;
  double R_FM[9], p_FM[3];
};

} // namespace dalembert
