// Targets of markers, with loops closed and coordinates within limits: rows of an inverse kinematics problem, and
// descents to their zeros, many at once.
//
//     r(q) = [closures; limits at cut joints; targets],  dimensionless,     dq = D x                                (1)
//
//     position    r = p - p*                                        J = J_v                                         (2)
//     rotation    r = log(R R*^T), the turn that is too much        J = J_w                                         (3)
//     angles      r = angles - angles*, each within half a turn     J = E^(-1) J_w,  w = E (angles)'                (4)
//     direction   r = -phi n, by which a = R axis misses d          J = (1 - a a^T) J_w,  n = a x d / |a x d|       (5)
//
// in axes of the frame that a target refers to. J^T r is the gradient of |r|^2 / 2 however large r is. A limit at a
// joint where a loop was cut is a row that counts where it is positive; limits of joints of the trees bound x.
//
// A descent makes sum_i [r_i + s_i]^2 / 2 small by steps of Levenberg and Marquardt, damped in proportion to |r|^2
// while that is small (Sugihara 2011), so that convergence is quadratic where r vanishes, also where J loses rank.
// Coordinates at a bound that would be pushed beyond it have no part in a step; those that a step takes to a bound are
// put there and the rest is solved again. Descents run in lanes; one that has ended makes space for the next.
#pragma once

#include "model/model_data.hpp"

namespace dalembert {

enum class GoalKind : std::int32_t { position, rotation, angles, direction };

struct IkContext {
  PointsData marker, reference;
  bool relative; // to the reference; otherwise to the world
};

struct IkTarget {
  GoalKind kind;
  std::int32_t view;
  std::int32_t letters[3]; // axes of three turns, each about the axes that those before have turned
  bool backwards;          // angles come in the opposite order: about fixed axes
  double axis[3], scale;
  // numbers() and three per target, or the same for all; meant: one where a row is not free
  const double *wanted, *meant;
  std::ptrdiff_t wanted_stride, meant_stride;
  int numbers() const { return kind == GoalKind::rotation ? 9 : 3; }
};

// a limit at a cut joint: sign (coordinate - bound) <= 0
struct CutJointLimit {
  std::int32_t constraint, velocity;
  double sign, bound, scale;
};

struct IkProblem {
  double t;
  std::int32_t closures, limits, goals, views, columns;
  const std::int32_t *closing; // rows of the model
  const double *row_scale;     // of these
  const CutJointLimit *cut;
  const IkTarget *goal;
  const IkContext *view;
  // velocities that may move; where their coordinates stand, -1 where they have none
  const std::int32_t *column, *place;
  const double *metric;        // D
  const double *lower, *upper; // of columns
  const double *per_unit;      // of columns: rad, or characteristic lengths, in a unit of x
  const double *tolerance;     // of rows
  int rows() const { return closures + limits + 3 * goals; }
  int hard() const { return closures + limits; }
};

// rows r (m) and, unless null, J (m x columns) of many configurations q for targets `which`
struct IkRows {
  const double *q;
  const std::int64_t *which;
  double *r, *J;
};

// descents from q for targets `which`, of r + shift (m each; stride 0: the same for all)
struct DescentCall {
  const std::int64_t *which;
  const double *shift;
  std::ptrdiff_t shift_stride;
  std::int32_t iterations, patience; // one that does not come nearer by a fifth within as many steps is left
  double *q, *r, *gradient;          // nq: starts, then ends; m; columns: gradient by x of what is made small
  unsigned char *done;
  std::int64_t *steps;
  std::ptrdiff_t (*next)(void *self); // number of the next start, or -1
  void *self;
};

} // namespace dalembert
