// How long the next step should be.
#pragma once

#include <algorithm>
#include <cmath>

namespace dalembert {

// PI control (Gustafsson 1991; Hairer, Wanner 1996, (IV.2.43)): the factor for the next step
inline double growth(double error, double old_error, int order) {
  const double beta = 0.04, alpha = 1.0 / order - 0.75 * beta;
  const double most = order > 6 ? 6.0 : 10.0;
  if (error == 0.0)
    return most;
  return std::min(most, std::max(0.2, 0.9 * std::pow(error, -alpha) * std::pow(old_error, beta)));
}

// the factor after an error above the tolerance
inline double shrink(double error, int order) { return std::max(0.2, 0.9 * std::pow(error, -1.0 / order)); }

// The length after an accepted step of length h; a step that was cut short to end on time says little about the next.
inline double next_length(double wanted, double h, double error, double old_error, bool rejected, int order) {
  double factor = growth(error, old_error, order);
  if (rejected)
    factor = std::min(1.0, factor);
  return h < 0.9 * wanted && factor >= 1.0 ? std::max(wanted, h * factor) : h * factor;
}

// dop853 weighs two error estimates (Hairer, Norsett, Wanner 1993, (II.10.17))
inline double both_estimates(double fine, double coarse) {
  const double both = fine * fine + 0.01 * coarse * coarse;
  return both > 0.0 ? fine * fine / std::sqrt(both) : 0.0;
}

// In a step attitudes turn by less than half a turn, so that its two ends tell which way they went: the square of the
// largest angle, in units of this, counts as an error.
inline double turn_error(double square, int order) {
  constexpr double most = 2.0; // rad
  return std::pow(std::sqrt(square) / most, order);
}

// A first step from a trial one, and the sizes of the first two rates (Hairer, Norsett, Wanner 1993, section II.4)
inline double first_length(double trial, double slope, double bend, int order, double left, double most) {
  const double steep = std::max(slope, bend);
  const double by_order = steep <= 1e-15 ? std::max(1e-6, 1e-3 * trial) : std::pow(0.01 / steep, 1.0 / order);
  return std::min({100.0 * trial, by_order, left, most});
}

} // namespace dalembert
