#include "numerics/cone_problem.hpp"
#include <algorithm>

namespace dalembert {

namespace {

constexpr double dependent = 1e-12; // of the largest eigenvalue: a smaller one is zero
constexpr int max_expansions = 200; // of the bracket, by factors of four
constexpr int max_root_steps = 100;
constexpr double well_conditioned = 1e-6; // determinant of S over the product of its diagonal
constexpr int max_slide_steps = 12;
constexpr double slide_tolerance = 4e-15; // of lam_t

// A sliding contact has u_t = -k lam_t, k > 0, and u_n = 0. With the normal row eliminated and tangential axes in which
// S is diagonal,
//
//     S = D_tt - D_tn D_nt / D_nn,   c = b_t - D_tn b_n / D_nn,   lam_t = -c / (S + k),
//     lam_n = -(b_n + D_nt lam_t) / D_nn,     |lam_t| = mu lam_n                                                   (4)
struct SlidingContact {
  double mu, normal, b;     // D_nn, b_n
  double S[2], c[2], tn[2]; // eigenvalues; c and D_tn in eigenvectors
  double axis[2];           // the first eigenvector
  double force[2], push;    // lam_t, lam_n at the last k

  void eliminate_normal(const double D[9], const double given[3], double friction) {
    mu = friction, normal = D[8], b = given[2];
    const double w[2] = {D[2], D[5]};
    const double a = D[0] - w[0] * w[0] / normal, e = D[4] - w[1] * w[1] / normal, f = D[1] - w[0] * w[1] / normal;
    const double g[2] = {given[0] - w[0] * b / normal, given[1] - w[1] * b / normal};
    const double angle = 0.5 * std::atan2(2.0 * f, a - e), half = tangential_size(0.5 * (a - e), f);
    axis[0] = std::cos(angle), axis[1] = std::sin(angle);
    S[0] = 0.5 * (a + e) + half, S[1] = 0.5 * (a + e) - half;
    c[0] = axis[0] * g[0] + axis[1] * g[1], c[1] = axis[0] * g[1] - axis[1] * g[0];
    tn[0] = axis[0] * w[0] + axis[1] * w[1], tn[1] = axis[0] * w[1] - axis[1] * w[0];
  }
  // (4) at k; returns |lam_t| - mu lam_n
  double at(double k) {
    force[0] = -c[0] / (S[0] + k), force[1] = -c[1] / (S[1] + k);
    push = -(b + tn[0] * force[0] + tn[1] * force[1]) / normal;
    return tangential_size(force[0], force[1]) - mu * push;
  }
  // nearly linear in k, with the root and the sign of `at`
  double reciprocal() const { return 1.0 / (mu * push) - 1.0 / tangential_size(force[0], force[1]); }
  bool sticks(double scale) {
    for (int j = 0; j < 2; ++j)
      if (S[j] > dependent * scale)
        force[j] = -c[j] / S[j];
      else if (std::fabs(c[j]) <= dependent * (tangential_size(c[0], c[1]) + std::fabs(b)))
        force[j] = 0.0;
      else
        return false;
    push = -(b + tn[0] * force[0] + tn[1] * force[1]) / normal;
    return tangential_size(force[0], force[1]) <= mu * push;
  }
  void slide();
};

// Regula falsi (Illinois) on the reciprocals, bisection where lam_n <= 0.
void SlidingContact::slide() {
  double lo = 0.0, hi = tangential_size(c[0], c[1]) * normal / (mu * -b); // the root if D_tn = 0 and S = 0
  double at_lo = 0.0, at_hi = 0.0;                                        // reciprocals; 0 at lo: lam_n <= 0
  if (S[1] > 0.0) {
    at(lo);
    at_lo = push > 0.0 ? reciprocal() : 0.0;
  }
  for (int k = 0; k < max_expansions && at(hi) > 0.0; ++k) {
    at_lo = push > 0.0 ? reciprocal() : 0.0;
    lo = hi, hi *= 4.0;
  }
  at_hi = reciprocal();
  int side = 0; // the end that the last step moved
  for (int step = 0; step < max_root_steps && hi - lo > 4e-16 * hi; ++step) {
    double k = at_lo > 0.0 ? hi - at_hi * (hi - lo) / (at_hi - at_lo) : 0.5 * (lo + hi);
    if (!(k > lo && k < hi))
      k = 0.5 * (lo + hi);
    const double miss = at(k);
    if (std::fabs(miss) <= 4e-16 * mu * push)
      return;
    if (miss > 0.0) {
      at_lo = push > 0.0 ? reciprocal() : 0.0, lo = k;
      at_hi *= side < 0 ? 0.5 : 1.0, side = -1;
    } else {
      at_hi = reciprocal(), hi = k;
      at_lo *= side > 0 ? 0.5 : 1.0, side = 1;
    }
  }
  at(hi);
}

// x of (D + k) x = -b, with zero rows left out, by cofactors
void solve_shifted(const double D[9], const double b[3], double k, double x[3]) {
  double a[6] = {D[0] + k, D[1], D[2], D[4] + k, D[5], D[8] + k};
  const int diagonal[3] = {0, 3, 5};
  for (int r = 0; r < 3; ++r)
    if (D[4 * r] == 0.0)
      a[diagonal[r]] = 1.0;
  const double xx = a[3] * a[5] - a[4] * a[4], xy = a[2] * a[4] - a[1] * a[5], xz = a[1] * a[4] - a[2] * a[3],
               yy = a[0] * a[5] - a[2] * a[2], yz = a[1] * a[2] - a[0] * a[4], zz = a[0] * a[3] - a[1] * a[1];
  const double over = -1.0 / (a[0] * xx + a[1] * xy + a[2] * xz);
  x[0] = over * (xx * b[0] + xy * b[1] + xz * b[2]), x[1] = over * (xy * b[0] + yy * b[1] + yz * b[2]);
  x[2] = over * (xz * b[0] + yz * b[1] + zz * b[2]);
}

double size_of(const double x[3]) { return std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

// lam of D lam + b = -k lam, |lam| <= radius, k > 0 only where it is equal: Newton's method on 1 / |lam|, which is nearly
// linear in k
void solve_in_ball(const double D[9], const double b[3], double radius, double lam[3]) {
  double k = dependent * (D[0] + D[4] + D[8]);
  solve_shifted(D, b, k, lam);
  for (int step = 0; step < max_root_steps && size_of(lam) > radius * (1.0 + slide_tolerance); ++step) {
    double slope[3]; // of lam by k
    solve_shifted(D, lam, k, slope);
    const double size = size_of(lam), rate = lam[0] * slope[0] + lam[1] * slope[1] + lam[2] * slope[2];
    if (!(rate < 0.0))
      break;
    k += size * size * (size - radius) / (radius * -rate);
    solve_shifted(D, b, k, lam);
  }
  const double part = size_of(lam) > radius ? radius / size_of(lam) : 1.0;
  for (int r = 0; r < 3; ++r)
    lam[r] *= part;
}

} // namespace

void ContactCone::prepare(const double given[9], double friction) {
  std::copy_n(given, 9, D);
  mu = friction, scale = cone_scale(mu, D[0], D[4], D[8]);
  regular = mu > 0.0 && D[8] > 0.0;
  if (!regular)
    return;
  const double wx = coupling[0] = D[2] / D[8], wy = coupling[1] = D[5] / D[8];
  const double a = S[0] = D[0] - D[2] * wx, f = S[1] = D[1] - D[2] * wy, e = S[2] = D[4] - D[5] * wy;
  const double det = a * e - f * f;
  regular = det > well_conditioned * a * e;
  if (!regular)
    return;
  inverse[0] = e / det, inverse[1] = -f / det, inverse[3] = a / det;
  inverse[2] = -(inverse[0] * wx + inverse[1] * wy), inverse[4] = -(inverse[1] * wx + inverse[3] * wy);
  inverse[5] = 1.0 / D[8] - (inverse[2] * wx + inverse[4] * wy);
}

// Newton's method on the reciprocals of |lam_t| and mu lam_n, which are nearly linear in k; false if it does not end.
bool ContactCone::slide(const double b[3], double lam[3]) const {
  const double gx = b[0] - coupling[0] * b[2], gy = b[1] - coupling[1] * b[2];
  const double mean = 0.5 * (S[0] + S[2]), alone = -b[2] / D[8];
  // the root if S has equal eigenvalues and D_tn = 0
  double k = std::max(tangential_size(gx, gy) / (mu * alone) - mean, 0.05 * mean);
  for (int step = 0; step < max_slide_steps; ++step) {
    const double a = S[0] + k, e = S[2] + k, f = S[1], over = 1.0 / (a * e - f * f);
    const double x = (f * gy - e * gx) * over, y = (f * gx - a * gy) * over;
    const double push = alone - (coupling[0] * x + coupling[1] * y), size = tangential_size(x, y);
    if (!(push > 0.0) || !(size > 0.0))
      return false;
    const double miss = size - mu * push;
    if (std::fabs(miss) <= slide_tolerance * mu * push) {
      lam[0] = x, lam[1] = y, lam[2] = push;
      return true;
    }
    const double dx = (f * y - e * x) * over, dy = (f * x - a * y) * over; // slopes by k
    const double push_slope = -(coupling[0] * dx + coupling[1] * dy), size_slope = (x * dx + y * dy) / size;
    const double slope = size_slope / (size * size) - push_slope / (mu * push * push);
    k -= miss / (mu * push * size) / slope;
    if (!(k > 0.0))
      return false;
  }
  return false;
}

// every case, by eigenvalues of S and a bracket of k
bool ContactCone::solve_closely(const double b[3], double lam[3]) const {
  lam[0] = lam[1] = lam[2] = 0.0;
  if (mu < 0.0) {
    if (D[4] == 0.0 && D[8] == 0.0)
      lam[0] = D[0] > 0.0 ? std::fmin(std::fmax(-b[0] / D[0], mu), -mu) : 0.0;
    else
      solve_in_ball(D, b, -mu, lam);
    return true;
  }
  if (b[2] >= 0.0)
    return true;
  if (!(D[8] > 0.0))
    return false;
  lam[2] = -b[2] / D[8];
  if (!(mu > 0.0))
    return true;
  SlidingContact contact;
  contact.eliminate_normal(D, b, mu);
  contact.S[1] = std::max(contact.S[1], 0.0);
  if (!contact.sticks(std::max(D[0], D[4])))
    contact.slide();
  lam[0] = contact.axis[0] * contact.force[0] - contact.axis[1] * contact.force[1];
  lam[1] = contact.axis[1] * contact.force[0] + contact.axis[0] * contact.force[1];
  lam[2] = contact.push;
  return true;
}

} // namespace dalembert
