#include "constraints/kinematic_chain.hpp"
#include "constraints/by_lane.hpp"
#include "joints/custom.hpp"

#include <initializer_list>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

// pose and motion map at inner coordinates; error of the pose, axes of A, turns times length
template <class T> struct ChainPoint {
  Mat3<T> C;
  T Y[max_inner][6], e[6];
};

template <class T> static void chain_point(const ModelData &model, Workspace<T> &ws,
                                           const LoopConstraintData &constraint, const Mat3<T> &R, const Vec3<T> &p,
                                           const T *gamma, ChainPoint<T> &at) {
  T out[pose_outputs + 6 * max_inner], q[4];
  run_program(model, model.joints, model.joints.programs[constraint.program], gamma, ws.joint_values, out);
  at.C = mat_of(out + 3);
  const double length = constraint.parameter;
  for (int k = 0; k < constraint.inner; ++k) {
    const T *h = out + pose_outputs + 6 * k;
    const Vec3<T> w = scale(length, mul(at.C, vec_of(h))), v = mul(at.C, vec_of(h + 3));
    const T column[6] = {w.x, w.y, w.z, v.x, v.y, v.z};
    for (int i = 0; i < 6; ++i)
      at.Y[k][i] = column[i];
  }
  const Mat3<T> C_t{at.C.xx, at.C.yx, at.C.zx, at.C.xy, at.C.yy, at.C.zy, at.C.xz, at.C.yz, at.C.zz};
  quaternion_of(mul(R, C_t), q);
  const Vec3<T> shift = p - vec_of(out);
  at.e[0] = 2.0 * length * q[1], at.e[1] = 2.0 * length * q[2], at.e[2] = 2.0 * length * q[3];
  at.e[3] = shift.x, at.e[4] = shift.y, at.e[5] = shift.z;
}

// x = (Y Y^T + mu)^-1 b by Cholesky
static void solve_across(const ChainPoint<double> &at, int inner, double mu, const double *b, double *x) {
  double L[6][6];
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j <= i; ++j) {
      double sum = i == j ? mu : 0.0;
      for (int k = 0; k < inner; ++k)
        sum += at.Y[k][i] * at.Y[k][j];
      for (int l = 0; l < j; ++l)
        sum -= L[i][l] * L[j][l];
      L[i][j] = i == j ? std::sqrt(sum > 1e-300 ? sum : 1e-300) : sum / L[j][j];
    }
  for (int i = 0; i < 6; ++i) {
    x[i] = b[i];
    for (int l = 0; l < i; ++l)
      x[i] -= L[i][l] * x[l];
    x[i] /= L[i][i];
  }
  for (int i = 5; i >= 0; --i) {
    for (int l = i + 1; l < 6; ++l)
      x[i] -= L[l][i] * x[l];
    x[i] /= L[i][i];
  }
}

template <class T> static T square_of(const T *e) {
  T sum(0.0);
  for (int i = 0; i < 6; ++i)
    sum = sum + e[i] * e[i];
  return sum;
}

// the step of least norm towards (1); returns its largest component
static double chain_step(const ChainPoint<double> &at, int inner, double mu, double *step) {
  double x[6], longest = 0.0;
  solve_across(at, inner, mu, at.e, x);
  for (int k = 0; k < inner; ++k) {
    step[k] = 0.0;
    for (int i = 0; i < 6; ++i)
      step[k] += at.Y[k][i] * x[i];
    const double reach = std::fabs(step[k]);
    longest = reach > longest ? reach : longest;
  }
  return longest;
}

// (1) from one start (Levenberg and Marquardt); returns |e|^2, with the last point in `at`
static double settle_chain(const ModelData &model, Workspace<double> &ws, const LoopConstraintData &constraint,
                           const Mat3<double> &R, const Vec3<double> &p, double *gamma, ChainPoint<double> &at) {
  constexpr int max_rounds = 100;
  // of the size of Y Y^T: what cannot be taken away comes back as rounding, divided by this
  constexpr double least = 1e-8;
  ChainPoint<double> trial;
  double shifted[max_inner], step[max_inner], size = 0.0;
  chain_point(model, ws, constraint, R, p, gamma, at);
  double square = square_of(at.e), damping = least;
  for (int round = 0; round < max_rounds && square > 0.0; ++round) {
    double gradient = 0.0;
    size = 0.0;
    for (int k = 0; k < constraint.inner; ++k) {
      double pull = 0.0;
      for (int i = 0; i < 6; ++i) {
        size += at.Y[k][i] * at.Y[k][i];
        pull += at.Y[k][i] * at.e[i];
      }
      gradient += pull * pull;
    }
    if (gradient <= 1e-30 * size * square || !(size > 0.0))
      break;
    const double longest = chain_step(at, constraint.inner, damping * size, step);
    const double part = longest > 1.0 ? 1.0 / longest : 1.0;
    for (int k = 0; k < constraint.inner; ++k)
      shifted[k] = gamma[k] + part * step[k];
    chain_point(model, ws, constraint, R, p, shifted, trial);
    const double now = square_of(trial.e);
    if (!(now < square)) {
      if (longest < 1e-9 || damping > 1e6)
        break; // as far as rounding lets it
      damping = 10.0 * damping;
      continue;
    }
    const bool settled = now > 0.9999999999 * square;
    for (int k = 0; k < constraint.inner; ++k)
      gamma[k] = shifted[k];
    at = trial;
    square = now;
    damping = damping > 10.0 * least ? 0.1 * damping : least;
    if (settled)
      break;
  }
  // |e| is flat where it is least: two steps more where the chain is open, so that its rows are smooth there too
  for (int round = 0; round < 2 && square > 1e-26 * constraint.parameter * constraint.parameter; ++round) {
    if (!(chain_step(at, constraint.inner, least * size, step) < 0.1))
      break;
    for (int k = 0; k < constraint.inner; ++k)
      gamma[k] += step[k];
    chain_point(model, ws, constraint, R, p, gamma, at);
    square = square_of(at.e);
  }
  return square;
}

// A chain that is nearly stretched may be left straight, where its joints seem to give way no further (Y^T e = 0): from
// a little aside it closes. best: |e|^2 there.
static void bend_chain(const ModelData &model, Workspace<double> &ws, const LoopConstraintData &constraint,
                       const Mat3<double> &R, const Vec3<double> &p, double best, double *gamma,
                       ChainPoint<double> &at) {
  constexpr double closed = 1e-10, aside = 0.03; // of the length; rad, or of the length
  double trial[max_inner];
  ChainPoint<double> there;
  for (const double way : {aside, -aside}) {
    if (best <= closed * closed * constraint.parameter * constraint.parameter)
      break;
    for (int k = 0; k < constraint.inner; ++k)
      trial[k] = gamma[k] + (k % 2 ? way : -way);
    const double square = settle_chain(model, ws, constraint, R, p, trial, there);
    if (square < 1e-4 * best) {
      best = square;
      at = there;
      for (int k = 0; k < constraint.inner; ++k)
        gamma[k] = trial[k];
    }
  }
}

// inner coordinates of the best of the stored starts; the first one that comes close will do
static void solve_chain(const ModelData &model, Workspace<double> &ws, const LoopConstraintData &constraint,
                        const Mat3<double> &R, const Vec3<double> &p, double *gamma, ChainPoint<double> &at) {
  constexpr double near = 1e-2; // of the length
  double best = -1.0, trial[max_inner];
  ChainPoint<double> there;
  for (int s = 0; s < constraint.starts; ++s) {
    const double *start = model.inner_starts + constraint.start + std::ptrdiff_t(s) * constraint.inner;
    for (int k = 0; k < constraint.inner; ++k)
      trial[k] = start[k];
    const double square = settle_chain(model, ws, constraint, R, p, trial, there);
    if (best < 0.0 || square < best) {
      best = square;
      at = there;
      for (int k = 0; k < constraint.inner; ++k)
        gamma[k] = trial[k];
    }
    if (best < near * near * constraint.parameter * constraint.parameter) {
      bend_chain(model, ws, constraint, R, p, best, gamma, at);
      return;
    }
  }
}

// the values of duals
inline double lowered(double x) { return x; }
inline double lowered(const Dual &x) { return x.value; }
inline double lowered(const Traced &x) { return x.value; }
template <class T> inline Vec3<double> lowered(const Vec3<T> &a) { return {lowered(a.x), lowered(a.y), lowered(a.z)}; }
template <class T> inline Mat3<double> lowered(const Mat3<T> &a) {
  return {lowered(a.xx), lowered(a.xy), lowered(a.xz), lowered(a.yx), lowered(a.yy),
          lowered(a.yz), lowered(a.zx), lowered(a.zy), lowered(a.zz)};
}

// orthonormal directions: those of Y in the order of the largest part left, then those across, from unit vectors
// likewise
struct ChainOrder {
  int column[6], axis[6];
};

static ChainOrder order_chain(const ChainPoint<double> &at, int inner, int rank) {
  ChainOrder order{};
  double Q[6][6], left[6];
  const auto best_of = [&](int taken, int count, auto &&vector) {
    int best = 0;
    double most = -1.0, kept[6] = {};
    for (int k = 0; k < count; ++k) {
      vector(k, left);
      for (int pass = 0; pass < 2; ++pass)
        for (int j = 0; j < taken; ++j) {
          double part = 0.0;
          for (int i = 0; i < 6; ++i)
            part += Q[j][i] * left[i];
          for (int i = 0; i < 6; ++i)
            left[i] -= part * Q[j][i];
        }
      const double square = square_of(left);
      if (square > 1.0001 * most) { // among equals the first
        most = square;
        best = k;
        for (int i = 0; i < 6; ++i)
          kept[i] = left[i];
      }
    }
    const double inverse = most > 1e-300 ? 1.0 / std::sqrt(most) : 0.0;
    for (int i = 0; i < 6; ++i)
      Q[taken][i] = inverse * kept[i];
    return best;
  };
  for (int j = 0; j < rank; ++j)
    order.column[j] = best_of(j, inner, [&](int k, double *x) {
      for (int i = 0; i < 6; ++i)
        x[i] = at.Y[k][i];
    });
  for (int j = rank; j < 6; ++j)
    order.axis[j - rank] = best_of(j, 6, [&](int k, double *x) {
      for (int i = 0; i < 6; ++i)
        x[i] = i == k;
    });
  return order;
}

// takes from x its parts along Q[0..count), in two rounds against rounding, and adds them to `parts`
template <class T> inline void take_parts(const T (*Q)[6], int count, T *x, T *parts) {
  for (int pass = 0; pass < 2; ++pass)
    for (int j = 0; j < count; ++j) {
      T part(0.0);
      for (int i = 0; i < 6; ++i)
        part = part + Q[j][i] * x[i];
      for (int i = 0; i < 6; ++i)
        x[i] = x[i] - part * Q[j][i];
      if (parts)
        parts[j] = parts[j] + part;
    }
}

// a chain at its inner coordinates: Y = Q U on the columns that count, in their order
template <class T> struct SolvedChain {
  int inner, rank;
  double length;
  ChainOrder order;
  T gamma[max_inner];
  ChainPoint<T> at;
  T Q[6][6], upper[6][6]; // of U, column j is upper[j]

  void factor() {
    for (int j = 0; j < rank; ++j) {
      for (int i = 0; i < 6; ++i) {
        Q[j][i] = at.Y[order.column[j]][i];
        upper[j][i] = T(0.0);
      }
      take_parts(Q, j, Q[j], upper[j]);
      T square(0.0);
      for (int i = 0; i < 6; ++i)
        square = square + Q[j][i] * Q[j][i];
      const bool gone = less(square, T(1e-24 * length * length));
      upper[j][j] = gone ? T(1.0) : root(square);
      const T inverse = gone ? T(0.0) : 1.0 / upper[j][j];
      for (int i = 0; i < 6; ++i)
        Q[j][i] = inverse * Q[j][i];
    }
  }
  // x with Y x = b, by place in the order
  void along(const T *b, T *x) const {
    for (int j = rank - 1; j >= 0; --j) {
      T sum(0.0);
      for (int i = 0; i < 6; ++i)
        sum = sum + Q[j][i] * b[i];
      for (int l = j + 1; l < rank; ++l)
        sum = sum - upper[l][j] * x[l];
      x[j] = sum / upper[j][j];
    }
  }
};

template <class T> static void solve(const ModelData &model, Workspace<T> &ws, const LoopConstraintData &constraint,
                                     const RelativeMotion<T> &m, SolvedChain<T> &chain) {
  // without rows that hold
  chain.inner = constraint.inner, chain.rank = 6 - constraint.rows + (constraint.held ? constraint.nv : 0);
  chain.length = constraint.parameter;
  double numbers[max_inner];
  ChainPoint<double> value;
  if constexpr (differentiates<T>) {
    Workspace<double> lower{};
    lower.joint_values = reinterpret_cast<double *>(ws.joint_values); // what stands there is not needed
    solve_chain(model, lower, constraint, lowered(m.R), lowered(m.p), numbers, value);
  } else {
    solve_chain(model, ws, constraint, m.R, m.p, numbers, value);
  }
  chain.order = order_chain(value, chain.inner, chain.rank);
  for (int k = 0; k < max_inner; ++k)
    chain.gamma[k] = T(k < chain.inner ? numbers[k] : 0.0);
  chain_point(model, ws, constraint, m.R, m.p, chain.gamma, chain.at);
  if constexpr (differentiates<T>) {
    T step[6];
    chain.factor();
    chain.along(chain.at.e, step);
    for (int j = 0; j < chain.rank; ++j)
      chain.gamma[chain.order.column[j]] = chain.gamma[chain.order.column[j]] + step[j];
    chain_point(model, ws, constraint, m.R, m.p, chain.gamma, chain.at);
  }
  chain.factor();
}

// Y' gamma' in axes of A, turns times length
template <class T> static void pull_of(const ModelData &model, Workspace<T> &ws, const LoopConstraintData &constraint,
                                       const RelativeMotion<T> &m, const SolvedChain<T> &chain, T *pull) {
  const double length = chain.length;
  const T V[6] = {length * m.w.x, length * m.w.y, length * m.w.z, m.v.x, m.v.y, m.v.z};
  T rate[6], in[2 * max_inner], out[6];
  chain.along(V, rate);
  for (int k = 0; k < chain.inner; ++k) {
    in[k] = chain.gamma[k];
    in[chain.inner + k] = T(0.0);
  }
  for (int j = 0; j < chain.rank; ++j)
    in[chain.inner + chain.order.column[j]] = rate[j];
  run_program(model, model.joints, model.joints.programs[constraint.program + 1], in, ws.joint_values, out);
  const Vec3<T> w = scale(length, mul(chain.at.C, vec_of(out))), v = mul(chain.at.C, vec_of(out + 3));
  pull[0] = w.x, pull[1] = w.y, pull[2] = w.z, pull[3] = v.x, pull[4] = v.y, pull[5] = v.z;
}

template <class T> static void rows_of_one(const ModelData &model, Workspace<T> &ws,
                                           const LoopConstraintData &constraint, const RelativeMotion<T> &m,
                                           LoopConstraintRows<T> &rows) {
  SolvedChain<T> chain;
  solve(model, ws, constraint, m, chain);
  T pull[6];
  if (rows.moving)
    pull_of(model, ws, constraint, m, chain, pull);
  else
    for (T &each : pull)
      each = T(0.0);
  T beyond = square_of(chain.at.e), last(0.0); // what is left of |e|^2 beside the rows: (3)
  for (int j = chain.rank; j < 6; ++j) {
    T *Q = chain.Q[j];
    for (int i = 0; i < 6; ++i)
      Q[i] = T(double(i == chain.order.axis[j - chain.rank]));
    take_parts(chain.Q, j, Q, static_cast<T *>(nullptr));
    T square(0.0), phi(0.0), bias(0.0);
    for (int i = 0; i < 6; ++i)
      square = square + Q[i] * Q[i];
    const T inverse = 1.0 / root(square);
    for (int i = 0; i < 6; ++i) {
      Q[i] = inverse * Q[i];
      phi = phi + Q[i] * chain.at.e[i];
      bias = bias - Q[i] * pull[i];
    }
    rows.add(phi, scale(chain.length, vec_of(Q)), vec_of(Q + 3), bias);
    last = phi;
    beyond = beyond - phi * phi;
  }
  constexpr double least = 1e-8; // of the length, below which it is rounding
  if (rows.count && value_of(beyond) > least * least * chain.length * chain.length) {
    const T whole = root(beyond + last * last);
    rows.residual[rows.count - 1] = value_of(last) < 0.0 ? -whole : whole;
    rows.bias[rows.count - 1] = T(std::numeric_limits<double>::quiet_NaN()); // no motion leads through here
  }
}

template <class T> static void face_of_one(const ModelData &model, Workspace<T> &ws,
                                           const LoopConstraintData &constraint, const RelativeMotion<T> &m,
                                           JointMotion<T> &joint_motion) {
  SolvedChain<T> chain;
  solve(model, ws, constraint, m, chain);
  T pull[6];
  pull_of(model, ws, constraint, m, chain, pull);
  const double length = chain.length;
  joint_motion.bias = {scale(1.0 / length, vec_of(pull)), vec_of(pull + 3)};
  for (int k = 0; k < constraint.nq; ++k)
    joint_motion.q[k] = chain.gamma[k];
  // rows of U^-1 Q^T, by back substitution on its columns
  T D[6][6];
  for (int j = chain.rank - 1; j >= 0; --j)
    for (int i = 0; i < 6; ++i) {
      T sum = chain.Q[j][i];
      for (int l = j + 1; l < chain.rank; ++l)
        sum = sum - chain.upper[l][j] * D[l][i];
      D[j][i] = sum / chain.upper[j][j];
    }
  for (int j = 0; j < chain.rank; ++j)
    joint_motion.D[chain.order.column[j]] = {scale(length, vec_of(D[j])), vec_of(D[j] + 3)};
}

template <class T> void rows_chain(const ModelData &model, Workspace<T> &ws, const LoopConstraintData &constraint,
                                   const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
  if constexpr (requires(T x) { x[0]; })
    rows_by_lane(ws, m, rows,
                 [&](Workspace<double> &one, const RelativeMotion<double> &motion, LoopConstraintRows<double> &its) {
                   rows_of_one(model, one, constraint, motion, its);
                 });
  else
    rows_of_one(model, ws, constraint, m, rows);
}

template <class T> void face_of_custom(const ModelData &model, Workspace<T> &ws, const LoopConstraintData &constraint,
                                       const RelativeMotion<T> &m, JointMotion<T> &joint_motion) {
  if constexpr (requires(T x) { x[0]; })
    joint_motion_by_lane(ws, constraint, m, joint_motion,
                         [&](Workspace<double> &one, const RelativeMotion<double> &motion, JointMotion<double> &its) {
                           face_of_one(model, one, constraint, motion, its);
                         });
  else
    face_of_one(model, ws, constraint, m, joint_motion);
}

template void rows_chain(const ModelData &, Workspace<double> &, const LoopConstraintData &,
                         const RelativeMotion<double> &, LoopConstraintRows<double> &);
template void rows_chain(const ModelData &, Workspace<Pack> &, const LoopConstraintData &, const RelativeMotion<Pack> &,
                         LoopConstraintRows<Pack> &);
template void rows_chain(const ModelData &, Workspace<Dual> &, const LoopConstraintData &, const RelativeMotion<Dual> &,
                         LoopConstraintRows<Dual> &);
template void rows_chain(const ModelData &, Workspace<Traced> &, const LoopConstraintData &, const RelativeMotion<Traced> &,
                         LoopConstraintRows<Traced> &);
template void face_of_custom(const ModelData &, Workspace<double> &, const LoopConstraintData &,
                             const RelativeMotion<double> &, JointMotion<double> &);
template void face_of_custom(const ModelData &, Workspace<Pack> &, const LoopConstraintData &,
                             const RelativeMotion<Pack> &, JointMotion<Pack> &);
template void face_of_custom(const ModelData &, Workspace<Dual> &, const LoopConstraintData &,
                             const RelativeMotion<Dual> &, JointMotion<Dual> &);
template void face_of_custom(const ModelData &, Workspace<Traced> &, const LoopConstraintData &,
                             const RelativeMotion<Traced> &, JointMotion<Traced> &);

} // namespace dalembert::DALEMBERT_ISA
