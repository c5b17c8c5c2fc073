#include "numerics/cone_sweeps.hpp"
#include <algorithm>

namespace dalembert {

namespace {

constexpr int free_body = 6;

std::size_t at(int k) { return std::size_t(k); }

template <int N> void add_speeds(const double *J, const double *v, int size, double u[3]) {
  const int n = N ? N : size;
  for (int k = 0; k < 3; ++k) {
    double sum = 0.0;
    for (int j = 0; j < n; ++j)
      sum += J[k * n + j] * v[j];
    u[k] += sum;
  }
}

template <int N> void add_impulse(const double *Y, const double step[3], int size, double *v) {
  const int n = N ? N : size;
  for (int j = 0; j < n; ++j)
    v[j] += Y[j] * step[0] + Y[n + j] * step[1] + Y[2 * n + j] * step[2];
}

// u of contact i
void speeds(const ConeBlocks &p, int i, const double *v, double u[3]) {
  for (int k = 0; k < 3; ++k)
    u[k] = p.bias ? p.bias[3 * i + k] : 0.0;
  for (int side = 2 * i; side < 2 * i + 2; ++side) {
    const int a = p.block[side];
    if (a < 0)
      continue;
    if (p.size(a) == free_body)
      add_speeds<free_body>(p.J + p.at[side], v + p.start[a], free_body, u);
    else
      add_speeds<0>(p.J + p.at[side], v + p.start[a], p.size(a), u);
  }
}

void apply(const ConeBlocks &p, int i, const double step[3], double *v) {
  for (int side = 2 * i; side < 2 * i + 2; ++side) {
    const int a = p.block[side];
    if (a < 0)
      continue;
    if (p.size(a) == free_body)
      add_impulse<free_body>(p.Y + p.at[side], step, free_body, v + p.start[a]);
    else
      add_impulse<0>(p.Y + p.at[side], step, p.size(a), v + p.start[a]);
  }
}

// D_ij += J_ia Y_ja' for the blocks that i and j share; row stride n
void add_coupling(const ConeBlocks &p, int i, int j, double *D, std::ptrdiff_t n) {
  for (int x = 2 * i; x < 2 * i + 2; ++x)
    for (int y = 2 * j; y < 2 * j + 2; ++y) {
      if (p.block[x] < 0 || p.block[x] != p.block[y])
        continue;
      const int size = p.size(p.block[x]);
      const double *J = p.J + p.at[x], *Y = p.Y + p.at[y];
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
          for (int k = 0; k < size; ++k)
            D[r * n + c] += J[r * size + k] * Y[c * size + k];
    }
}

} // namespace

void assemble_cone_matrix(const ConeBlocks &p, double *D) {
  const std::ptrdiff_t n = 3 * p.m;
  std::fill_n(D, n * n, 0.0);
  for (int i = 0; i < p.m; ++i)
    for (int j = 0; j <= i; ++j) {
      double *block = D + 3 * i * n + 3 * j;
      add_coupling(p, i, j, block, n);
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
          D[(3 * j + c) * n + 3 * i + r] = block[r * n + c];
    }
}

void ConeSweeps::reserve(int m) {
  if (d.size() < at(m))
    D.resize(at(9 * m)), d.resize(at(m));
}

void ConeSweeps::diagonal_blocks(const ConeBlocks &p) {
  std::fill_n(D.begin(), 9 * p.m, 0.0);
  for (int i = 0; i < p.m; ++i) {
    double *block = &D[at(9 * i)];
    add_coupling(p, i, i, block, 3);
    d[at(i)] = cone_scale(p.mu[i], block[0], block[4], block[8]);
  }
}

double ConeSweeps::residual(const ConeBlocks &p, const double *v, const double *lam) const {
  double found = 0.0, u[3];
  for (int i = 0; i < p.m; ++i) {
    speeds(p, i, v, u);
    found = std::max(found, cone_residual(p.mu[i], d[at(i)], lam + 3 * i, u));
  }
  return found;
}

bool ConeSweeps::solve(const ConeBlocks &p, double tolerance, int most, double *v, double *lam) {
  diagonal_blocks(p);
  for (sweeps = 0; sweeps <= most; ++sweeps) {
    double seen = 0.0; // residuals at the visits: an estimate of that after the sweep
    const bool backward = sweeps & 1;
    for (int number = 0; number < p.m; ++number) {
      const int i = backward ? p.m - 1 - number : number;
      double u[3], rest[3], next[3], *mine = lam + 3 * i;
      const double *W = &D[at(9 * i)];
      speeds(p, i, v, u);
      const double missing = cone_residual(p.mu[i], d[at(i)], mine, u);
      seen = std::max(seen, missing);
      if (!(missing > 0.0))
        continue;
      for (int k = 0; k < 3; ++k)
        rest[k] = u[k] - (W[3 * k] * mine[0] + W[3 * k + 1] * mine[1] + W[3 * k + 2] * mine[2]);
      solve_one_contact(W, rest, p.mu[i], next);
      const double step[3] = {next[0] - mine[0], next[1] - mine[1], next[2] - mine[2]};
      apply(p, i, step, v);
      std::copy_n(next, 3, mine);
    }
    if (seen <= 4.0 * tolerance || sweeps == most) {
      missed = residual(p, v, lam);
      if (missed <= tolerance)
        return true;
    }
  }
  return false;
}

} // namespace dalembert
