#include "system/load_shares.hpp"
#include "tree/joint_maps.hpp"
#include "tree/kinematics.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace dalembert::DALEMBERT_ISA {

namespace {

using Six = std::array<double, 6>; // [moment; force], or [rotation; displacement]
using Matrix6 = std::array<Six, 6>;
std::size_t at(std::ptrdiff_t n) { return std::size_t(n); }

double along(const Six &a, const Six &b) {
  double sum = 0.0;
  for (std::size_t k = 0; k < 6; ++k)
    sum += a[k] * b[k];
  return sum;
}
Six times(const Matrix6 &A, const Six &x) {
  Six y;
  for (std::size_t i = 0; i < 6; ++i)
    y[i] = along(A[i], x);
  return y;
}
Six transposed_times(const Matrix6 &A, const Six &x) {
  Six y{};
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t k = 0; k < 6; ++k)
      y[k] += A[i][k] * x[i];
  return y;
}
Matrix6 times(const Matrix6 &A, const Matrix6 &B) {
  Matrix6 C{};
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t k = 0; k < 6; ++k)
      for (std::size_t j = 0; j < 6; ++j)
        C[i][j] += A[i][k] * B[k][j];
  return C;
}
void add(Six &y, double factor, const Six &x) {
  for (std::size_t k = 0; k < 6; ++k)
    y[k] += factor * x[k];
}
Six six(const Vec3<double> &a, const Vec3<double> &b) { return {a.x, a.y, a.z, b.x, b.y, b.z}; }
Vec3<double> first(const Six &a) { return {a[0], a[1], a[2]}; }
Vec3<double> second(const Six &a) { return {a[3], a[4], a[5]}; }

// a load at a point, seen from the origin that lies -r from it; a motion of that origin, at the point
Six inward(const Vec3<double> &r, const Six &F) { return six(first(F) + cross(r, second(F)), second(F)); }
Six outward(const Vec3<double> &r, const Six &x) { return six(first(x), second(x) + cross(first(x), r)); }

// Gauss and Jordan with exchanges of rows
Matrix6 inverse(Matrix6 A) {
  Matrix6 B{};
  for (std::size_t k = 0; k < 6; ++k)
    B[k][k] = 1.0;
  for (std::size_t k = 0; k < 6; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < 6; ++i)
      if (std::fabs(A[i][k]) > std::fabs(A[best][k]))
        best = i;
    std::swap(A[k], A[best]);
    std::swap(B[k], B[best]);
    const double d = 1.0 / A[k][k];
    for (std::size_t j = 0; j < 6; ++j)
      A[k][j] *= d, B[k][j] *= d;
    for (std::size_t i = 0; i < 6; ++i) {
      const double l = A[i][k];
      for (std::size_t j = 0; i != k && j < 6; ++j)
        A[i][j] -= l * A[k][j], B[i][j] -= l * B[k][j];
    }
  }
  return B;
}

struct Piece {
  Matrix6 G{};
  std::vector<Six> B;
  std::vector<double> E; // lower triangle by rows
  double &e(int i, int j) { return E[at(i) * at(i + 1) / 2 + at(j)]; }
};

struct JointFactors {
  bool yields = false; // it has a compliance
  Matrix6 T, W;
  std::vector<Six> B;    // before (3)
  std::vector<Six> Z;    // of each degree of freedom
  std::vector<double> d; // and its pivot
  std::vector<double> p, L;
};

class Shares {
public:
  Shares(const ModelData &model, const LoopWorkspace<double> &loops)
      : m(model), plan(model.all_loop_plan), ws(loops.ws), f(loops.fronts), values(loops.values) {}

  bool find(const double *loads, double *lambda) {
    place(loads);
    for (const double little : {1e-11, 1e-13}) // the smaller one for long ladders; worse in lattices
      if (factor(little) && settle(lambda))
        return true;
    return false;
  }

private:
  const ModelData &m;
  const LoopPlan &plan;
  const Workspace<double> &ws;
  const FrontWorkspace<double> &f;
  const double *values;
  std::vector<Six> S, F0, row; // columns of joints; loads of joints at origins of bodies; rows at their points
  std::vector<Vec3<double>> arm;
  std::vector<JointFactors> joints;
  std::vector<std::vector<double>> left; // of each row that has left: E_co, then its pivot
  std::vector<Six> left_B;

  Vec3<double> to_point(int r, int body) const { return f.row_point[m.constraint_of_row[r]] - ws.X_W[body].p; }
  bool coupled(int r) const { return m.loop_constraints[m.constraint_of_row[r]].form == LoopConstraintForm::coupling; }

  void place(const double *loads) {
    S.resize(at(m.nv)), F0.assign(at(m.nb) + 1, {}), row.resize(at(m.nc)), arm.resize(at(m.nb) + 1);
    joints.resize(at(m.nb) + 1);
    const double square = m.length * m.length;
    for (int i = 1; i <= m.nb; ++i) {
      const BodyData &b = m.bodies[i];
      arm[at(i)] = b.parent ? ws.X_W[i].p - ws.X_W[b.parent].p : Vec3<double>{0, 0, 0};
      for (int k = 0; k < b.nv; ++k) {
        const Motion<double> column_k = column(b, ws.H + b.H, k);
        S[at(b.v + k)] = six(mul(ws.X_W[i].R, column_k.w), mul(ws.X_W[i].R, column_k.v));
      }
      JointFactors &joint = joints[at(i)];
      joint.yields = b.joint > 0;
      if (!joint.yields)
        continue;
      const JointMarkerData &marker = m.markers[b.joint - 1];
      const Vec3<double> r = point_in_world(ws, marker.body, as_vec(marker.p_FM)) - ws.X_W[i].p;
      const double *load = loads + 6 * std::ptrdiff_t(b.joint - 1), sign = marker.outboard ? 1.0 : -1.0;
      F0[at(i)] =
          inward(r, {sign * load[0], sign * load[1], sign * load[2], sign * load[3], sign * load[4], sign * load[5]});
      for (std::size_t k = 0; k < 6; ++k) { // column k of W
        Six unit{};
        unit[k] = 1.0;
        const Vec3<double> n = first(unit) - cross(r, second(unit));
        const Six answer = six(n, scale(square, second(unit)) + cross(r, n));
        for (std::size_t j = 0; j < 6; ++j)
          joint.W[j][k] = answer[j];
      }
    }
    for (int r = 0; r < m.nc; ++r)
      row[at(r)] = coupled(r) ? Six{} : six(f.row_load[r].n, f.row_load[r].f);
  }

  // C of (1)
  double compliance(int r, int s) const {
    if (m.constraint_of_row[r] != m.constraint_of_row[s])
      return 0.0;
    if (coupled(r))
      return 1.0 / (m.row_scale[r] * m.row_scale[r]);
    return dot(first(row[at(r)]), first(row[at(s)])) +
           m.length * m.length * dot(second(row[at(r)]), second(row[at(s)]));
  }

  // ---- factors

  bool factor(double little) {
    std::vector<Piece> pieces(at(m.nb) + 1);
    left.resize(at(plan.row_count)), left_B.resize(at(plan.row_count));
    bool sound = true;
    for (int k = 0; k < plan.step_count; ++k) {
      const LoopStepData &step = plan.steps[k];
      Piece &piece = pieces[at(step.body)];
      const std::int32_t *index = plan.indices + step.index;
      if (step.kind == LoopStepKind::open) {
        for (std::size_t j = 0; j < 6; ++j)
          piece.G[j][j] = j < 3 ? little : little / (m.length * m.length);
        for (int s = 0; s < step.after; ++s)
          piece.B.push_back(opened(step.body, index[2 * s], index[2 * s + 1]));
        piece.E.assign(at(step.after) * at(step.after + 1) / 2, 0.0);
      } else if (step.kind == LoopStepKind::merge) {
        merge(piece, pieces[at(step.child)], step, index);
        pieces[at(step.child)] = Piece{};
      } else if (step.kind == LoopStepKind::joint) {
        sound = eliminate_joint(piece, step, index) && sound;
      } else {
        leave(piece, step, index);
      }
    }
    return sound;
  }

  Six opened(int body, int r, int sign) const {
    if (!sign || !body)
      return {};
    Six B{};
    add(B, sign, inward(to_point(r, body), row[at(r)]));
    return B;
  }

  void merge(Piece &piece, Piece &child, const LoopStepData &step, const std::int32_t *place) const {
    Piece both;
    both.G = piece.G;
    both.B.assign(at(step.after), {});
    both.E.assign(at(step.after) * at(step.after + 1) / 2, 0.0);
    const std::int32_t *from = place + step.width;
    const Vec3<double> &r = arm[at(step.child)];
    for (int s = 0; s < step.width; ++s) {
      both.B[at(place[s])] = piece.B[at(s)];
      for (int q = 0; q <= s; ++q)
        both.e(place[s], place[q]) = piece.e(s, q);
    }
    for (int s = 0; s < step.count; ++s) {
      if (step.body)
        add(both.B[at(from[s])], 1.0, inward(r, child.B[at(s)]));
      for (int q = 0; q <= s; ++q)
        both.e(from[s], from[q]) += child.e(s, q);
    }
    if (step.body) {
      Matrix6 X; // motions of the parent at the child
      for (std::size_t k = 0; k < 6; ++k) {
        Six unit{};
        unit[k] = 1.0;
        const Six x = outward(r, unit);
        for (std::size_t j = 0; j < 6; ++j)
          X[j][k] = x[j];
      }
      const Matrix6 GX = times(child.G, X);
      for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t j = 0; j < 6; ++j)
          for (std::size_t k = 0; k < 6; ++k)
            both.G[i][j] += X[k][i] * GX[k][j];
    }
    piece = std::move(both);
  }

  bool eliminate_joint(Piece &piece, const LoopStepData &step, const std::int32_t *index) {
    const int i = step.body, width = step.width;
    const BodyData &b = m.bodies[i];
    JointFactors &joint = joints[at(i)];
    joint.B = piece.B;
    if (joint.yields) { // (3)
      Matrix6 A = times(piece.G, joint.W);
      for (std::size_t k = 0; k < 6; ++k)
        A[k][k] += 1.0;
      joint.T = inverse(A);
      const Matrix6 TG = times(joint.T, piece.G);
      for (std::size_t j = 0; j < 6; ++j)
        for (std::size_t k = 0; k < 6; ++k)
          piece.G[j][k] = 0.5 * (TG[j][k] + TG[k][j]);
      std::vector<Six> given(at(width));
      for (int s = 0; s < width; ++s) {
        piece.B[at(s)] = times(joint.T, joint.B[at(s)]);
        given[at(s)] = times(joint.W, piece.B[at(s)]);
      }
      for (int s = 0; s < width; ++s)
        for (int q = 0; q <= s; ++q)
          piece.e(s, q) += along(joint.B[at(s)], given[at(q)]);
    }
    joint.Z.resize(at(b.nv)), joint.d.resize(at(b.nv));
    joint.p.assign(at(b.nv) * at(width), 0.0), joint.L.assign(36, 0.0);
    for (int k = 0; k < b.nv; ++k)
      for (int s = 0; s < width; ++s)
        joint.p[at(k * width + s)] = along(S[at(b.v + k)], piece.B[at(s)]);
    const std::int32_t *terms = index + width;
    for (int t = 0; t < step.count; ++t, terms += 4)
      joint.p[at(terms[0] * width + terms[1])] += values[m.loop_constraints[terms[2]].values + terms[3]];
    const Matrix6 G = piece.G;
    for (int k = 0; k < b.nv; ++k) { // L d L^T of S^T G S, column by column
      Six Z = times(G, S[at(b.v + k)]);
      for (int j = 0; j < k; ++j) {
        const double l = along(S[at(b.v + k)], joint.Z[at(j)]) / joint.d[at(j)];
        joint.L[at(6 * k + j)] = l;
        add(Z, -l, joint.Z[at(j)]);
        for (int s = 0; s < width; ++s)
          joint.p[at(k * width + s)] -= l * joint.p[at(j * width + s)];
      }
      joint.Z[at(k)] = Z;
      const double d = joint.d[at(k)] = along(S[at(b.v + k)], Z), *p = joint.p.data() + std::ptrdiff_t(k) * width;
      if (!(d > 0.0))
        return false;
      for (std::size_t r = 0; r < 6; ++r)
        add(piece.G[r], -Z[r] / d, Z);
      for (int s = 0; s < width; ++s) {
        add(piece.B[at(s)], -p[s] / d, Z);
        for (int q = 0; q <= s; ++q)
          piece.e(s, q) += p[s] * p[q] / d;
      }
    }
    return true;
  }

  void leave(Piece &piece, const LoopStepData &step, const std::int32_t *rows) {
    for (int s = step.after; s < step.width; ++s)
      for (int q = step.after; q <= s; ++q)
        piece.e(s, q) += compliance(rows[s], rows[q]);
    for (int s = step.width - 1, number = step.left; s >= step.after; --s, ++number) {
      std::vector<double> &e = left[at(number)];
      e.assign(&piece.e(s, 0), &piece.e(s, 0) + s + 1);
      const Six B = left_B[at(number)] = piece.B[at(s)];
      const double d = e[at(s)];
      e[at(s)] = d > 0.0 ? 1.0 / d : 0.0; // rows that nothing demands of have neither
      for (int t = 0; t < s; ++t) {
        const double l = e[at(t)] * e[at(s)];
        double *other = &piece.e(t, 0);
        for (int q = 0; q <= t; ++q)
          other[q] -= l * e[at(q)];
        add(piece.B[at(t)], -l, B);
      }
      for (std::size_t r = 0; step.body && r < 6; ++r)
        add(piece.G[r], B[r] * e[at(s)], B);
    }
    piece.B.resize(at(step.after));
    piece.E.resize(at(step.after) * at(step.after + 1) / 2);
  }

  // ---- solution

  // theta and lambda for S^T F = tau and rows that miss by rho
  void solve(const std::vector<double> &tau, std::vector<double> rho, std::vector<double> &theta,
             std::vector<double> &lambda) const {
    std::vector<Six> g(at(m.nb) + 1), g0(at(m.nb) + 1), x(at(m.nb) + 1);
    std::vector<double> y(at(m.nv)), scaled(at(plan.row_count));
    theta.assign(at(m.nv), 0.0), lambda.assign(at(m.nc), 0.0);
    for (int k = 0; k < plan.step_count; ++k) {
      const LoopStepData &step = plan.steps[k];
      const std::int32_t *rows = plan.indices + step.index;
      Six &here = g[at(step.body)];
      if (step.kind == LoopStepKind::merge && step.body) {
        add(here, 1.0, inward(arm[at(step.child)], g[at(step.child)]));
      } else if (step.kind == LoopStepKind::joint) {
        const JointFactors &joint = joints[at(step.body)];
        const BodyData &b = m.bodies[step.body];
        g0[at(step.body)] = here;
        if (joint.yields) {
          here = times(joint.T, here);
          const Six given = times(joint.W, here);
          for (int s = 0; s < step.width; ++s)
            rho[at(rows[s])] -= along(joint.B[at(s)], given);
        }
        const Six whole = here;
        for (int n = 0; n < b.nv; ++n) {
          double &w = y[at(b.v + n)];
          w = tau[at(b.v + n)] - along(S[at(b.v + n)], whole);
          for (int j = 0; j < n; ++j)
            w -= joint.L[at(6 * n + j)] * y[at(b.v + j)];
          const double part = w / joint.d[at(n)];
          add(here, part, joint.Z[at(n)]);
          for (int s = 0; s < step.width; ++s)
            rho[at(rows[s])] += joint.p[at(n * step.width + s)] * part;
        }
      } else if (step.kind == LoopStepKind::leave) {
        for (int s = step.width - 1, number = step.left; s >= step.after; --s, ++number) {
          const std::vector<double> &e = left[at(number)];
          const double part = scaled[at(number)] = e[at(s)] * rho[at(rows[s])];
          for (int t = 0; t < s; ++t)
            rho[at(rows[t])] -= e[at(t)] * part;
          if (step.body)
            add(here, part, left_B[at(number)]);
        }
      }
    }
    for (int k = plan.step_count - 1; k >= 0; --k) {
      const LoopStepData &step = plan.steps[k];
      const std::int32_t *rows = plan.indices + step.index;
      if (step.kind == LoopStepKind::joint) {
        const JointFactors &joint = joints[at(step.body)];
        const BodyData &b = m.bodies[step.body];
        Six A = outward(arm[at(step.body)], x[at(b.parent)]);
        const Six before = A;
        for (int n = b.nv - 1; n >= 0; --n) {
          double sum = y[at(b.v + n)] - along(joint.Z[at(n)], before);
          for (int s = 0; s < step.width; ++s)
            sum += joint.p[at(n * step.width + s)] * lambda[at(rows[s])];
          sum /= joint.d[at(n)];
          for (int j = n + 1; j < b.nv; ++j)
            sum -= joint.L[at(6 * j + n)] * theta[at(b.v + j)];
          theta[at(b.v + n)] = sum;
        }
        for (int n = 0; n < b.nv; ++n)
          add(A, theta[at(b.v + n)], S[at(b.v + n)]);
        if (joint.yields) { // (4)
          Six load{};
          add(load, -1.0, g0[at(step.body)]);
          for (int s = 0; s < step.width; ++s)
            add(load, lambda[at(rows[s])], joint.B[at(s)]);
          A = transposed_times(joint.T, A);
          add(A, 1.0, times(joint.W, times(joint.T, load)));
        }
        x[at(step.body)] = A;
      } else if (step.kind == LoopStepKind::leave) {
        for (int s = step.after, number = step.left + step.count - 1; s < step.width; ++s, --number) {
          const std::vector<double> &e = left[at(number)];
          double sum = along(left_B[at(number)], x[at(step.body)]);
          for (int t = 0; t < s; ++t)
            sum += e[at(t)] * lambda[at(rows[t])];
          lambda[at(rows[s])] = -(scaled[at(number)] + e[at(s)] * sum);
        }
      }
    }
  }

  // residuals of (1) and (2) with multipliers lambda + change
  void residuals(const double *lambda, const std::vector<double> &change, const std::vector<double> &theta,
                 std::vector<double> &of_joints, std::vector<double> &of_rows) const {
    std::vector<Six> dF(at(m.nb) + 1), x(at(m.nb) + 1);
    of_joints.assign(at(m.nv), 0.0), of_rows.assign(at(m.nc), 0.0);
    for (int r = 0; r < m.nc; ++r) {
      const LoopConstraintData &c = m.loop_constraints[m.constraint_of_row[r]];
      if (coupled(r)) {
        for (int s = 0; s < c.supports; ++s)
          of_joints[at(m.support[c.support + s])] -= values[c.values + s] * change[at(r)];
        continue;
      }
      if (c.body_a)
        add(dF[at(c.body_a)], change[at(r)], inward(to_point(r, c.body_a), row[at(r)]));
      if (c.body_b)
        add(dF[at(c.body_b)], -change[at(r)], inward(to_point(r, c.body_b), row[at(r)]));
    }
    for (int i = m.nb; i > 0; --i) {
      const BodyData &b = m.bodies[i];
      for (int k = b.v; k < b.v + b.nv; ++k)
        of_joints[at(k)] += along(S[at(k)], dF[at(i)]);
      if (b.parent)
        add(dF[at(b.parent)], 1.0, inward(arm[at(i)], dF[at(i)]));
    }
    for (int i = 1; i <= m.nb; ++i) {
      const BodyData &b = m.bodies[i];
      Six A = outward(arm[at(i)], x[at(b.parent)]);
      for (int k = b.v; k < b.v + b.nv; ++k)
        add(A, theta[at(k)], S[at(k)]);
      if (joints[at(i)].yields) {
        Six F = F0[at(i)];
        add(F, 1.0, dF[at(i)]);
        add(A, -1.0, times(joints[at(i)].W, F));
      }
      x[at(i)] = A;
    }
    for (int r = 0; r < m.nc; ++r) {
      const LoopConstraintData &c = m.loop_constraints[m.constraint_of_row[r]];
      double sum = 0.0;
      for (int s = c.row; s < c.row + c.rows; ++s)
        sum += compliance(r, s) * (lambda[s] + change[at(s)]);
      if (coupled(r)) {
        for (int s = 0; s < c.supports; ++s)
          sum += values[c.values + s] * theta[at(m.support[c.support + s])];
      } else {
        if (c.body_b)
          sum += along(row[at(r)], outward(to_point(r, c.body_b), x[at(c.body_b)]));
        if (c.body_a)
          sum -= along(row[at(r)], outward(to_point(r, c.body_a), x[at(c.body_a)]));
      }
      of_rows[at(r)] = sum;
    }
  }

  bool settle(double *lambda) const {
    constexpr int max_rounds = 40;
    constexpr double settled = 1e-12, accepted = 1e-7; // of the largest multiplier, scaled
    std::vector<double> change(at(m.nc), 0.0), theta(at(m.nv), 0.0), of_joints, of_rows, more_theta, more;
    double before = INFINITY;
    for (int round = 0; round < max_rounds; ++round) {
      residuals(lambda, change, theta, of_joints, of_rows);
      for (double &r : of_joints)
        r = -r;
      solve(of_joints, of_rows, more_theta, more);
      double step = 0.0, size = 0.0;
      for (int k = 0; k < m.nv; ++k)
        theta[at(k)] += more_theta[at(k)];
      for (int r = 0; r < m.nc; ++r) {
        change[at(r)] += more[at(r)];
        step = std::max(step, std::fabs(more[at(r)]) / m.row_scale[r]);
        size = std::max(size, std::fabs(lambda[r] + change[at(r)]) / m.row_scale[r]);
      }
      if (!std::isfinite(step))
        return false;
      if (step <= settled * size || (step > 0.5 * before && step <= accepted * size)) {
        for (int r = 0; r < m.nc; ++r)
          lambda[r] += change[at(r)];
        return true;
      }
      before = step;
    }
    return false;
  }
};

} // namespace

bool share_loads(const ModelData &m, const LoopWorkspace<double> &loops, const double *loads, double *lambda) {
  return Shares(m, loops).find(loads, lambda);
}

} // namespace dalembert::DALEMBERT_ISA
