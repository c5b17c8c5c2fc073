#include "numerics/bound_widening.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert {

namespace {

constexpr double max_narrowing = 0.9;   // of `wide`: a smaller r has no use
constexpr double gap_tolerance = 1e-12; // of 1 + |r|: gap between r and its dual at a solution
constexpr double max_force = 1e6;       // of `wide`: bound on |lam| that keeps the search finite
constexpr int max_iterations = 60;
constexpr int max_halvings = 40;

std::size_t at(int k) { return std::size_t(k); }

} // namespace

void BoundWidening::reserve(int n) {
  const std::size_t unknowns = at(n + 1), constraints = at(5 * n + 1);
  for (std::vector<double> *each : {&a, &z, &f, &z1, &f1, &dz, &central})
    each->reserve(constraints);
  for (std::vector<double> *each : {&B, &G})
    each->reserve(constraints * unknowns);
  p.reserve(at(n)), Q.reserve(at(n) * unknowns), first.reserve(unknowns);
  for (std::vector<double> *each : {&x, &dx, &dual, &x1})
    each->reserve(unknowns);
  H.reserve(unknowns * unknowns), K.reserve(unknowns * unknowns);
}

void BoundWidening::add_row(double value, int unknown, double factor, double widening) {
  a.push_back(value);
  const std::size_t begin = B.size();
  B.resize(begin + at(m), 0.0);
  if (unknown >= 0)
    B[begin + at(unknown)] = factor;
  B[begin + at(m - 1)] = widening;
}

// Unknowns in the units in which they matter: limits of rows that hold each other may differ by many orders of
// magnitude.
void BoundWidening::scale_unknowns() {
  for (int j = 0; j + 1 < m; ++j) {
    double most = 0.0;
    for (int i = 0; i < bounds; ++i)
      most = std::max(most, std::fabs(B[at(i * m + j)]));
    for (std::size_t k = 0; k < p.size(); ++k)
      most = std::max(most, std::fabs(Q[k * at(m - 1) + at(j)]));
    if (!(most > 0.0))
      continue;
    for (int i = 0; i < rows; ++i)
      B[at(i * m + j)] /= most;
    for (std::size_t k = 0; k < p.size(); ++k)
      Q[k * at(m - 1) + at(j)] /= most;
  }
}

// (1) in x = [lam_r / wide; r], then with lam_r in other units
void BoundWidening::set_up(const WideningData &d) {
  const int n = d.l + d.r;
  m = d.r + 1;
  a.clear(), B.clear(), p.clear(), Q.clear(), first.clear();
  // slope of row i by unknown j
  const auto slope = [&](int i, int j) {
    return i < d.l ? -d.coupling[i * d.r + j] * d.wide[d.l + j] : (i - d.l == j ? d.wide[i] : 0.0);
  };
  const auto base = [&](int i) { return i < d.l ? d.h[i] : 0.0; };
  for (int i = 0; i < n; ++i)
    for (const double sign : {1.0, -1.0}) {
      const double bound = sign > 0.0 ? d.upper[i] : -d.lower[i];
      if (!std::isfinite(bound))
        continue;
      add_row((sign * base(i) - bound) / d.wide[i], -1, 0.0, -1.0);
      for (int j = 0; j < d.r; ++j)
        B[B.size() - at(m) + at(j)] = sign * slope(i, j) / d.wide[i];
    }
  bounds = int(a.size());
  for (int j = 0; j < d.r; ++j)
    add_row(-max_force, j, 1.0, 0.0), add_row(-max_force, j, -1.0, 0.0);
  add_row(-max_narrowing, -1, 0.0, -1.0);
  rows = int(a.size()), groups = d.groups, count = rows + groups;
  for (int g = 0; g < groups; ++g) {
    first.push_back(int(p.size()));
    for (int i = 0; i < n; ++i) {
      if (d.group[i] != g)
        continue;
      p.push_back(base(i) / d.f[i]);
      for (int j = 0; j < d.r; ++j)
        Q.push_back(slope(i, j) / d.f[i]);
    }
  }
  first.push_back(int(p.size()));
  scale_unknowns();
}

// constraint functions, which must not be positive
void BoundWidening::evaluate(const std::vector<double> &y, std::vector<double> &values) {
  values.resize(at(count));
  for (int i = 0; i < rows; ++i) {
    double sum = a[at(i)];
    for (int j = 0; j < m; ++j)
      sum += B[at(i * m + j)] * y[at(j)];
    values[at(i)] = sum;
  }
  const double room = 1.0 + y[at(m - 1)];
  for (int g = 0; g < groups; ++g) {
    double square = 0.0;
    for (int k = first[at(g)]; k < first[at(g + 1)]; ++k) {
      double each = p[at(k)];
      for (int j = 0; j + 1 < m; ++j)
        each += Q[at(k * (m - 1) + j)] * y[at(j)];
      square += each * each;
    }
    values[at(rows + g)] = square / room - room;
  }
}

// G: derivatives of the constraint functions; H: the sum of z times the second ones
void BoundWidening::differentiate(const std::vector<double> &y) {
  G.assign(at(count * m), 0.0), H.assign(at(m * m), 0.0);
  std::copy(B.begin(), B.end(), G.begin());
  const double room = 1.0 + y[at(m - 1)];
  for (int g = 0; g < groups; ++g) {
    double *row = G.data() + (rows + g) * m, square = 0.0;
    const double weight = 2.0 * z[at(rows + g)] / room;
    for (int k = first[at(g)]; k < first[at(g + 1)]; ++k) {
      const double *q = Q.data() + k * (m - 1);
      double each = p[at(k)];
      for (int j = 0; j + 1 < m; ++j)
        each += q[j] * y[at(j)];
      square += each * each;
      const double last = -each / room; // of y' y / room: 2 D' D / room with D = [dy, -y / room]
      for (int j = 0; j < m; ++j) {
        const double D = j + 1 < m ? q[j] : last;
        row[j] += j + 1 < m ? 2.0 * each * q[j] / room : 0.0;
        for (int l = 0; l < m; ++l)
          H[at(j * m + l)] += weight * D * (l + 1 < m ? q[l] : last);
      }
    }
    row[m - 1] = -square / (room * room) - 1.0;
  }
}

// a point inside all bounds
void BoundWidening::begin() {
  x.assign(at(m), 0.0);
  double worst = 0.0;
  for (int i = 0; i < rows; ++i)
    if (B[at(i * m + m - 1)] < 0.0)
      worst = std::max(worst, a[at(i)]);
  for (int g = 0; g < groups; ++g) {
    double square = 0.0;
    for (int k = first[at(g)]; k < first[at(g + 1)]; ++k)
      square += p[at(k)] * p[at(k)];
    worst = std::max(worst, std::sqrt(square) - 1.0);
  }
  x[at(m - 1)] = worst + 1.0;
  evaluate(x, f);
  z.resize(at(count));
  for (int i = 0; i < count; ++i)
    z[at(i)] = -1.0 / f[at(i)];
}

// norm of the residuals of the conditions, after `differentiate`; dual: those of the gradient
double BoundWidening::residual_norm(const std::vector<double> &zs, const std::vector<double> &fs, double centre) {
  dual.assign(at(m), 0.0);
  dual[at(m - 1)] = 1.0;
  double sum = 0.0;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < m; ++j)
      dual[at(j)] += zs[at(i)] * G[at(i * m + j)];
    const double each = -zs[at(i)] * fs[at(i)] - centre;
    sum += each * each;
  }
  for (const double each : dual)
    sum += each * each;
  return std::sqrt(sum);
}

// K dx = dx in place, by Cholesky's factors
bool BoundWidening::solve_system() {
  for (int j = 0; j < m; ++j)
    for (int i = j; i < m; ++i) {
      double sum = K[at(i * m + j)];
      for (int k = 0; k < j; ++k)
        sum -= K[at(i * m + k)] * K[at(j * m + k)];
      if (i == j && !(sum > 0.0))
        return false;
      K[at(i * m + j)] = i == j ? std::sqrt(sum) : sum / K[at(j * m + j)];
    }
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < i; ++j)
      dx[at(i)] -= K[at(i * m + j)] * dx[at(j)];
    dx[at(i)] /= K[at(i * m + i)];
  }
  for (int i = m - 1; i >= 0; --i) {
    for (int j = i + 1; j < m; ++j)
      dx[at(i)] -= K[at(j * m + i)] * dx[at(j)];
    dx[at(i)] /= K[at(i * m + i)];
  }
  return true;
}

// One step of Newton's method towards the central path; false if rounding stops it.
bool BoundWidening::step() {
  differentiate(x);
  gap = 0.0;
  for (int i = 0; i < count; ++i)
    gap -= f[at(i)] * z[at(i)];
  const double centre = 0.1 * gap / count, norm = residual_norm(z, f, centre);
  K = H;
  dx = dual;
  central.resize(at(count));
  for (int i = 0; i < count; ++i) {
    const double *row = G.data() + i * m, weight = -z[at(i)] / f[at(i)];
    central[at(i)] = -z[at(i)] * f[at(i)] - centre;
    for (int j = 0; j < m; ++j) {
      dx[at(j)] += central[at(i)] / f[at(i)] * row[j];
      for (int l = 0; l <= j; ++l)
        K[at(j * m + l)] += weight * row[j] * row[l];
    }
  }
  double trace = 0.0;
  for (int j = 0; j < m; ++j)
    dx[at(j)] = -dx[at(j)], trace += K[at(j * m + j)];
  for (int j = 0; j < m; ++j)
    K[at(j * m + j)] += 1e-15 * trace;
  if (!solve_system())
    return false;
  double s = 1.0;
  dz.resize(at(count));
  for (int i = 0; i < count; ++i) {
    double sum = 0.0;
    for (int j = 0; j < m; ++j)
      sum += G[at(i * m + j)] * dx[at(j)];
    dz[at(i)] = (central[at(i)] - z[at(i)] * sum) / f[at(i)];
    if (dz[at(i)] < 0.0)
      s = std::min(s, -z[at(i)] / dz[at(i)]);
  }
  s *= 0.99;
  x1.resize(at(m)), z1.resize(at(count));
  for (int halving = 0; halving < max_halvings; ++halving, s *= 0.5) {
    for (int j = 0; j < m; ++j)
      x1[at(j)] = x[at(j)] + s * dx[at(j)];
    for (int i = 0; i < count; ++i)
      z1[at(i)] = z[at(i)] + s * dz[at(i)];
    if (!(x1[at(m - 1)] > -1.0))
      continue;
    evaluate(x1, f1);
    if (std::any_of(f1.begin(), f1.end(), [](double each) { return !(each < 0.0); }))
      continue;
    differentiate(x1);
    if (!(residual_norm(z1, f1, centre) <= (1.0 - 0.01 * s) * norm + 1e-14))
      continue;
    std::swap(x, x1), std::swap(z, z1), std::swap(f, f1);
    gap = off = 0.0;
    for (int i = 0; i < count; ++i)
      gap -= f[at(i)] * z[at(i)];
    for (const double each : dual)
      off = std::max(off, std::fabs(each));
    return true;
  }
  return false;
}

double BoundWidening::solve(const WideningData &data) {
  set_up(data);
  begin();
  for (int round = 0; round < max_iterations; ++round) {
    if (!step())
      break;
    if (gap <= gap_tolerance * (1.0 + std::fabs(x[at(m - 1)])) && off <= 1e-9)
      break;
  }
  return x[at(m - 1)];
}

} // namespace dalembert
