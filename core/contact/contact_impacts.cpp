#include "contact/contact_impacts.hpp"

#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int max_turns = 10000;       // impacts in turn at one time
constexpr int max_sweeps = 200000;     // of the second phase of Poisson's impacts
constexpr double sweep_tol = 1e-14;    // of the largest velocity: smaller changes end them
constexpr int restitution_rounds = 40; // of the largest restitution that does not increase the energy

} // namespace

// acceleration towards each other without contact, m/s^2
double ContactImpact::fall(std::size_t k) const { return std::max(-e.b[3 * k + 2], 0.0); }
double ContactImpact::low_speed(std::size_t k) const { // of a rebound that is none
  return std::max(e.rest_speed(e.closed[k]), std::sqrt(2.0 * fall(k) * e.hop_height));
}

// restitution of a point, lowered by a factor; 0 where the rebound is none
double ContactImpact::restitution_of(std::size_t k, double part) const {
  const double factor = part * e.closed[k].restitution;
  return factor * e.u[3 * k + 2] < -low_speed(k) ? factor : 0.0;
}

// (1) or (2) of the points `acting`, with restitution lowered by a factor: e.lam. Returns the change of energy; NaN: no
// solution.
double ContactImpact::impulses(double part) {
  const std::size_t n = acting.size(), size = e.u.size();
  const bool poisson = e.impact_law == ImpactLaw::poisson;
  shifted.resize(3 * n), mu.resize(n), acting_D.resize(9 * n * n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t point = acting[k];
    for (std::size_t f = 0; f < 3; ++f)
      shifted[3 * k + f] = e.u[3 * point + f];
    if (!poisson)
      shifted[3 * k + 2] += restitution_of(point, part) * e.u[3 * point + 2];
    mu[k] = e.closed[point].joint >= 0 ? no_bound : e.closed[point].friction; // finite efforts have no impulse
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t f = 0; f < 9; ++f)
        acting_D[(3 * k + f / 3) * 3 * n + 3 * j + f % 3] = e.D[(3 * point + f / 3) * size + 3 * acting[j] + f % 3];
  }
  ConeSolver &solver = e.rows.solver;
  solver.reserve(int(n));
  const double scale = largest(e.u);
  solve_cone_problem({int(n), acting_D.data(), shifted.data(), mu.data()}, solver, cone_tol * scale, false);
  if (!(solver.missed <= solved_tol * scale))
    return std::nan("");
  found.assign(solver.lam.begin(), solver.lam.begin() + std::ptrdiff_t(3 * n));
  if (poisson && !restore(part, scale))
    return std::nan("");
  e.lam.assign(size, 0.0);
  for (std::size_t k = 0; k < n; ++k)
    std::copy_n(found.data() + 3 * k, 3, e.lam.data() + 3 * acting[k]);
  return energy_of_impulses();
}

// (2) after the compression `found`, by sweeps; `found` become the impulses of both phases
bool ContactImpact::restore(double part, double scale) {
  const std::size_t n = acting.size(), size = 3 * n;
  least.assign(n, 0.0), restored.assign(size, 0.0);
  bool any = false;
  for (std::size_t k = 0; k < n; ++k) {
    least[k] = std::max(restitution_of(acting[k], part) * found[3 * k + 2], 0.0);
    restored[3 * k + 2] = least[k], any = any || least[k] > 0.0;
  }
  if (!any)
    return true;
  for (std::size_t k = 0; k < size; ++k) // velocities after compression
    for (std::size_t j = 0; j < size; ++j)
      shifted[k] += acting_D[k * size + j] * found[j];
  const auto velocity = [&](std::size_t row) {
    double sum = shifted[row];
    for (std::size_t j = 0; j < size; ++j)
      sum += acting_D[row * size + j] * restored[j];
    return sum;
  };
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    double change = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      if (mu[k] < 0.0)
        continue;
      double *lam = restored.data() + 3 * k;
      const double *D = acting_D.data() + 3 * k * size + 3 * k, own = D[2 * size + 2];
      const double normal = own > 0.0 ? std::max(least[k], lam[2] - velocity(3 * k + 2) / own) : least[k];
      change = std::max(change, own * std::fabs(normal - lam[2]));
      lam[2] = normal;
      const double across = D[0] + D[size + 1];
      if (!(mu[k] > 0.0) || !(across > 0.0))
        continue;
      const double u[2] = {velocity(3 * k), velocity(3 * k + 1)};
      double t[2] = {lam[0] - u[0] / across, lam[1] - u[1] / across};
      const double length = std::hypot(t[0], t[1]), bound = mu[k] * lam[2];
      for (int f = 0; f < 2; ++f) {
        t[f] = length > bound ? t[f] * bound / length : t[f];
        change = std::max(change, across * std::fabs(t[f] - lam[f]));
        lam[f] = t[f];
      }
    }
    if (change <= sweep_tol * scale) {
      for (std::size_t k = 0; k < size; ++k)
        found[k] += restored[k];
      return true;
    }
  }
  return false;
}
double ContactImpact::energy_of_impulses() {
  const std::size_t size = e.u.size();
  double sum = 0.0;
  e.w = e.u;
  for (std::size_t k = 0; k < size; ++k) {
    for (std::size_t j = 0; j < size; ++j)
      e.w[k] += e.D[k * size + j] * e.lam[j];
    sum += 0.5 * e.lam[k] * (e.u[k] + e.w[k]);
  }
  return sum;
}
double ContactImpact::energy_scale() const {
  double sum = 0.0;
  for (std::size_t k = 0; k < e.u.size(); ++k)
    sum += std::fabs(e.lam[k] * e.u[k]);
  return sum;
}

void ContactImpact::apply_impulses(double energy) {
  change.energy += energy;
  for (std::size_t k = 0; k < e.closed.size(); ++k) {
    const double *lam = e.lam.data() + 3 * k, *axes = e.rows.rows[k].axes;
    ClosedPoint &p = e.closed[k];
    p.fastest = std::max({p.fastest, std::hypot(e.u[3 * k], e.u[3 * k + 1])});
    if (!(lam[2] > 0.0))
      continue;
    ImpactPoint &at = change.impacts.emplace_back();
    at.contact = p.contact, at.shapes[0] = p.shapes[0], at.shapes[1] = p.shapes[1], at.stop = p.stop;
    for (int x = 0; x < 3; ++x) {
      at.place[x] = 0.5 * (e.points[k].on_first[x] + e.points[k].on_second[x]), at.normal[x] = axes[6 + x];
      at.impulse[x] = axes[x] * lam[0] + axes[3 + x] * lam[1] + axes[6 + x] * lam[2];
    }
    if (p.stop >= 0)
      at.impulse[2] = lam[2];
    at.before = e.u[3 * k + 2], at.after = e.w[3 * k + 2];
    at.normal_work = 0.5 * lam[2] * (at.before + at.after), at.friction_work = 0.0;
    for (std::size_t f = 0; f < 2; ++f)
      at.friction_work += 0.5 * lam[f] * (e.u[3 * k + f] + e.w[3 * k + f]);
  }
  add_response(e.rows, 0, e.closed.size(), e.lam.data(), v);
}

bool ContactImpact::approaches() const {
  for (std::size_t k = 0; k < e.closed.size(); ++k)
    if (e.u[3 * k + 2] < -e.rest_speed(e.closed[k]))
      return true;
  return false;
}

// points that act in the next impact: all of them, or, in turn, those of the pair that approaches fastest
void ContactImpact::choose_acting() {
  acting.clear();
  std::size_t first = 0;
  for (std::size_t k = 0; k < e.closed.size(); ++k)
    if (e.u[3 * k + 2] < e.u[3 * first + 2])
      first = k;
  const ClosedPoint &chosen = e.closed[first];
  for (std::size_t k = 0; k < e.closed.size(); ++k) {
    const ClosedPoint &p = e.closed[k];
    const bool same = k == first || (p.touches() && chosen.touches() && p.shapes[0] == chosen.shapes[0] &&
                                     p.shapes[1] == chosen.shapes[1]);
    if (e.impact_law != ImpactLaw::in_turn || same)
      acting.push_back(k);
  }
}

bool ContactImpact::collide() {
  if (e.impact_law != ImpactLaw::in_turn)
    return collide_once();
  for (int round = 0; round < max_turns && approaches(); ++round) {
    if (!collide_once())
      return false;
    closed_velocities(e, v);
  }
  return !approaches();
}

bool ContactImpact::collide_once() {
  choose_acting();
  double energy = impulses(1.0);
  if (std::isnan(energy))
    return false;
  if (energy > 1e-9 * energy_scale()) {
    double low = 0.0, high = 1.0;
    for (int round = 0; round < restitution_rounds; ++round) {
      const double middle = 0.5 * (low + high), found = impulses(middle);
      (found > 1e-12 * energy_scale() ? high : low) = middle;
    }
    energy = impulses(low);
    change.restitution_part = std::min(change.restitution_part, low);
    if (std::isnan(energy))
      return false;
  }
  apply_impulses(energy);
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
