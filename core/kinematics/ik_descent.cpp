#include "kinematics/ik_descent.hpp"
#include "kinematics/ik_rows.hpp"
#include "tree/manifold.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr int most_failures = 8;

struct DescentRoom {
  ReachRoom<Pack> rows;
  Pack *q, *trial;               // nq
  Pack *r, *J, *r_trial, *J_trial; // m, m x n
  Pack *shift;                     // m
  Pack *g, *x, *least, *most, *bound; // n; bound: one where a coordinate has no part in a step
  Pack *H, *A, *y;               // n x n, n x n, n
  Pack *step;                    // nv
};

std::size_t lay_out(const ModelData &m, const ReachProblem &problem, std::byte *start, DescentRoom &room) {
  using DALEMBERT_ISA::lay_out;
  Arena arena{start};
  arena.skip(lay_out(m, problem, start, room.rows));
  const std::size_t nq = std::size_t(m.nq), rows = std::size_t(problem.rows()), n = std::size_t(problem.columns);
  for (Pack **each : {&room.q, &room.trial})
    *each = arena.take<Pack>(nq);
  for (Pack **each : {&room.r, &room.r_trial, &room.shift})
    *each = arena.take<Pack>(rows);
  for (Pack **each : {&room.J, &room.J_trial})
    *each = arena.take<Pack>(rows * n);
  for (Pack **each : {&room.g, &room.x, &room.least, &room.most, &room.bound, &room.y})
    *each = arena.take<Pack>(n);
  for (Pack **each : {&room.H, &room.A})
    *each = arena.take<Pack>(n * n);
  room.step = arena.take<Pack>(std::size_t(m.nv));
  return arena.used;
}

void aim(const ReachProblem &problem, ReachRoom<Pack> &room, int lane, std::int64_t which) {
  for (int k = 0; k < problem.goals; ++k) {
    const ReachGoal &goal = problem.goal[k];
    Pack *to = room.target + 12 * k;
    for (int j = 0; j < goal.numbers(); ++j)
      to[j].set(lane, goal.wanted[which * goal.wanted_stride + j]);
    for (int j = 0; j < 3; ++j)
      to[9 + j].set(lane, goal.meant[which * goal.meant_stride + j]);
  }
}

// what rows count: the positive part of limits
DALEMBERT_INLINE Pack counted(const ReachProblem &problem, int row, const Pack &r) {
  const bool sided = row >= problem.closures && row < problem.hard();
  return sided ? larger(r, Pack(0.0)) : r;
}

// lanes in which all rows are met
unsigned zeros(const ReachProblem &problem, const DescentRoom &room) {
  unsigned met = (1u << W) - 1u;
  for (int i = 0; i < problem.rows() && met; ++i)
    met &= bits(opposite(less(Pack(problem.tolerance[i]), absolute(counted(problem, i, room.r[i] + room.shift[i])))));
  return met;
}

Pack half_square(const ReachProblem &problem, const DescentRoom &room, const Pack *r) {
  Pack sum(0.0);
  for (int i = 0; i < problem.rows(); ++i) {
    const Pack value = counted(problem, i, r[i] + room.shift[i]);
    sum = sum + value * value;
  }
  return 0.5 * sum;
}

// A x = -g for coordinates that are not bound, x of the others being kept: L D L^T without pivoting. Where A is not positive
// x is zero; returns the lanes in which it is.
Pack solve_free(int n, DescentRoom &room, const Pack &mu) {
  Pack *A = room.A, *x = room.y, sound(1.0);
  for (int i = 0; i < n; ++i) {
    const Pack free = 1.0 - room.bound[i];
    Pack sum = -room.g[i];
    for (int j = 0; j < n; ++j) {
      const Pack entry = i == j ? room.H[i * n + j] + mu : room.H[i * n + j];
      sum = sum - entry * (room.bound[j] * room.x[j]);
      A[i * n + j] = free * (1.0 - room.bound[j]) * entry + (i == j ? room.bound[i] : Pack(0.0));
    }
    x[i] = select(less(Pack(0.5), room.bound[i]), room.x[i], sum);
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
Pack bounded_step(int n, DescentRoom &room, const Pack &mu) {
  const Pack zero(0.0), one(1.0);
  for (int k = 0; k < n; ++k) {
    const auto below = both(opposite(less(room.least[k], zero)), less(zero, room.g[k]));
    const auto above = both(opposite(less(zero, room.most[k])), less(room.g[k], zero));
    room.bound[k] = select(either(below, above), one, zero);
    room.x[k] = zero;
  }
  Pack sound = solve_free(n, room, mu), again(1.0); // again: lanes whose step goes on changing
  for (int k = 0; k < n; ++k)
    room.x[k] = room.y[k];
  for (int round = 0; round < 3; ++round) {
    Pack any(0.0);
    for (int k = 0; k < n; ++k) {
      const auto outside = either(less(room.x[k], room.least[k]), less(room.most[k], room.x[k]));
      const Pack beyond = (1.0 - room.bound[k]) * select(outside, again, zero);
      room.bound[k] = room.bound[k] + beyond;
      any = larger(any, beyond);
    }
    again = any;
    if (!bits(less(Pack(0.5), again)))
      break;
    for (int k = 0; k < n; ++k) {
      const Pack held = select(less(room.x[k], room.least[k]), room.least[k], select(less(room.most[k], room.x[k]), room.most[k], room.x[k]));
      room.x[k] = select(less(Pack(0.5), again), held, room.x[k]);
    }
    const Pack fine = solve_free(n, room, mu);
    for (int k = 0; k < n; ++k)
      room.x[k] = select(less(Pack(0.5), again), room.y[k], room.x[k]);
    sound = select(less(Pack(0.5), again), sound * fine, sound);
  }
  for (int k = 0; k < n; ++k)
    room.x[k] = select(less(room.x[k], room.least[k]), room.least[k], select(less(room.most[k], room.x[k]), room.most[k], room.x[k]));
  return sound;
}

// where the step x leads; bounds are met exactly
void make_step(const ModelData &m, const ReachProblem &problem, DescentRoom &room) {
  Pack largest(1.0);
  for (int k = 0; k < problem.columns; ++k)
    largest = larger(largest, absolute(room.x[k] * problem.per_unit[k]));
  const Pack part = 1.0 / largest;
  for (int f = 0; f < m.nv; ++f)
    room.step[f] = Pack(0.0);
  for (int k = 0; k < problem.columns; ++k) {
    room.x[k] = room.x[k] * part;
    room.step[problem.column[k]] = problem.metric[k] * room.x[k];
  }
  integrate<Pack>(m, room.q, room.step, room.trial);
  for (int k = 0; k < problem.columns; ++k)
    if (const int place = problem.place[k]; place >= 0) {
      const Pack low(problem.lower[k]), high(problem.upper[k]), at = room.trial[place];
      room.trial[place] = select(less(at, low), low, select(less(high, at), high, at));
    }
}

// gradient and Gauss's matrix of the rows that count; half the sum of their squares
Pack square(const ReachProblem &problem, DescentRoom &room) {
  const int n = problem.columns;
  Pack f(0.0);
  for (int k = 0; k < n; ++k)
    room.g[k] = Pack(0.0);
  for (int k = 0; k < n * n; ++k)
    room.H[k] = Pack(0.0);
  for (int i = 0; i < problem.rows(); ++i) {
    const bool sided = i >= problem.closures && i < problem.hard();
    Pack *line = room.J + std::ptrdiff_t(i) * n;
    const Pack value = counted(problem, i, room.r[i] + room.shift[i]);
    f = f + value * value;
    if (sided)
      for (int k = 0; k < n; ++k)
        line[k] = select(less(Pack(0.0), value), line[k], Pack(0.0));
    for (int k = 0; k < n; ++k) {
      room.g[k] = room.g[k] + line[k] * value;
      for (int j = 0; j <= k; ++j)
        room.H[k * n + j] = room.H[k * n + j] + line[k] * line[j];
    }
  }
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < k; ++j)
      room.H[j * n + k] = room.H[k * n + j];
  return 0.5 * f;
}

// a descent in a lane
struct Lane {
  std::ptrdiff_t number = -1;
  int step = 0, failures = 0;
  double damping = 0.1, mark = 1e300;
};

struct Lanes {
  const ModelData &m;
  const ReachProblem &problem;
  const DescentCall &call;
  DescentRoom &room;
  Lane lane[W];
  bool fresh[W] = {}; // lanes whose trial is a start

  // the next start into a lane; one that is not there repeats what stands in it
  bool begin(int l) {
    const std::ptrdiff_t number = call.next(call.self);
    lane[l] = {number};
    fresh[l] = number >= 0;
    if (number < 0)
      return false;
    for (int k = 0; k < m.nq; ++k)
      room.trial[k].set(l, call.q[number * m.nq + k]);
    for (int i = 0; i < problem.rows(); ++i)
      room.shift[i].set(l, call.shift[number * call.shift_stride + i]);
    for (int k = 0; k < problem.columns; ++k)
      call.push[number * problem.columns + k] = 0.0;
    aim(problem, room.rows, l, call.which[number]);
    return true;
  }
  void end(int l, bool done) {
    const std::ptrdiff_t number = lane[l].number;
    for (int k = 0; k < m.nq; ++k)
      call.q[number * m.nq + k] = room.q[k][l];
    for (int i = 0; i < problem.rows(); ++i)
      call.r[number * problem.rows() + i] = room.r[i][l];
    call.done[number] = done;
    call.steps[number] = lane[l].step;
    lane[l].number = -1;
  }
  // takes trials over in lanes of which the bit is set
  void take(const Pack &good) {
    const auto mask = less(Pack(0.5), good);
    for (int k = 0; k < m.nq; ++k)
      room.q[k] = select(mask, room.trial[k], room.q[k]);
    for (int i = 0; i < problem.rows(); ++i)
      room.r[i] = select(mask, room.r_trial[i], room.r[i]);
    for (int k = 0; k < problem.rows() * problem.columns; ++k)
      room.J[k] = select(mask, room.J_trial[k], room.J[k]);
  }
  // lanes that have ended, before a step; size: sum of squares
  void look(const Pack &f) {
    const unsigned met = zeros(problem, room);
    for (int l = 0; l < W; ++l) {
      Lane &at = lane[l];
      if (at.number < 0)
        continue;
      const double size = std::sqrt(2.0 * f[l]);
      bool over = (met >> l & 1u) || at.step >= call.iterations || at.failures >= most_failures;
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
        sum = sum + room.H[k * n + j] * room.x[j];
      hoped = hoped - room.x[k] * (room.g[k] + 0.5 * sum);
    }
    const Pack gained = f - half_square(problem, room, room.r_trial);
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

std::size_t bytes_reach(const ModelData &m, const ReachProblem &problem) {
  DescentRoom room;
  return lay_out(m, problem, nullptr, room);
}

void rows_of_reach(const ModelData &m, std::byte *memory, const ReachProblem &problem, const ReachRows &call, std::ptrdiff_t begin, std::ptrdiff_t end) {
  DescentRoom room;
  lay_out(m, problem, memory, room);
  const std::ptrdiff_t rows = problem.rows(), block = rows * problem.columns;
  for (std::ptrdiff_t first = begin; first < end; first += W) {
    const int count = int(end - first < W ? end - first : W);
    for (int l = 0; l < W; ++l) {
      const std::ptrdiff_t state = first + (l < count ? l : 0);
      for (int k = 0; k < m.nq; ++k)
        room.q[k].set(l, call.q[state * m.nq + k]);
      aim(problem, room.rows, l, call.which[state]);
    }
    reach_rows<Pack>(m, problem, room.rows, room.q, room.r, call.J ? room.J : nullptr);
    for (int l = 0; l < count; ++l) {
      for (std::ptrdiff_t i = 0; i < rows; ++i)
        call.r[(first + l) * rows + i] = room.r[i][l];
      for (std::ptrdiff_t k = 0; call.J && k < block; ++k)
        call.J[(first + l) * block + k] = room.J[k][l];
    }
  }
}

void descend(const ModelData &m, std::byte *memory, const ReachProblem &problem, const DescentCall &call) {
  DescentRoom room;
  lay_out(m, problem, memory, room);
  const int n = problem.columns;
  Lanes lanes{m, problem, call, room, {}, {}};
  bool more = true;
  for (int l = 0; l < W; ++l) {
    more = more && lanes.begin(l);
    if (l == 0 && !more)
      return;
    if (more)
      continue;
    // lanes without a start repeat the first
    for (int k = 0; k < m.nq; ++k)
      room.trial[k].set(l, room.trial[k][0]);
    for (int i = 0; i < problem.rows(); ++i)
      room.shift[i].set(l, room.shift[i][0]);
    aim(problem, room.rows, l, call.which[lanes.lane[0].number]);
    lanes.lane[l].number = -1;
  }
  // positions of lanes that never begin are numbers too
  for (int k = 0; k < m.nq; ++k)
    room.q[k] = room.trial[k];
  Pack f(0.0), sound(1.0), good(1.0);
  reach_rows<Pack>(m, problem, room.rows, room.trial, room.r_trial, room.J_trial);
  lanes.take(Pack(1.0));
  for (int l = 0; l < W; ++l)
    lanes.fresh[l] = false;
  for (;;) {
    lanes.look(half_square(problem, room, room.r));
    f = square(problem, room);
    Pack largest(1e-12), damping(0.1);
    for (int k = 0; k < n; ++k)
      largest = larger(largest, room.H[k * n + k]);
    bool live = false;
    for (int l = 0; l < W; ++l) {
      damping.set(l, lanes.lane[l].damping);
      if (lanes.lane[l].number < 0)
        continue;
      live = true;
      for (int k = 0; k < n; ++k)
        call.push[lanes.lane[l].number * n + k] = room.g[k][l];
    }
    for (int k = 0; k < n; ++k) {
      const int place = problem.place[k];
      const Pack at = place >= 0 ? room.q[place] : Pack(0.0);
      const double inverse = 1.0 / problem.metric[k];
      room.least[k] = (problem.lower[k] - at) * inverse;
      room.most[k] = (problem.upper[k] - at) * inverse;
    }
    sound = bounded_step(n, room, damping * select(less(2.0 * f, largest), 2.0 * f, largest) + 1e-13 * largest);
    make_step(m, problem, room);
    for (int l = 0; l < W; ++l) // what has ended makes room
      if (lanes.lane[l].number < 0 && more) {
        more = lanes.begin(l);
        live = live || more;
      }
    if (!live)
      return;
    reach_rows<Pack>(m, problem, room.rows, room.trial, room.r_trial, room.J_trial);
    lanes.judge(f, sound, good);
    lanes.take(good);
  }
}

} // namespace dalembert::DALEMBERT_ISA
