// The compiled constants of a system of rigid bodies: flat, immutable, shared by all threads.
//
// Bodies are numbered 1..nb in depth-first order, so that parent < child and every subtree is a
// contiguous range; 0 is ground. Body i carries frame F_i at the outboard end of hinge i. Frame
// J_i is the inboard end of that hinge, fixed in the parent's F. Both are aligned with the hinge:
// a rotation axis is local z. Users never see F: the constant pose X_FB maps their body frame.
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
};
constexpr int hinge_kinds = 13;

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
  std::int32_t H;      // offset of its motion map in the workspace, in columns
};

struct ModelData {
  std::int32_t nb, nq, nv;
  std::int32_t depth;     // longest path from ground, in bodies
  double gravity[3];      // acceleration of free fall, world axes
  const BodyData *bodies; // nb + 1; entry 0 is ground
};

// a frame fixed in a body, given in F
struct MarkerData {
  std::int32_t body;
  double R_FM[9], p_FM[3];
};

} // namespace dalembert
