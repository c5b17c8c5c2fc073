// Step-size control.
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

// Predictive control of implicit steps (Gustafsson 1994; Hairer, Wanner 1996, section IV.8): the factor for the next
// step, from the errors and lengths of the last two. What it predicts has bounds: across a jump of the forces steps and
// errors change by orders of magnitude, and two of them predict nothing.
inline double predicted_growth(double h, double error, double old_length, double old_error, double safety) {
  constexpr double least = 0.2, most = 10.0, least_old = 1e-2;
  if (error == 0.0)
    return most;
  double factor = std::pow(error, -0.25);
  if (old_length > 0.0)
    factor = std::min(factor, h / old_length * std::pow(std::max(old_error, least_old) / error, 0.25) * factor);
  return std::min(most, std::max(least, safety * factor));
}

// the factor after an error above the tolerance
inline double reduced_step(double error, int order) { return std::max(0.2, 0.9 * std::pow(error, -1.0 / order)); }

// The length after an accepted step of length h, by the factor that its error gives; a step that was cut short to end
// on time is no measure of the next.
inline double after_step(double wanted, double h, double factor, bool rejected) {
  if (rejected)
    factor = std::min(1.0, factor);
  return h < 0.9 * wanted && factor >= 1.0 ? std::max(wanted, h * factor) : h * factor;
}
inline double next_length(double wanted, double h, double error, double old_error, bool rejected, int order) {
  return after_step(wanted, h, growth(error, old_error, order), rejected);
}

// dop853 weighs two error estimates (Hairer, Norsett, Wanner 1993, (II.10.17))
inline double combined_error(double fine, double coarse) {
  const double both = fine * fine + 0.01 * coarse * coarse;
  return both > 0.0 ? fine * fine / std::sqrt(both) : 0.0;
}

// In a step attitudes turn by less than half a turn, so that its two ends determine the direction: the square of the
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
