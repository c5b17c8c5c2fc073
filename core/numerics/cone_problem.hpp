// Coulomb friction at unilateral contacts: impulses within friction cones.
//
//     u = D lam + b,     K = {|lam_t| <= mu lam_n},     lam in K,  u + s(u) in its dual,  lam . (u + s(u)) = 0     (1)
//     s(u) = (0, 0, mu |u_t|)                                       (de Saxce and Feng 1998)                      (2)
//
// Rows of a contact: two tangential, one normal. D (3 m x 3 m) is symmetric and positive semidefinite, of any rank. (1)
// states u_n >= 0, lam_n >= 0, one of them zero, and friction opposite to the slip u_t. Without the shift s a sliding
// contact would separate with mu |u_t|. u is unique for small mu; lam need not be.
//
// A block with mu < 0 is dry friction with a fixed bound, that of a joint, say: |lam| <= -mu of all its rows together,
// opposite to u. Rows that it does not have are zero in D and b, and so is lam there.
//
// The residual of an answer, in the unit of u (Acary and Brogliato 2008, 12.4), with d_i the mean diagonal of a block
// (of a contact without friction, D_nn):
//
//     missed = max_i |d_i lam_i - proj_K(d_i lam_i - u_i - s_i)|                                                   (3)
#pragma once

#include "scalar/isa.hpp"
#include <cmath>

namespace dalembert {

struct ConeProblem {
  int m;               // contacts
  const double *D, *b; // 3 m x 3 m, 3 m
  const double *mu;    // m; negative: a row of fixed bound
};

// length of a tangential vector; std::hypot guards against overflow, which velocities and impulses do not reach
DALEMBERT_INLINE double tangential_size(double x, double y) { return std::sqrt(x * x + y * y); }

// Projection of x onto a ball.
DALEMBERT_INLINE void project_on_ball(double radius, const double x[3], double out[3]) {
  if (x[1] == 0.0 && x[2] == 0.0) {
    out[0] = std::fmin(std::fmax(x[0], -radius), radius), out[1] = out[2] = 0.0;
    return;
  }
  const double size = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]), part = size > radius ? radius / size : 1.0;
  for (int k = 0; k < 3; ++k)
    out[k] = part * x[k];
}

// Projection of x onto the cone K.
DALEMBERT_INLINE void project_on_cone(double mu, const double x[3], double out[3]) {
  out[0] = out[1] = out[2] = 0.0;
  if (mu < 0.0) {
    project_on_ball(-mu, x, out);
    return;
  }
  const double size = tangential_size(x[0], x[1]);
  if (mu * size <= -x[2])
    return;
  if (size <= mu * x[2]) {
    out[0] = x[0], out[1] = x[1], out[2] = x[2];
    return;
  }
  out[2] = (x[2] + mu * size) / (1.0 + mu * mu);
  const double part = size > 0.0 ? mu * out[2] / size : 0.0;
  out[0] = part * x[0], out[1] = part * x[1];
}

// d of (3) from the diagonal of a block
DALEMBERT_INLINE double cone_scale(double mu, double first, double second, double normal) {
  return mu > 0.0 ? (first + second + normal) / 3.0 : mu < 0.0 ? std::fmax(first, std::fmax(second, normal)) : normal;
}

// (3) of one contact; d: its scale
DALEMBERT_INLINE double cone_residual(double mu, double d, const double lam[3], const double u[3]) {
  if (mu < 0.0) {
    const double free[3] = {d * lam[0] - u[0], d * lam[1] - u[1], d * lam[2] - u[2]};
    double onto[3];
    project_on_ball(-d * mu, free, onto);
    const double x = d * lam[0] - onto[0], y = d * lam[1] - onto[1], z = d * lam[2] - onto[2];
    return std::sqrt(x * x + y * y + z * z);
  }
  const double shifted[3] = {d * lam[0] - u[0], d * lam[1] - u[1],
                             d * lam[2] - u[2] - mu * tangential_size(u[0], u[1])};
  double onto[3];
  project_on_cone(mu, shifted, onto);
  const double x = d * lam[0] - onto[0], y = d * lam[1] - onto[1], z = d * lam[2] - onto[2];
  return std::sqrt(x * x + y * y + z * z);
}

// One contact, D (3 x 3), prepared for many right-hand sides.
//
// Sticking by the inverse of D, where S of (4) is well conditioned; sliding by Newton's method on the k of (4).
struct ContactCone {
  double D[9], mu, scale;         // scale: d of (3)
  double inverse[6];              // of D, where it is regular: xx, xy, xz, yy, yz, zz
  double S[3], coupling[2];       // S of (4): xx, xy, yy; D_tn / D_nn
  bool regular;

  void prepare(const double D[9], double mu);
  // Solves (1) at b: open, sticking, or sliding. False if D_nn = 0 and b_n < 0: nothing stops it.
  DALEMBERT_INLINE bool solve(const double b[3], double lam[3]) const {
    if (mu > 0.0 && regular && b[2] < 0.0) {
      const double x = inverse[0] * b[0] + inverse[1] * b[1] + inverse[2] * b[2];
      const double y = inverse[1] * b[0] + inverse[3] * b[1] + inverse[4] * b[2];
      const double push = -(inverse[2] * b[0] + inverse[4] * b[1] + inverse[5] * b[2]);
      if (push > 0.0 && x * x + y * y <= mu * mu * push * push) {
        lam[0] = -x, lam[1] = -y, lam[2] = push;
        return true;
      }
      return slide(b, lam) || solve_closely(b, lam);
    }
    if (mu >= 0.0 && b[2] >= 0.0) {
      lam[0] = lam[1] = lam[2] = 0.0;
      return true;
    }
    return solve_closely(b, lam);
  }

private:
  bool slide(const double b[3], double lam[3]) const;
  bool solve_closely(const double b[3], double lam[3]) const;
};

// Solves (1) for one contact once.
DALEMBERT_INLINE bool solve_one_contact(const double D[9], const double b[3], double mu, double lam[3]) {
  ContactCone contact;
  contact.prepare(D, mu);
  return contact.solve(b, lam);
}

} // namespace dalembert
