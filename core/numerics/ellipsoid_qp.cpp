#include "numerics/ellipsoid_qp.hpp"
#include "dense/symmetric_eigen.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dalembert {

namespace {

constexpr int max_turns = 400;           // alternations between bounds and ellipsoids
constexpr double convergence = 1e-13;    // change relative to the largest |x| at which the iteration stops
constexpr double boundary = 1e-9;        // of |x / f|: a group so close to 1 is on its ellipsoid
constexpr double dependent = 1e-10;      // of the largest eigenvalue of a group: smaller ones are zero
constexpr double rank_tolerance = 1e-13; // of the largest pivot in Newton's method
constexpr int max_newton_steps = 20;
constexpr int max_set_changes = 8; // sets of slipping groups and free unknowns that Newton's method tries

std::size_t at(int k) { return std::size_t(k); }

} // namespace

void EllipsoidQp::reserve(int n) {
  const std::size_t size = at(n);
  for (std::vector<double> *each : {&x, &w, &part_b, &part_lower, &part_upper, &part_noise, &eigenvalues, &z, &old})
    each->resize(size);
  for (std::vector<double> *each : {&part, &vectors, &scaled})
    each->resize(size * size);
  for (std::vector<int> *each : {&grouped, &plain, &unknown, &free_plain, &slipping})
    each->reserve(size);
  groups.reserve(size);
  right.resize(2 * size), local.resize(3 * size);
  box.reserve(n), free.reserve(n);
  qr.resize(2 * n, 2 * n);
}

double EllipsoidQp::gradient(const EllipsoidQpData &p, int k, const double *y) const {
  double sum = p.b[k];
  for (int j = 0; j < p.n; ++j)
    sum += p.A[std::ptrdiff_t(k) * p.n + j] * y[j];
  return sum;
}

void EllipsoidQp::find_groups(const EllipsoidQpData &p) {
  groups.clear(), grouped.clear(), plain.clear();
  for (int k = 0; k < p.n; ++k) {
    if (p.group[k] < 0) {
      plain.push_back(k);
      continue;
    }
    const auto same = [&](const Group &g) { return g.number == p.group[k]; };
    if (std::any_of(groups.begin(), groups.end(), same))
      continue;
    Group g{p.group[k], int(grouped.size()), 0, 0.0};
    for (int j = k; j < p.n; ++j)
      if (p.group[j] == g.number)
        grouped.push_back(j), ++g.count;
    groups.push_back(g);
  }
}

// F A F of each group, with its eigenvalues and eigenvectors, and the program of the unknowns outside groups
static void scale_group(const EllipsoidQpData &p, const int *members, int count, double *out) {
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j)
      out[i * count + j] = p.f[members[i]] * p.A[std::ptrdiff_t(members[i]) * p.n + members[j]] * p.f[members[j]];
}

// The solution with all groups free, which holds if each is inside its ellipsoid.
bool EllipsoidQp::solve_without_ellipsoids(const EllipsoidQpData &p) {
  const double unlimited = std::numeric_limits<double>::infinity();
  for (int k = 0; k < p.n; ++k) {
    const bool alone = p.group[k] < 0;
    part_lower[at(k)] = alone ? p.lower[k] : -unlimited;
    part_upper[at(k)] = alone ? p.upper[k] : unlimited;
    part_noise[at(k)] = alone && p.noise ? p.noise[k] : 0.0;
  }
  if (!box.solve(p.n, p.A, p.b, part_lower.data(), part_upper.data(), part_noise.data()))
    return false;
  std::copy_n(box.x.begin(), p.n, z.begin());
  for (const Group &g : groups) {
    double square = 0.0;
    for (int j = 0; j < g.count; ++j) {
      const int k = grouped[at(g.first + j)];
      square += z[at(k)] * z[at(k)] / (p.f[k] * p.f[k]);
      if (box.w[at(k)] != 0.0) // no force of this group holds it
        return false;
    }
    if (!(square < (1.0 - boundary) * (1.0 - boundary)))
      return false;
  }
  std::copy_n(z.begin(), p.n, x.begin());
  std::copy_n(box.w.begin(), p.n, w.begin());
  free.reset(p.A, p.n);
  for (const int k : box.free.members())
    free.append(k);
  return true;
}

bool EllipsoidQp::solve_bounds(const EllipsoidQpData &p) {
  const int m = int(plain.size());
  free_plain.clear();
  if (!m)
    return true;
  for (int i = 0; i < m; ++i) {
    const int k = plain[at(i)];
    double sum = p.b[k];
    for (const int j : grouped)
      sum += p.A[std::ptrdiff_t(k) * p.n + j] * x[at(j)];
    part_b[at(i)] = sum;
    part_lower[at(i)] = p.lower[k], part_upper[at(i)] = p.upper[k];
    part_noise[at(i)] = p.noise ? p.noise[k] : 0.0;
    for (int j = 0; j < m; ++j)
      part[at(i * m + j)] = p.A[std::ptrdiff_t(k) * p.n + plain[at(j)]];
  }
  if (!box.solve(m, part.data(), part_b.data(), part_lower.data(), part_upper.data(), part_noise.data()))
    return false;
  for (int i = 0; i < m; ++i)
    x[at(plain[at(i)])] = box.x[at(i)];
  for (const int i : box.free.members())
    free_plain.push_back(plain[at(i)]);
  return true;
}

// s with |g / (values + s)| = 1: Newton's method on the reciprocal, which is nearly linear, within a bracket
double EllipsoidQp::multiplier(int count, const double *values, const double *g) const {
  double size = 0.0, top = 0.0;
  for (int i = 0; i < count; ++i)
    size = std::hypot(size, g[i]), top = std::max(top, values[i]);
  double low = std::max(size - top, 1e-16 * size), high = size, s = low;
  for (int round = 0; round < 200; ++round) {
    double square = 0.0, slope = 0.0;
    for (int i = 0; i < count; ++i) {
      const double each = g[i] / (values[i] + s);
      square += each * each, slope += each * each / (values[i] + s);
    }
    const double length = std::sqrt(square), beyond = 1.0 / length - 1.0;
    (beyond < 0.0 ? low : high) = s;
    double next = s - beyond * length * square / slope;
    if (!(next > low && next < high))
      next = 0.5 * (low + high);
    if (std::fabs(next - s) <= 4e-16 * s || !(high - low > 4e-16 * high))
      return next;
    s = next;
  }
  return s;
}

// the exact solution for one group, with all other unknowns as they are
void EllipsoidQp::solve_group(const EllipsoidQpData &p, const Group &group) {
  const int count = group.count, *members = grouped.data() + group.first;
  const double *values = eigenvalues.data() + group.first, *Q = vectors.data() + std::ptrdiff_t(group.first) * p.n;
  double *rest = local.data(), *g = rest + count, *y = g + count;
  for (int i = 0; i < count; ++i) {
    rest[i] = gradient(p, members[i], x.data());
    for (int j = 0; j < count; ++j)
      rest[i] -= p.A[std::ptrdiff_t(members[i]) * p.n + members[j]] * x[at(members[j])];
  }
  double most = 0.0, top = 1e-300, square = 0.0;
  for (int i = 0; i < count; ++i) {
    g[i] = 0.0;
    for (int j = 0; j < count; ++j)
      g[i] += Q[j * count + i] * p.f[members[j]] * rest[j];
    most = std::max(most, std::fabs(g[i])), top = std::max(top, values[i]);
  }
  bool inside = true;
  for (int i = 0; i < count; ++i) {
    const bool kept = values[i] > dependent * top;
    inside = inside && (kept || std::fabs(g[i]) <= 1e-12 * most);
    y[i] = kept ? -g[i] / values[i] : 0.0;
    square += y[i] * y[i];
  }
  if (!inside || square > 1.0) {
    const double s = multiplier(count, values, g);
    square = 0.0;
    for (int i = 0; i < count; ++i)
      y[i] = -g[i] / (values[i] + s), square += y[i] * y[i];
    for (int i = 0; i < count; ++i)
      y[i] /= std::sqrt(square);
  }
  for (int i = 0; i < count; ++i) {
    double sum = 0.0;
    for (int j = 0; j < count; ++j)
      sum += Q[i * count + j] * y[j];
    x[at(members[i])] = p.f[members[i]] * sum;
  }
}

bool EllipsoidQp::on_boundary(const EllipsoidQpData &p, int number) const {
  double square = 0.0;
  for (int k = 0; k < p.n; ++k)
    if (p.group[k] == number)
      square += x[at(k)] * x[at(k)] / (p.f[k] * p.f[k]);
  return std::sqrt(square) >= 1.0 - boundary;
}

bool EllipsoidQp::newton_step(const EllipsoidQpData &p, double &change, double &size) {
  const int m = int(unknown.size()), total = m + int(slipping.size());
  qr.resize(total, total);
  for (int i = 0; i < m; ++i) {
    const int k = unknown[at(i)];
    right[at(i)] = -gradient(p, k, z.data());
    for (int j = 0; j < m; ++j)
      qr.column(j)[i] = p.A[std::ptrdiff_t(k) * p.n + unknown[at(j)]];
  }
  for (std::size_t j = 0; j < slipping.size(); ++j) {
    const Group &g = groups[at(slipping[j])];
    const int column = m + int(j);
    double square = 0.0;
    for (int i = 0; i < m; ++i) {
      const int k = unknown[at(i)];
      if (p.group[k] != g.number)
        continue;
      const double per = 1.0 / (p.f[k] * p.f[k]), pull = z[at(k)] * per;
      right[at(i)] -= g.s * pull;
      square += z[at(k)] * pull;
      qr.column(i)[i] += g.s * per;
      qr.column(column)[i] = qr.column(i)[column] = pull;
    }
    right[at(column)] = -0.5 * (square - 1.0);
  }
  qr.factor();
  qr.apply_transposed(right.data());
  for (int i = total - 1; i >= 0; --i) { // a basic solution where the rank is deficient
    double &value = right[at(i)];
    if (!(qr.pivot(i) > rank_tolerance * qr.pivot(0))) {
      value = 0.0;
      continue;
    }
    for (int j = i + 1; j < total; ++j)
      value -= qr.column(j)[i] * right[at(j)];
    value /= qr.column(i)[i];
  }
  change = size = 0.0;
  for (int i = 0; i < total; ++i) {
    const int place = qr.order[at(i)];
    const double step = right[at(i)];
    if (!std::isfinite(step))
      return false;
    if (place < m) {
      z[at(unknown[at(place)])] += step;
      change = std::max(change, std::fabs(step));
    } else {
      groups[at(slipping[at(place - m)])].s += step;
    }
  }
  for (int k = 0; k < p.n; ++k)
    size = std::max(size, std::fabs(z[at(k)]));
  return true;
}

// whether z satisfies the conditions of (1) within rounding
bool EllipsoidQp::satisfies(const EllipsoidQpData &p) const {
  double size = 0.0;
  for (int k = 0; k < p.n; ++k)
    size = std::max(size, 1e-9 * std::fabs(z[at(k)]));
  for (const int k : plain) {
    if (z[at(k)] < p.lower[k] - size || z[at(k)] > p.upper[k] + size)
      return false;
    if (std::find(free_plain.begin(), free_plain.end(), k) != free_plain.end())
      continue;
    double least = std::fabs(p.b[k]);
    for (int j = 0; j < p.n; ++j)
      least += std::fabs(p.A[std::ptrdiff_t(k) * p.n + j] * z[at(j)]);
    least = std::max(1e-10 * least, p.noise ? p.noise[k] : 0.0);
    const double slope = gradient(p, k, z.data());
    if (!(std::fabs(slope) <= least || (slope > 0.0 && z[at(k)] <= p.lower[k]) ||
          (slope < 0.0 && z[at(k)] >= p.upper[k])))
      return false;
  }
  for (const Group &g : groups) {
    double square = 0.0;
    for (int j = 0; j < g.count; ++j) {
      const int k = grouped[at(g.first + j)];
      square += z[at(k)] * z[at(k)] / (p.f[k] * p.f[k]);
    }
    if (!(std::sqrt(square) <= 1.0 + boundary))
      return false;
  }
  return std::all_of(slipping.begin(), slipping.end(), [&](int g) { return groups[at(g)].s >= 0.0; });
}

// Newton's method from x, with its slipping groups and free unknowns; false if its solution does not fit.
bool EllipsoidQp::polish(const EllipsoidQpData &p) {
  slipping.clear();
  std::copy_n(x.begin(), p.n, z.begin());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!on_boundary(p, groups[g].number))
      continue;
    slipping.push_back(int(g));
    double power = 0.0;
    for (int j = 0; j < groups[g].count; ++j) {
      const int k = grouped[at(groups[g].first + j)];
      power -= gradient(p, k, x.data()) * x[at(k)];
    }
    groups[g].s = std::max(power, 0.0);
  }
  for (int round = 0; round < max_set_changes; ++round) {
    unknown.assign(free_plain.begin(), free_plain.end());
    unknown.insert(unknown.end(), grouped.begin(), grouped.end());
    if (!run_newton(p))
      return false;
    if (satisfies(p)) {
      std::copy_n(z.begin(), p.n, x.begin());
      return true;
    }
    if (!change_sets(p))
      return false;
  }
  return false;
}

bool EllipsoidQp::run_newton(const EllipsoidQpData &p) {
  double change = 0.0, size = 0.0;
  for (int round = 0; round < max_newton_steps; ++round) {
    if (!newton_step(p, change, size))
      return false;
    if (change <= convergence * size)
      return true;
  }
  return false;
}

// Sets of slipping groups and free unknowns that z suggests; false if it suggests none.
bool EllipsoidQp::change_sets(const EllipsoidQpData &p) {
  const std::size_t slipped = slipping.size(), freed = free_plain.size();
  slipping.erase(std::remove_if(slipping.begin(), slipping.end(), [&](int g) { return groups[at(g)].s < 0.0; }),
                 slipping.end());
  const auto beyond = [&](int k) { return z[at(k)] < p.lower[k] || z[at(k)] > p.upper[k]; };
  for (const int k : free_plain)
    z[at(k)] = beyond(k) ? std::min(std::max(z[at(k)], p.lower[k]), p.upper[k]) : z[at(k)];
  const auto at_bound = [&](int k) { return z[at(k)] == p.lower[k] || z[at(k)] == p.upper[k]; };
  free_plain.erase(std::remove_if(free_plain.begin(), free_plain.end(), at_bound), free_plain.end());
  bool changed = slipping.size() != slipped || free_plain.size() != freed;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    double square = 0.0;
    for (int j = 0; j < groups[g].count; ++j) {
      const int k = grouped[at(groups[g].first + j)];
      square += z[at(k)] * z[at(k)] / (p.f[k] * p.f[k]);
    }
    if (!(square > 1.0 + boundary) || std::find(slipping.begin(), slipping.end(), int(g)) != slipping.end())
      continue;
    for (int j = 0; j < groups[g].count; ++j)
      z[at(grouped[at(groups[g].first + j)])] /= std::sqrt(square);
    groups[g].s = 0.0;
    slipping.push_back(int(g));
    changed = true;
  }
  return changed;
}

// w and the free set of the solution x
void EllipsoidQp::finish(const EllipsoidQpData &p) {
  free.reset(p.A, p.n);
  for (const int k : free_plain)
    free.append(k);
  for (const Group &g : groups)
    if (!on_boundary(p, g.number))
      for (int j = 0; j < g.count; ++j)
        free.append(grouped[at(g.first + j)]);
  for (int k = 0; k < p.n; ++k)
    w[at(k)] = gradient(p, k, x.data());
  for (const int k : free.members())
    w[at(k)] = 0.0;
  for (const int k : plain)
    if (p.noise && std::fabs(w[at(k)]) <= p.noise[k])
      w[at(k)] = 0.0;
}

bool EllipsoidQp::solve(const EllipsoidQpData &p, bool warm) {
  if (x.size() < at(p.n))
    reserve(p.n);
  find_groups(p);
  turns = 0;
  if (solve_without_ellipsoids(p))
    return true;
  if (groups.empty())
    return false;
  for (const Group &g : groups) {
    scale_group(p, grouped.data() + g.first, g.count, scaled.data());
    dense::diagonalize(scaled.data(), vectors.data() + std::ptrdiff_t(g.first) * p.n, g.count);
    for (int j = 0; j < g.count; ++j)
      eigenvalues[at(g.first + j)] = std::max(scaled[at(j * g.count + j)], 0.0);
  }
  if (!warm)
    std::fill_n(x.begin(), p.n, 0.0);
  for (turns = 1; turns <= max_turns; ++turns) {
    std::copy_n(x.begin(), p.n, old.begin());
    if (!solve_bounds(p))
      return false;
    for (const Group &g : groups)
      solve_group(p, g);
    double change = 0.0, size = 0.0;
    for (int k = 0; k < p.n; ++k) {
      change = std::max(change, std::fabs(x[at(k)] - old[at(k)]));
      size = std::max(size, std::fabs(x[at(k)]));
    }
    if (change <= convergence * size)
      break;
    if ((turns == 4 || turns % 20 == 0) && polish(p))
      break;
  }
  finish(p);
  return true;
}

} // namespace dalembert
