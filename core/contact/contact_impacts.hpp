// Impacts of closed contacts and stops, on the velocities of a run.
//
// If a closed point approaches, impulses Lam act in all of them (Newton's restitution e, Coulomb's cone K of
// numerics/cone_problem.hpp):
//
//     u+ = u + D Lam,     Lam in K,     u+ + (0, 0, e u_n + friction |u_t+|) in its dual, orthogonal to Lam        (1)
//
// In turn, (1) holds for the points of one pair of shapes, or for a stop, the fastest first, until none approaches.
// Poisson's restitution has two phases: compression is (1) with e = 0 and impulses C, then
//
//     u+ = u + D C + D R,     R_n >= e C_n,  0 <= u+_n,  one of them equal,     |R_t| <= friction R_n, against u+_t   (2)
//
// A rebound that would rise by less than a tolerance is none. If impulses would increase the energy, all e are lowered
// by one factor, the largest that does not (Kane and Levinson 1985).
#pragma once

#include "contact/contact_motion.hpp"

namespace dalembert::DALEMBERT_ISA {

// of the cone problems of impacts and modes
constexpr double cone_tol = 1e-13;   // residual, of the largest acceleration or velocity
constexpr double solved_tol = 1e-8;  // a larger one is no solution
constexpr double no_bound = -1e-300; // a row of fixed bound without any effort

// After respond_to_closed, closed_velocities and closed_accelerations: D, u and b of `e`.
class ContactImpact {
public:
  // v (nv): the velocities that impulses change; impacts are added to `change`
  ContactImpact(ContactEvents &e, ContactChange &change, double *v) : e(e), change(change), v(v) {}

  bool approaches() const;
  // Impulses of all points until none approaches. False if there is no solution.
  bool collide();
  // m/s: slower rebounds are none
  double low_speed(std::size_t k) const;
  // J: change by impulses e.lam; e.w become the velocities after them
  double energy_of_impulses();
  // adds impulses e.lam to the velocities and to the log; after energy_of_impulses
  void apply_impulses(double energy);

private:
  ContactEvents &e;
  ContactChange &change;
  double *v;
  std::vector<std::size_t> acting; // points of an impact
  std::vector<double> mu, shifted, acting_D, found, restored, least;

  double fall(std::size_t k) const;
  double restitution_of(std::size_t k, double part) const;
  double impulses(double part);
  bool restore(double part, double scale);
  double energy_scale() const;
  void choose_acting();
  bool collide_once();
};

} // namespace dalembert::DALEMBERT_ISA
