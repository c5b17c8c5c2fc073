#include "kinematics/ik_descent.hpp"
#include "kinematics/ik_rows.hpp"
#include "tree/manifold.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr int max_failures = 8;

struct DescentWorkspace {
  IkWorkspace<Pack> rows;
  Pack *q, *trial;                    // nq
  Pack *r, *J, *r_trial, *J_trial;    // m, m x n
  Pack *shift;                        // m
  Pack *g, *x, *least, *most, *bound; // n; bound: one where a coordinate has no part in a step
  Pack *H, *A, *y;                    // n x n, n x n, n
  Pack *step;                         // nv
};

std::size_t lay_out(const ModelData &m, const IkProblem &problem, std::byte *start, DescentWorkspace &work) {
  using DALEMBERT_ISA::lay_out;
  Arena arena{start};
  arena.skip(lay_out(m, problem, start, work.rows));
  const std::size_t nq = std::size_t(m.nq), rows = std::size_t(problem.rows()), n = std::size_t(problem.columns);
  for (Pack **each : {&work.q, &work.trial})
    *each = arena.take<Pack>(nq);
  for (Pack **each : {&work.r, &work.r_trial, &work.shift})
    *each = arena.take<Pack>(rows);
  for (Pack **each : {&work.J, &work.J_trial})
    *each = arena.take<Pack>(rows * n);
  for (Pack **each : {&work.g, &work.x, &work.least, &work.most, &work.bound, &work.y})
    *each = arena.take<Pack>(n);
  for (Pack **each : {&work.H, &work.A})
    *each = arena.take<Pack>(n * n);
  work.step = arena.take<Pack>(std::size_t(m.nv));
  return arena.used;
}

void aim(const IkProblem &problem, IkWorkspace<Pack> &work, int lane, std::int64_t which) {
  for (int k = 0; k < problem.goals; ++k) {
    const IkTarget &goal = problem.goal[k];
    Pack *to = work.target + 12 * k;
    for (int j = 0; j < goal.numbers(); ++j)
      to[j].set(lane, goal.wanted[which * goal.wanted_stride + j]);
    for (int j = 0; j < 3; ++j)
      to[9 + j].set(lane, goal.meant[which * goal.meant_stride + j]);
  }
}

// what rows count: the positive part of limits
DALEMBERT_INLINE Pack counted(const IkProblem &problem, int row, const Pack &r) {
  const bool sided = row >= problem.closures && row < problem.hard();
  return sided ? larger(r, Pack(0.0)) : r;
}

// lanes in which all rows are met
unsigned zeros(const IkProblem &problem, const DescentWorkspace &work) {
  unsigned met = (1u << W) - 1u;
  for (int i = 0; i < problem.rows() && met; ++i)
    met &= bits(opposite(less(Pack(problem.tolerance[i]), absolute(counted(problem, i, work.r[i] + work.shift[i])))));
  return met;
}

Pack half_square(const IkProblem &problem, const DescentWorkspace &work, const Pack *r) {
  Pack sum(0.0);
  for (int i = 0; i < problem.rows(); ++i) {
    const Pack value = counted(problem, i, r[i] + work.shift[i]);
    sum = sum + value * value;
  }
  return 0.5 * sum;
}

// A x = -g for coordinates that are not bound, x of the others being kept: L D L^T without pivoting. Where A is not
// positive x is zero; returns the lanes in which it is.
Pack solve_free(int n, DescentWorkspace &work, const Pack &mu) {
  Pack *A = work.A, *x = work.y, sound(1.0);
  for (int i = 0; i < n; ++i) {
    const Pack free = 1.0 - work.bound[i];
    Pack sum = -work.g[i];
    for (int j = 0; j < n; ++j) {
      const Pack entry = i == j ? work.H[i * n + j] + mu : work.H[i * n + j];
      sum = sum - entry * (work.bound[j] * work.x[j]);
      A[i * n + j] = free * (1.0 - work.bound[j]) * entry + (i == j ? work.bound[i] : Pack(0.0));
    }
    x[i] = select(less(Pack(0.5), work.bound[i]), work.x[i], sum);
  }
  for (int k = 0; k < n; ++k) {
    const auto positive = less(Pack(0.0), A[k * n + k]);
    sound = select(positive, sound, Pack(0.0));
    A[k * n + k] = select(positive, A[k * n + k], Pack(1.0));
    const Pack inverse = 1.0 / A[k * n + k];
    for (int i = k + 1; i < n; ++i) {
      const Pack factor = A[k * n + i] * inverse;
      for (int j = i; j < n; ++j)
        A[i * n + j] = A[i * n + j] - factor * A[k * n + j];
      x[i] = x[i] - factor * x[k];
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    Pack sum = x[k];
    for (int j = k + 1; j < n; ++j)
      sum = sum - A[k * n + j] * x[j];
    x[k] = sum / A[k * n + k];
  }
  Pack seen(0.0);
  for (int k = 0; k < n; ++k)
    seen = seen + 0.0 * x[k];
  sound = select(both(less(Pack(-1.0), seen), less(seen, Pack(1.0))), sound, Pack(0.0)); // no number is neither
  for (int k = 0; k < n; ++k)
    x[k] = select(less(Pack(0.5), sound), x[k], Pack(0.0));
  return sound;
}

// the step within bounds that reduces g x + x (H + mu) x / 2
Pack bounded_step(int n, DescentWorkspace &work, const Pack &mu) {
  const Pack zero(0.0), one(1.0);
  for (int k = 0; k < n; ++k) {
    const auto below = both(opposite(less(work.least[k], zero)), less(zero, work.g[k]));
    const auto above = both(opposite(less(zero, work.most[k])), less(work.g[k], zero));
    work.bound[k] = select(either(below, above), one, zero);
    work.x[k] = zero;
  }
  Pack sound = solve_free(n, work, mu), again(1.0); // again: lanes whose step goes on changing
  for (int k = 0; k < n; ++k)
    work.x[k] = work.y[k];
  for (int round = 0; round < 3; ++round) {
    Pack any(0.0);
    for (int k = 0; k < n; ++k) {
      const auto outside = either(less(work.x[k], work.least[k]), less(work.most[k], work.x[k]));
      const Pack beyond = (1.0 - work.bound[k]) * select(outside, again, zero);
      work.bound[k] = work.bound[k] + beyond;
      any = larger(any, beyond);
    }
    again = any;
    if (!bits(less(Pack(0.5), again)))
      break;
    for (int k = 0; k < n; ++k) {
      const Pack held = select(less(work.x[k], work.least[k]), work.least[k],
                               select(less(work.most[k], work.x[k]), work.most[k], work.x[k]));
      work.x[k] = select(less(Pack(0.5), again), held, work.x[k]);
    }
    const Pack fine = solve_free(n, work, mu);
    for (int k = 0; k < n; ++k)
      work.x[k] = select(less(Pack(0.5), again), work.y[k], work.x[k]);
    sound = select(less(Pack(0.5), again), sound * fine, sound);
  }
  for (int k = 0; k < n; ++k)
    work.x[k] = select(less(work.x[k], work.least[k]), work.least[k],
                       select(less(work.most[k], work.x[k]), work.most[k], work.x[k]));
  return sound;
}

// where the step x leads; bounds are met exactly
void make_step(const ModelData &m, const IkProblem &problem, DescentWorkspace &work) {
  Pack largest(1.0);
  for (int k = 0; k < problem.columns; ++k)
    largest = larger(largest, absolute(work.x[k] * problem.per_unit[k]));
  const Pack part = 1.0 / largest;
  for (int f = 0; f < m.nv; ++f)
    work.step[f] = Pack(0.0);
  for (int k = 0; k < problem.columns; ++k) {
    work.x[k] = work.x[k] * part;
    work.step[problem.column[k]] = problem.metric[k] * work.x[k];
  }
  integrate<Pack>(m, work.q, work.step, work.trial);
  for (int k = 0; k < problem.columns; ++k)
    if (const int place = problem.place[k]; place >= 0) {
      const Pack low(problem.lower[k]), high(problem.upper[k]), at = work.trial[place];
      work.trial[place] = select(less(at, low), low, select(less(high, at), high, at));
    }
}

// gradient and Gauss's matrix of the rows that count; half the sum of their squares
Pack square(const IkProblem &problem, DescentWorkspace &work) {
  const int n = problem.columns;
  Pack f(0.0);
  for (int k = 0; k < n; ++k)
    work.g[k] = Pack(0.0);
  for (int k = 0; k < n * n; ++k)
    work.H[k] = Pack(0.0);
  for (int i = 0; i < problem.rows(); ++i) {
    const bool sided = i >= problem.closures && i < problem.hard();
    Pack *line = work.J + std::ptrdiff_t(i) * n;
    const Pack value = counted(problem, i, work.r[i] + work.shift[i]);
    f = f + value * value;
    if (sided)
      for (int k = 0; k < n; ++k)
        line[k] = select(less(Pack(0.0), value), line[k], Pack(0.0));
    for (int k = 0; k < n; ++k) {
      work.g[k] = work.g[k] + line[k] * value;
      for (int j = 0; j <= k; ++j)
        work.H[k * n + j] = work.H[k * n + j] + line[k] * line[j];
    }
  }
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < k; ++j)
      work.H[j * n + k] = work.H[k * n + j];
  return 0.5 * f;
}

// limits of coordinates as bounds of the step
void set_step_bounds(const IkProblem &problem, DescentWorkspace &work) {
  for (int k = 0; k < problem.columns; ++k) {
    const int place = problem.place[k];
    const Pack at = place >= 0 ? work.q[place] : Pack(0.0);
    const double inverse = 1.0 / problem.metric[k];
    work.least[k] = (problem.lower[k] - at) * inverse;
    work.most[k] = (problem.upper[k] - at) * inverse;
  }
}

// a descent in a lane
struct Lane {
  std::ptrdiff_t number = -1;
  int step = 0, failures = 0;
  double damping = 0.1, mark = 1e300;
};

struct Lanes {
  const ModelData &m;
  const IkProblem &problem;
  const DescentCall &call;
  DescentWorkspace &work;
  Lane lane[W];
  bool fresh[W] = {}; // lanes whose trial is a start
  bool more = true;   // starts are left

  // the next start into a lane; one that is not there repeats what stands in it
  bool begin(int l) {
    const std::ptrdiff_t number = call.next(call.self);
    lane[l] = {number};
    fresh[l] = number >= 0;
    if (number < 0)
      return false;
    for (int k = 0; k < m.nq; ++k)
      work.trial[k].set(l, call.q[number * m.nq + k]);
    for (int i = 0; i < problem.rows(); ++i)
      work.shift[i].set(l, call.shift[number * call.shift_stride + i]);
    for (int k = 0; k < problem.columns; ++k)
      call.gradient[number * problem.columns + k] = 0.0;
    aim(problem, work.rows, l, call.which[number]);
    return true;
  }
  void end(int l, bool done) {
    const std::ptrdiff_t number = lane[l].number;
    for (int k = 0; k < m.nq; ++k)
      call.q[number * m.nq + k] = work.q[k][l];
    for (int i = 0; i < problem.rows(); ++i)
      call.r[number * problem.rows() + i] = work.r[i][l];
    call.done[number] = done;
    call.steps[number] = lane[l].step;
    lane[l].number = -1;
  }
  // a start into every lane, evaluated; false if there is none
  bool begin_all() {
    for (int l = 0; l < W; ++l) {
      more = more && begin(l);
      if (l == 0 && !more)
        return false;
      if (more)
        continue;
      // lanes without a start repeat the first
      for (int k = 0; k < m.nq; ++k)
        work.trial[k].set(l, work.trial[k][0]);
      for (int i = 0; i < problem.rows(); ++i)
        work.shift[i].set(l, work.shift[i][0]);
      aim(problem, work.rows, l, call.which[lane[0].number]);
      lane[l].number = -1;
    }
    // positions of lanes that never begin are numbers too
    for (int k = 0; k < m.nq; ++k)
      work.q[k] = work.trial[k];
    ik_rows<Pack>(m, problem, work.rows, work.trial, work.r_trial, work.J_trial);
    take(Pack(1.0));
    for (int l = 0; l < W; ++l)
      fresh[l] = false;
    return true;
  }
  // new starts into lanes whose descent has ended; whether there was one
  bool refill() {
    bool any = false;
    for (int l = 0; l < W; ++l)
      if (lane[l].number < 0 && more) {
        more = begin(l);
        any = any || more;
      }
    return any;
  }
  // gradients of the descents under way; whether there is one
  bool store_gradients() {
    const int n = problem.columns;
    bool live = false;
    for (int l = 0; l < W; ++l) {
      if (lane[l].number < 0)
        continue;
      live = true;
      for (int k = 0; k < n; ++k)
        call.gradient[lane[l].number * n + k] = work.g[k][l];
    }
    return live;
  }
  // of Levenberg and Marquardt, at half the sum of squares f
  Pack damping(const Pack &f) const {
    const int n = problem.columns;
    Pack largest(1e-12), factor(0.1);
    for (int k = 0; k < n; ++k)
      largest = larger(largest, work.H[k * n + k]);
    for (int l = 0; l < W; ++l)
      factor.set(l, lane[l].damping);
    return factor * select(less(2.0 * f, largest), 2.0 * f, largest) + 1e-13 * largest;
  }
  // takes trials over in lanes of which the bit is set
  void take(const Pack &good) {
    const auto mask = less(Pack(0.5), good);
    for (int k = 0; k < m.nq; ++k)
      work.q[k] = select(mask, work.trial[k], work.q[k]);
    for (int i = 0; i < problem.rows(); ++i)
      work.r[i] = select(mask, work.r_trial[i], work.r[i]);
    for (int k = 0; k < problem.rows() * problem.columns; ++k)
      work.J[k] = select(mask, work.J_trial[k], work.J[k]);
  }
  // lanes that have ended, before a step; size: sum of squares
  void look(const Pack &f) {
    const unsigned met = zeros(problem, work);
    for (int l = 0; l < W; ++l) {
      Lane &at = lane[l];
      if (at.number < 0)
        continue;
      const double size = std::sqrt(2.0 * f[l]);
      bool over = (met >> l & 1u) || at.step >= call.iterations || at.failures >= max_failures;
      if (!over && at.step % call.patience == call.patience - 1) {
        over = !(size <= 0.8 * at.mark || size <= 1e-6);
        at.mark = size;
      }
      if (over)
        end(l, met >> l & 1u);
    }
  }
  void judge(const Pack &f, const Pack &sound, Pack &good) {
    Pack hoped(0.0);
    const int n = problem.columns;
    for (int k = 0; k < n; ++k) {
      Pack sum(0.0);
      for (int j = 0; j < n; ++j)
        sum = sum + work.H[k * n + j] * work.x[j];
      hoped = hoped - work.x[k] * (work.g[k] + 0.5 * sum);
    }
    const Pack gained = f - half_square(problem, work, work.r_trial);
    for (int l = 0; l < W; ++l) {
      Lane &at = lane[l];
      if (fresh[l] || at.number < 0) {
        good.set(l, fresh[l]);
        fresh[l] = false;
        continue;
      }
      const bool fine = sound[l] > 0.5 && gained[l] > 1e-3 * hoped[l] && hoped[l] > 0.0;
      const double ratio = gained[l] / std::fmax(hoped[l], 1e-300);
      const double change = !fine ? 8.0 : ratio > 0.7 ? 0.25 : ratio < 0.3 ? 3.0 : 1.0;
      at.damping = std::fmin(std::fmax(at.damping * change, 1e-3), 1e12);
      at.failures = fine ? 0 : at.failures + 1;
      ++at.step;
      good.set(l, fine);
    }
  }
};

} // namespace

std::size_t bytes_ik(const ModelData &m, const IkProblem &problem) {
  DescentWorkspace work;
  return lay_out(m, problem, nullptr, work);
}

void rows_of_reach(const ModelData &m, std::byte *memory, const IkProblem &problem, const IkRows &call,
                   std::ptrdiff_t begin, std::ptrdiff_t end) {
  DescentWorkspace work;
  lay_out(m, problem, memory, work);
  const std::ptrdiff_t rows = problem.rows(), block = rows * problem.columns;
  for (std::ptrdiff_t first = begin; first < end; first += W) {
    const int count = int(end - first < W ? end - first : W);
    for (int l = 0; l < W; ++l) {
      const std::ptrdiff_t state = first + (l < count ? l : 0);
      for (int k = 0; k < m.nq; ++k)
        work.q[k].set(l, call.q[state * m.nq + k]);
      aim(problem, work.rows, l, call.which[state]);
    }
    ik_rows<Pack>(m, problem, work.rows, work.q, work.r, call.J ? work.J : nullptr);
    for (int l = 0; l < count; ++l) {
      for (std::ptrdiff_t i = 0; i < rows; ++i)
        call.r[(first + l) * rows + i] = work.r[i][l];
      for (std::ptrdiff_t k = 0; call.J && k < block; ++k)
        call.J[(first + l) * block + k] = work.J[k][l];
    }
  }
}

void descend(const ModelData &m, std::byte *memory, const IkProblem &problem, const DescentCall &call) {
  DescentWorkspace work;
  lay_out(m, problem, memory, work);
  Lanes lanes{m, problem, call, work, {}, {}};
  if (!lanes.begin_all())
    return;
  Pack good(1.0);
  for (;;) {
    lanes.look(half_square(problem, work, work.r));
    const Pack f = square(problem, work);
    bool live = lanes.store_gradients();
    set_step_bounds(problem, work);
    const Pack sound = bounded_step(problem.columns, work, lanes.damping(f));
    make_step(m, problem, work);
    live = lanes.refill() || live;
    if (!live)
      return;
    ik_rows<Pack>(m, problem, work.rows, work.trial, work.r_trial, work.J_trial);
    lanes.judge(f, sound, good);
    lanes.take(good);
  }
}

} // namespace dalembert::DALEMBERT_ISA
