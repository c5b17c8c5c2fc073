#include "friction/rows_at_rest.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dalembert {

namespace {
constexpr double on_ellipsoid = 1e-9; // relative: closer efforts are on the ellipsoid
constexpr double least_pull = 1e-12;  // of the accelerations that the efforts cause: far below those at break-away
constexpr double moves_along = 1e-9;  // of the accelerations that add up to it: a larger one is not rounding
std::size_t at(int k) { return std::size_t(k); }
} // namespace

void RowsAtRest::reserve(int m) {
  resize(m);
  qp.reserve(m);
  independent.reserve(at(m));
}

void RowsAtRest::resize(int m) {
  count = m;
  const std::size_t n = at(m);
  A.resize(n * n);
  for (std::vector<double> *each :
       {&side, &noise, &a0, &friction, &static_friction, &x, &direction, &limit, &lower, &upper, &share, &along})
    each->resize(n);
  for (std::vector<unsigned char> *each : {&pinned, &slips, &bound, &broke_away})
    each->resize(n);
  group.resize(n), bounded_group.resize(n);
  independent.clear();
}

void RowsAtRest::dissolve_single_groups() {
  for (std::int32_t &each : group)
    if (each >= 0 && std::count(group.begin(), group.end(), each) == 1)
      each = -1;
}

bool RowsAtRest::begins_group(int k) const {
  return group[at(k)] >= 0 && std::find(group.begin(), group.end(), group[at(k)]) == group.begin() + k;
}

EllipsoidQpData RowsAtRest::data() const {
  return {count, A.data(), a0.data(), lower.data(), upper.data(), bounded_group.data(), limit.data(), noise.data()};
}

bool RowsAtRest::solve(FreeSet &set) {
  const double unlimited = std::numeric_limits<double>::infinity();
  limit = static_friction;
  for (int round = 0; round <= count; ++round) {
    for (int k = 0; k < count; ++k) {
      lower[at(k)] = unbounded_below(k) ? -unlimited : -limit[at(k)];
      upper[at(k)] = unbounded_above(k) ? unlimited : limit[at(k)];
      bounded_group[at(k)] = limit[at(k)] > 0.0 ? group[at(k)] : -1;
    }
    if (!qp.solve(data(), round > 0))
      return false;
    classify(set);
    int first = -1;
    for (int k = 0; k < count; ++k)
      if (slips[at(k)] && limit[at(k)] > friction[at(k)] &&
          (first < 0 || std::fabs(qp.w[at(k)]) > std::fabs(qp.w[at(first)])))
        first = k;
    if (first < 0)
      break;
    for (int k = 0; k < count; ++k) // it breaks away
      if (k == first || (bounded_group[at(first)] >= 0 && bounded_group[at(k)] == bounded_group[at(first)]))
        limit[at(k)] = friction[at(k)];
  }
  for (std::size_t k = 0; k < limit.size(); ++k)
    broke_away[k] = limit[k] < static_friction[k];
  return true;
}

// Groups on their ellipsoids, with an acceleration: without one, other rows could hold as well.
void RowsAtRest::judge_groups() {
  for (int first = 0; first < count; ++first) {
    if (!begins_group(first))
      continue;
    const auto mine = [&](int k) { return group[at(k)] == group[at(first)]; };
    double size = 0.0, pull = 0.0, square = 0.0;
    bool whole = true;
    for (int k = first; k < count; ++k) {
      if (!mine(k) || bounded_group[at(k)] < 0)
        continue;
      double sum = 0.0;
      for (int j = 0; j < count; ++j)
        sum += std::fabs(A[at(k * count + j)] * x[at(j)]);
      size = std::max(size, sum);
      pull = std::hypot(pull, qp.w[at(k)]);
      square += x[at(k)] * x[at(k)] / (limit[at(k)] * limit[at(k)]);
    }
    const bool beyond = pull > least_pull * size && std::sqrt(square) >= 1.0 - on_ellipsoid;
    for (int k = first; k < count; ++k)
      if (mine(k)) {
        bound[at(k)] = bounded_group[at(k)] >= 0 ? beyond : bound[at(k)];
        whole = whole && bound[at(k)];
      }
    for (int k = first; k < count; ++k)
      if (mine(k))
        bound[at(k)] = whole;
  }
}

// The direction of slip of a group, opposite to its friction in the metric of the limits. A group that depends on stuck
// rows moves along its acceleration.
void RowsAtRest::set_direction(int first) {
  const auto mine = [&](int k) { return group[at(k)] == group[at(first)]; };
  bool limited = true, moves = false, resists = false;
  for (int k = first; k < count; ++k) {
    limited = limited && (!mine(k) || limit[at(k)] > 0.0);
    moves = moves || (mine(k) && along[at(k)] != 0.0);
    resists = resists || (mine(k) && slips[at(k)] && along[at(k)] == 0.0); // a row that does not depend on others
  }
  moves = moves && !resists;
  double size = 0.0;
  for (int k = first; k < count; ++k)
    if (mine(k)) {
      direction[at(k)] = moves ? along[at(k)] : limited ? -x[at(k)] / (limit[at(k)] * limit[at(k)]) : qp.w[at(k)];
      size = std::hypot(size, direction[at(k)]);
    }
  for (int k = first; k < count; ++k)
    if (mine(k))
      direction[at(k)] = size > 0.0 ? direction[at(k)] / size : 0.0;
}

// The acceleration of a row that depends on stuck rows: efforts do not change it. Zero if it is rounding.
double RowsAtRest::dependent_acceleration(const FreeSet &set, int k) {
  const std::vector<int> &stuck = set.members();
  for (std::size_t j = 0; j < stuck.size(); ++j)
    share[j] = A[at(k * count + stuck[j])];
  set.solve(share.data());
  double sum = a0[at(k)], size = std::fabs(sum), least = noise[at(k)];
  for (std::size_t j = 0; j < stuck.size(); ++j) {
    const double part = share[j] * a0[at(stuck[j])];
    sum -= part;
    size += std::fabs(part);
    least += std::fabs(share[j]) * noise[at(stuck[j])];
  }
  return std::fabs(sum) > std::max(moves_along * size, least) ? sum : 0.0;
}

void RowsAtRest::classify(FreeSet &set) {
  for (int k = 0; k < count; ++k) {
    x[at(k)] = qp.x[at(k)];
    bound[at(k)] =
        (x[at(k)] <= lower[at(k)] || x[at(k)] >= upper[at(k)]) && !qp.free.contains(k) &&
        !(qp.w[at(k)] == 0.0 && lower[at(k)] < upper[at(k)]); // without an acceleration away from it, it stays
  }
  judge_groups();
  set.reset(A.data(), count);
  for (const int k : qp.free.members())
    if (!bound[at(k)])
      set.append(k);
  for (int k = 0; k < count; ++k)
    if (!bound[at(k)] && !set.contains(k))
      set.append(k);
  independent.assign(set.members().begin(), set.members().end());
  for (int k = 0; k < count; ++k) {
    const double w = qp.w[at(k)];
    const bool depends = bound[at(k)] && set.depends(k);
    along[at(k)] = depends ? dependent_acceleration(set, k) : 0.0;
    slips[at(k)] = bound[at(k)] && (!depends || along[at(k)] != 0.0);
    direction[at(k)] = along[at(k)] != 0.0            ? std::copysign(1.0, along[at(k)])
                       : upper[at(k)] == lower[at(k)] ? (w > 0.0) - (w < 0.0)
                       : x[at(k)] >= upper[at(k)]     ? -1.0
                                                      : 1.0;
  }
  for (int first = 0; first < count; ++first) {
    if (!begins_group(first))
      continue;
    set_direction(first);
    bool any = false;
    for (int k = first; k < count; ++k)
      any = any || (group[at(k)] == group[at(first)] && slips[at(k)]);
    for (int k = first; k < count; ++k) // as a whole
      if (group[at(k)] == group[at(first)])
        slips[at(k)] = any;
  }
}

} // namespace dalembert
