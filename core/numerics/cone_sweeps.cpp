#include "numerics/cone_sweeps.hpp"
#include "numerics/block_rows.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int free_body = 6;

std::size_t at(int k) { return std::size_t(k); }

// numbers in a register, from and to arrays that lie as registers want it
#if defined(__GNUC__)
typedef double Four __attribute__((vector_size(32), may_alias));
typedef double Eight __attribute__((vector_size(64), may_alias));
#else
template <int N> struct Several {
  double r[N];
  double operator[](int k) const { return r[k]; }
  Several operator*(double s) const {
    Several out = *this;
    for (double &x : out.r)
      x *= s;
    return out;
  }
  Several operator+(const Several &other) const {
    Several out = *this;
    for (int k = 0; k < N; ++k)
      out.r[k] += other.r[k];
    return out;
  }
};
using Four = Several<4>;
using Eight = Several<8>;
#endif
DALEMBERT_INLINE Four four(const double *x) { return *reinterpret_cast<const Four *>(x); }
DALEMBERT_INLINE Eight eight(const double *x) { return *reinterpret_cast<const Eight *>(x); }

// u of contact i
DALEMBERT_INLINE void speeds(const ConeBlocks &p, int i, const double *v, double u[3]) {
  for (int k = 0; k < 3; ++k)
    u[k] = p.bias ? p.bias[3 * i + k] : 0.0;
  for (int side = 2 * i; side < 2 * i + 2; ++side) {
    const int a = p.block[side];
    if (a < 0)
      continue;
    if (p.size(a) == free_body)
      add_block_velocity<free_body>(p.J + p.at[side], v + p.start[a], free_body, u);
    else
      add_block_velocity<0>(p.J + p.at[side], v + p.start[a], p.size(a), u);
  }
}

DALEMBERT_INLINE void apply(const ConeBlocks &p, int i, const double step[3], double *v) {
  for (int side = 2 * i; side < 2 * i + 2; ++side) {
    const int a = p.block[side];
    if (a < 0)
      continue;
    if (p.size(a) == free_body)
      add_block_impulse<free_body>(p.Y + p.at[side], step, free_body, v + p.start[a]);
    else
      add_block_impulse<0>(p.Y + p.at[side], step, p.size(a), v + p.start[a]);
  }
}

bool acts_on_free_bodies(const ConeBlocks &p) {
  for (int i = 0; i < p.m; ++i) {
    if (p.mu[i] < 0.0)
      return false;
    for (int side = 2 * i; side < 2 * i + 2; ++side)
      if (p.block[side] >= 0 && p.size(p.block[side]) != free_body)
        return false;
  }
  return true;
}

// Contacts and velocities of blocks as they are given.
struct AnyBlocks {
  const ConeBlocks &p;
  double *v;
  DALEMBERT_INLINE void speeds_of(int i, double u[3]) const { speeds(p, i, v, u); }
  DALEMBERT_INLINE void apply_to(int i, const double step[3]) { apply(p, i, step, v); }
};

// Contacts of free bodies in records of their own.
struct FreeBodies {
  ConeSweeps &s;

  void load(const ConeBlocks &p, const double *v) {
    int most = -1;
    for (int side = 0; side < 2 * p.m; ++side)
      most = std::max(most, int(p.block[side]));
    s.slot.assign(at(most + 1), -1), s.blocks.clear(), s.contacts.resize(at(p.m));
    for (int i = 0; i < p.m; ++i) {
      ConeSweeps::FreeContact &c = s.contacts[at(i)];
      for (int k = 0; k < 4; ++k)
        c.bias[k] = k < 3 && p.bias ? p.bias[3 * i + k] : 0.0;
      for (int side = 0; side < 2; ++side) {
        const int a = p.block[2 * i + side];
        if (a >= 0 && s.slot[at(a)] < 0)
          s.blocks.push_back(a), s.slot[at(a)] = std::int32_t(s.blocks.size());
        c.at[side] = a < 0 ? 0 : s.slot[at(a)];
        const double *J = p.J + p.at[2 * i + side], *Y = p.Y + p.at[2 * i + side];
        for (int e = 0; e < 3; ++e)
          for (int k = 0; k < 8; ++k)
            c.Y[3 * side + e][k] = a < 0 || k >= free_body ? 0.0 : Y[e * free_body + k];
        for (int k = 0; k < free_body; ++k)
          for (int e = 0; e < 4; ++e)
            c.J[free_body * side + k][e] = a < 0 || e == 3 ? 0.0 : J[e * free_body + k];
      }
    }
    s.velocities.resize(s.blocks.size() + 1);
    s.velocities[0] = {};
    for (std::size_t k = 0; k < s.blocks.size(); ++k) {
      s.velocities[k + 1] = {};
      std::copy_n(v + p.start[s.blocks[k]], free_body, s.velocities[k + 1].v);
    }
  }
  void store(const ConeBlocks &p, double *v) const {
    for (std::size_t k = 0; k < s.blocks.size(); ++k)
      std::copy_n(s.velocities[k + 1].v, free_body, v + p.start[s.blocks[k]]);
  }
  DALEMBERT_INLINE void speeds_of(int i, double u[3]) const {
    const ConeSweeps::FreeContact &c = s.contacts[at(i)];
    const double *first = s.velocities[at(c.at[0])].v, *second = s.velocities[at(c.at[1])].v;
    Four sum = four(c.bias), other = four(c.J[free_body]) * second[0]; // two chains of additions
    for (int k = 0; k < free_body; ++k)
      sum = sum + four(c.J[k]) * first[k];
    for (int k = 1; k < free_body; ++k)
      other = other + four(c.J[free_body + k]) * second[k];
    sum = sum + other;
    u[0] = sum[0], u[1] = sum[1], u[2] = sum[2];
  }
  DALEMBERT_INLINE void apply_to(int i, const double step[3]) {
    const ConeSweeps::FreeContact &c = s.contacts[at(i)];
    for (int side = 0; side < 2; ++side) {
      double *v = s.velocities[at(c.at[side])].v;
      const double(*Y)[8] = c.Y + 3 * side;
      *reinterpret_cast<Eight *>(v) = eight(v) + eight(Y[0]) * step[0] + (eight(Y[1]) * step[1] + eight(Y[2]) * step[2]);
    }
  }
};

// Returns the largest change of an impulse, in the unit of u.
template <class Blocks>
double sweep(const ConeBlocks &p, const ConeSweeps &s, Blocks &blocks, bool backward, double *lam) {
  double most = 0.0;
  for (int number = 0; number < p.m; ++number) {
    const int i = backward ? p.m - 1 - number : number;
    const ContactCone &cone = s.cones[at(i)];
    double u[3], *mine = lam + 3 * i;
    blocks.speeds_of(i, u);
    const double *D = cone.D;
    const double rest[3] = {u[0] - (D[0] * mine[0] + D[1] * mine[1] + D[2] * mine[2]),
                            u[1] - (D[3] * mine[0] + D[4] * mine[1] + D[5] * mine[2]),
                            u[2] - (D[6] * mine[0] + D[7] * mine[1] + D[8] * mine[2])};
    double next[3];
    cone.solve(rest, next);
    const double step[3] = {next[0] - mine[0], next[1] - mine[1], next[2] - mine[2]};
    const double change = std::max(std::fabs(step[0]), std::max(std::fabs(step[1]), std::fabs(step[2])));
    if (!(change > 0.0))
      continue;
    most = std::max(most, cone.scale * change);
    blocks.apply_to(i, step);
    mine[0] = next[0], mine[1] = next[1], mine[2] = next[2];
  }
  return most;
}

template <class Blocks> double residual(const ConeBlocks &p, const ConeSweeps &s, Blocks &blocks, const double *lam) {
  double found = 0.0, u[3];
  for (int i = 0; i < p.m; ++i) {
    blocks.speeds_of(i, u);
    found = std::max(found, cone_residual(p.mu[i], s.cones[at(i)].scale, lam + 3 * i, u));
  }
  return found;
}

template <class Blocks>
bool sweep_all(const ConeBlocks &p, ConeSweeps &s, Blocks &blocks, double tolerance, int most, double *lam) {
  for (s.sweeps = 0; s.sweeps <= most; ++s.sweeps) {
    const double change = sweep(p, s, blocks, s.sweeps & 1, lam); // an estimate of the residual
    if (change <= 4.0 * tolerance || s.sweeps == most) {
      s.missed = residual(p, s, blocks, lam);
      if (s.missed <= tolerance)
        return true;
    }
  }
  return false;
}

} // namespace

void prepare_scales(const ConeBlocks &p, ConeSweeps &s) {
  if (s.cones.size() < at(p.m))
    s.cones.resize(at(p.m));
  for (int i = 0; i < p.m; ++i) {
    double diagonal[3] = {};
    for (int side = 2 * i; side < 2 * i + 2; ++side) {
      const int a = p.block[side];
      for (int e = 0; a >= 0 && e < 3; ++e) {
        const std::ptrdiff_t row = p.at[side] + e * p.size(a);
        diagonal[e] += block_dot<0>(p.J + row, p.Y + row, p.size(a));
      }
    }
    s.cones[at(i)].scale = cone_scale(p.mu[i], diagonal[0], diagonal[1], diagonal[2]);
  }
}

void prepare_sweeps(const ConeBlocks &p, ConeSweeps &s) {
  if (s.cones.size() < at(p.m))
    s.cones.resize(at(p.m));
  for (int i = 0; i < p.m; ++i) {
    double D[9] = {};
    for (int side = 2 * i; side < 2 * i + 2; ++side) {
      const int a = p.block[side];
      if (a < 0)
        continue;
      if (p.size(a) == free_body)
        add_block_product<free_body>(p.J + p.at[side], p.Y + p.at[side], free_body, D, 3, true);
      else
        add_block_product<0>(p.J + p.at[side], p.Y + p.at[side], p.size(a), D, 3, true);
    }
    D[3] = D[1], D[6] = D[2], D[7] = D[5];
    s.cones[at(i)].prepare(D, p.mu[i]);
  }
}

double residual_of_blocks(const ConeBlocks &p, const ConeSweeps &s, const double *v, const double *lam) {
  const AnyBlocks blocks{p, const_cast<double *>(v)};
  return residual(p, s, blocks, lam);
}

bool sweep_cones(const ConeBlocks &p, ConeSweeps &s, double tolerance, int most, double *v, double *lam) {
  if (!acts_on_free_bodies(p)) {
    AnyBlocks blocks{p, v};
    return sweep_all(p, s, blocks, tolerance, most, lam);
  }
  FreeBodies blocks{s};
  blocks.load(p, v);
  const bool done = sweep_all(p, s, blocks, tolerance, most, lam);
  blocks.store(p, v);
  return done;
}

} // namespace dalembert::DALEMBERT_ISA
