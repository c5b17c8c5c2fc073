// Equations of motion of a marker:
//
//     L = (J Y J^T)^+,    J# = Y J^T L,    h = -L x'',    N = 1 - J# J                                             (1)
//
// with J the Jacobian of the marker, Y the response of the system to joint forces, and x'' the acceleration of the
// marker without forces at it. O. Khatib, IEEE J. Robotics and Automation 3 (1987) 43-53.
#pragma once

#include <vector>

namespace dalembert::dense {

// nv velocities, k <= 6 rows; scale (k) makes the rows dimensionless; eigenvalues of the scaled J Y J^T below
// `tolerance` times the largest, or of the size of rounding, are directions in which the marker cannot move
struct OperationalSpaceSizes {
  int nv, k;
  const double *scale;
  double tolerance;
};

// J (k x nv), Y (nv x nv) and x'' (k) to L (k x k), J# (nv x k), h (k) and N (nv x nv); returns the rank. `work` grows
// as needed.
int operational_space(const OperationalSpaceSizes &sizes, const double *J, const double *Y, const double *moved,
                      double *L, double *inverse, double *bias, double *projector, std::vector<double> &work);

} // namespace dalembert::dense
