#include "friction/rows_at_rest.hpp"
#include <cmath>
#include <limits>

namespace dalembert {

void RowsAtRest::resize(int m) {
  count = m;
  const std::size_t n = std::size_t(m);
  A.resize(n * n);
  for (std::vector<double> *each :
       {&side, &noise, &a0, &friction, &static_friction, &x, &direction, &limit, &lower, &upper})
    each->resize(n);
  for (std::vector<unsigned char> *each : {&pinned, &slips, &bound, &broke_away})
    each->resize(n);
  independent.clear();
}

bool RowsAtRest::solve(BoundedQp &qp, FreeSet &set) {
  const double unlimited = std::numeric_limits<double>::infinity();
  limit = static_friction;
  for (int round = 0; round <= count; ++round) {
    for (int k = 0; k < count; ++k) {
      const std::size_t at = std::size_t(k);
      lower[at] = unbounded_below(k) ? -unlimited : -limit[at];
      upper[at] = unbounded_above(k) ? unlimited : limit[at];
    }
    if (!qp.solve(count, A.data(), a0.data(), lower.data(), upper.data(), noise.data()))
      return false;
    classify(qp, set);
    int first = -1;
    for (int k = 0; k < count; ++k)
      if (slips[std::size_t(k)] && limit[std::size_t(k)] > friction[std::size_t(k)] &&
          (first < 0 || std::fabs(qp.w[std::size_t(k)]) > std::fabs(qp.w[std::size_t(first)])))
        first = k;
    if (first < 0)
      break;
    limit[std::size_t(first)] = friction[std::size_t(first)]; // it breaks away
  }
  for (std::size_t k = 0; k < limit.size(); ++k)
    broke_away[k] = limit[k] < static_friction[k];
  return true;
}

void RowsAtRest::classify(const BoundedQp &qp, FreeSet &set) {
  for (int k = 0; k < count; ++k) {
    const std::size_t at = std::size_t(k);
    x[at] = qp.x[at];
    bound[at] = (x[at] <= lower[at] || x[at] >= upper[at]) && !qp.free.contains(k) &&
                !(qp.w[at] == 0.0 && lower[at] < upper[at]); // without an acceleration away from it, it stays
  }
  set.reset(A.data(), count);
  for (const int k : qp.free.members())
    if (!bound[std::size_t(k)])
      set.append(k);
  for (int k = 0; k < count; ++k)
    if (!bound[std::size_t(k)] && !set.contains(k))
      set.append(k);
  independent.assign(set.members().begin(), set.members().end());
  for (int k = 0; k < count; ++k) {
    const std::size_t at = std::size_t(k);
    slips[at] = bound[at] && !set.depends(k);
    direction[at] = upper[at] == lower[at] ? (qp.w[at] > 0.0) - (qp.w[at] < 0.0) : x[at] >= upper[at] ? -1.0 : 1.0;
  }
}

} // namespace dalembert
