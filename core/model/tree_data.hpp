// Constants of the trees: bodies, their joints, flexible bodies, the markers at which loads of tree joints are
// reported.
#pragma once

#include <cstdint>

namespace dalembert {

// how the recursions use the motion map of a joint
enum class JointForm : std::int32_t {
  none,    // no degrees of freedom
  about_z, // H = [z; 0]: products with H are component picks
  along_z, // H = [0; z]
  columns, // any H, nv columns kept in the workspace
  custom,  // the same, pose and H by a program of the coordinates; a program of its own for each direction
  modal,   // the frame of a flexible body against the node that its joint holds
  node,    // a node of a flexible body against the body's frame; moves with the degrees of freedom of its parent
};

// how the columns of a motion map depend on the coordinates: fixed in the body, fixed in the parent, or one after the
// other
enum class MotionMapDependence : std::int32_t { outboard, inboard, forward, backward };

struct BodyData {
  double R_PJ[9], p_PJ[3]; // joint frame J in the parent's frame, constant
  double mass;             // kg
  double h[3];             // first moment of mass about the origin of F, kg m
  double J[6];             // inertia about the origin of F (xx xy xz yy yz zz), kg m2
  double R_FB[9], p_FB[3]; // the user's body frame in F
  double pitch;            // screw: advance per radian, m
  std::int32_t kind;       // of a joint of the library: its number there (joints/registry.hpp)
  JointForm form;
  MotionMapDependence series;
  std::int32_t parent;
  std::int32_t reversed;       // the outboard marker is the user's first
  std::int32_t nq, nv;         // sizes of this joint
  std::int32_t q, v;           // offsets of its coordinates and velocities
  std::int32_t v_end;          // velocities of the subtree of this body: [v, v_end)
  std::int32_t last;           // last body of its subtree
  std::int32_t H;              // offset of its motion map in the workspace, in columns
  std::int32_t program;        // custom: of its pose and motion map among ModelData::joints; that of its bias follows
  std::int32_t moves, by;      // columns of its motion map, and offset of the velocities they go with
  std::int32_t user;           // the user's number of the body whose frame this is, from 1; 0: none
  std::int32_t owner;          // the user's number of the body it belongs to
  std::int32_t joint;          // the user's number of the body whose joint this is; 0: none
  std::int32_t modal;          // of modal bodies and nodes: place in ModelData::modal
  std::int32_t ordinal;        // of nodes that carry something: their number among those of their body
  std::int32_t armature;       // some degree of freedom of it has an inertia of its own
  std::int32_t is_regularized; // some degree of freedom of it has inertia from its loop alone
  std::int64_t shape; // of modal bodies and nodes: where the shapes of the node stand in ModelData::modal_values
};

// A flexible body; see flexible/body.hpp for what the numbers are.
struct ModalData {
  std::int32_t modes;
  std::int32_t order_zero; // inertia and gyroscopic loads are those of the undeformed body at rest in its frame
  std::int32_t second;     // displacements have a part of second order (geometric stiffening)
  // tables of Jain & Rodriguez 1990, appendix B, beside the consistent ones; slopes are velocities
  std::int32_t source;
  std::int64_t table;   // where its integrals stand in ModelData::modal_values; equal bodies share them
  std::int64_t elastic; // where its stiffness stands there, n x n, and its damping after it
  // rows of what its modes carry, where they are few (flexible/low_rank_modes.hpp); 0: dense factors
  std::int32_t rank;
  std::int64_t loads, squares, factors; // its places in the workspace
};

// the second marker of a joint of a tree
struct JointMarkerData {
  double R_FM[9], p_FM[3]; // in F of its body
  std::int32_t place;      // the joint's place in the list of bodies
  std::int32_t body;       // that the second marker is on
  std::int32_t outboard;   // it is on the body that the joint carries, or one further in
};

} // namespace dalembert
