// Samples at times that steps of given lengths come to.
#pragma once

#include <cmath>

namespace dalembert {

// Whether two times are one but for rounding: a sample at a discontinuity of the laws, say.
inline bool is_same_time(double a, double b) { return std::fabs(a - b) <= 4e-16 * std::fmax(std::fabs(a), std::fabs(b)); }
inline bool is_reached(double sample, double t) { return sample <= t || is_same_time(sample, t); }

} // namespace dalembert
