// Kinematic motion: positions, velocities, accelerations and jerks at given times, when drives leave no degree of
// freedom.
//
// The closure equations Phi(q, t) = 0 of any form of coordinates, J = Phi_q, are solved level by level with one matrix:
//
//     J dq = -Phi        J v = b        J a = c        J j = d                                                      (1)
//
// (Garcia de Jalon and Bayo 1994, (3.4)-(3.8), the last as corrected; Sol 1983, section 8.3). From one time to the next
//
//     q_p = q (+) (h v + h^2/2 a)                                                                                   (2)
//
// predicts, Newton corrects, and the way is judged by Hermite's formula, which two points of one smooth branch obey:
//
//     e = q_1 (-) q_0 - h/2 (v_0 + v_1) - h^2/12 (a_0 - a_1)                                                        (3)
//
// Where Newton does not converge, corrects by more than a part of the way, or (3) is more than a part of it, the way is
// taken in halves; so it is where a pivot of J changes its sign: it would have to vanish in between, as it does on the
// way from one branch to another that comes close. If there is no way of any length, the branch ends. Coordinates that
// drives give are known: their columns stand on the right-hand sides.
//
// Where branches cross, J loses rank, and close by rounding decides what it solves for. There the parts of (1) that are
// left open are those that (2) predicts, from so near that they are good: the motion passes straight through.
//
// A Form has:
//     oriented                       whether rows are continuous in their sign too
//     nq, nv, rows; row_scale (0 where a row binds velocities alone), column_scale; known (nv)
//     bool look(t)                   laws at t; false if one fails
//     place(q), pace(v), press(a)    known coordinates, velocities, accelerations at that time in their places
//     positions(q, r, J)             Phi (rows), J (rows x nv)
//     rates(b), bends(q, v, c)       right-hand sides of (1), the first where positions were looked at last
//     bool thirds(q, v, a, d, j)     the last one, and known jerks in their places; false if a law fails
//     integrate(q, step, out), difference(q0, q1, out)
//     leap(call, row)                optional: fills rows from `row` on by other means, returns the row after them
#pragma once

#include "kinematics/rank_elimination.hpp"
#include "runs/stop.hpp"
#include <initializer_list>

namespace dalembert {

enum class SweepStatus : std::int32_t {
  finished,
  ended,           // no way of any length leads on
  open,            // the first position does not close
  undetermined,    // drives leave degrees of freedom
  contradicted,    // rows cannot have the rates that drives ask for
  callback_failed, // a law failed
  far,             // more steps from one time to the next than are taken
  stopped          // on request
};

struct SweepCall {
  const double *times;
  std::ptrdiff_t count;
  // count rows; q holds the first position on entry (all of them if they are `placed`); jerk may be null
  double *q, *v, *a, *jerk;
  double *slack; // count: smallest pivot as a part of the largest; zero at singular positions
  bool placed;   // positions are given: rates only
  // last position that was reached, and its time; steps between times, and corrections
  double t_last;
  double *q_last, *v_last;
  std::int64_t steps = 0, corrections = 0, crossings = 0;
  std::int64_t most;       // steps from one time to the next
  std::ptrdiff_t done = 0; // rows
  Stop stop{};
};

namespace kinematics {

constexpr int max_corrections = 20;
constexpr double settled = 1e-17; // what is left after a correction, about its square by the slack, that is rounding
constexpr double part_of_way = 0.2, part_of_error = 0.05; // that a correction, and (3), may be of the way
constexpr double crossing = 1e-5;                         // slack, as a part of the largest, below which branches cross
constexpr double near = 1e-3;                             // way into a crossing that a prediction may lead
constexpr double shortest = 1e-12;                        // part of the way from one time to the next

struct Point {
  double t;
  double *q, *v, *a;
};

struct SweepWorkspace {
  Elimination factors;
  double *J, *A;       // rows x nv; rows x unknown, scaled
  double *r, *rhs, *x; // rows, rows, unknown
  double *step, *back; // nv
  std::int32_t *unknown;
  int count; // of unknown
  Point here, next, before;
  bool known_before, regular; // whether `before` leads smoothly to `here`; whether `here` is no crossing
  // count: of pivots at `here`, for the choice of rows that `choice` numbers; space for others
  unsigned char *signs, *others;
  int choice; // 0: none is known, as in a crossing
};

template <class Form> std::size_t lay_out(Form &form, std::byte *base, SweepWorkspace &work) {
  Arena arena{base};
  work.unknown = arena.take<std::int32_t>(std::size_t(form.nv));
  work.count = base ? 0 : form.nv;
  for (int f = 0; base && f < form.nv; ++f)
    if (!form.known[f])
      work.unknown[work.count++] = f;
  arena.skip(lay_out(form.rows, work.count, base ? arena.here() : nullptr, work.factors));
  const std::size_t rows = std::size_t(form.rows), nv = std::size_t(form.nv), nq = std::size_t(form.nq);
  work.J = arena.take<double>(rows * nv);
  work.A = arena.take<double>(rows * std::size_t(work.count));
  work.r = arena.take<double>(rows);
  work.rhs = arena.take<double>(rows);
  work.x = arena.take<double>(std::size_t(work.count));
  work.step = arena.take<double>(nv);
  work.back = arena.take<double>(nv);
  work.signs = arena.take<unsigned char>(nv);
  work.others = arena.take<unsigned char>(nv);
  work.choice = 0;
  work.known_before = work.regular = false;
  for (Point *point : {&work.here, &work.next, &work.before}) {
    point->q = arena.take<double>(nq);
    point->v = arena.take<double>(nv);
    point->a = arena.take<double>(nv);
  }
  return arena.used;
}

// unknown columns of J, scaled; rows that bind velocities alone count only if `all`
template <class Form> void scale_matrix(Form &form, SweepWorkspace &work, bool all) {
  for (int i = 0; i < form.rows; ++i) {
    const double scale = form.row_scale[i] != 0.0 ? form.row_scale[i] : all ? 1.0 : 0.0;
    for (int k = 0; k < work.count; ++k)
      work.A[std::ptrdiff_t(i) * work.count + k] =
          scale * form.column_scale[work.unknown[k]] * work.J[std::ptrdiff_t(i) * form.nv + work.unknown[k]];
  }
}
template <class Form> void take_matrix(Form &form, SweepWorkspace &work, bool all) {
  scale_matrix(form, work, all);
  factor(work.factors, work.A);
}

template <class Form> double length(Form &form, const double *step) {
  double most = 0.0;
  for (int f = 0; f < form.nv; ++f) {
    const double size = std::fabs(step[f] / form.column_scale[f]);
    if (!(size <= most))
      most = size;
  }
  return most;
}

// Newton's corrections of q, laws having been looked at; corrected: how far they led. Leaves J and its factors at q.
template <class Form>
bool correct(Form &form, SweepWorkspace &work, double *q, double floor, double &corrected, std::int64_t &count) {
  corrected = 0.0;
  double before = 1e300;
  bool last = false;
  for (int round = 0; round < max_corrections; ++round) {
    form.positions(q, work.r, work.J);
    double worst = 0.0;
    for (int i = 0; i < form.rows; ++i) {
      work.rhs[i] = -form.row_scale[i] * work.r[i];
      if (!(std::fabs(work.rhs[i]) <= worst))
        worst = std::fabs(work.rhs[i]);
    }
    if (!(worst < 1e6))
      return false;
    take_matrix(form, work, false);
    if (last || worst <= 0.01 * floor)
      return worst <= 1e3 * floor;
    solve(work.factors, work.rhs, work.x);
    for (int f = 0; f < form.nv; ++f)
      work.step[f] = 0.0;
    for (int k = 0; k < work.count; ++k)
      work.step[work.unknown[k]] = form.column_scale[work.unknown[k]] * work.x[k];
    const double size = length(form, work.step);
    ++count;
    if (!(size < 1e3) || (round > 1 && size > 0.5 * before && size > 1e-10))
      return false;
    form.integrate(q, work.step, q);
    corrected += size;
    before = size;
    last = size * size < settled * work.factors.slack || size < 1e-10; // once more, for the matrix at q
  }
  return false;
}

// x (nv), with known ones in their places: J x = b; a guess stands in what the rank leaves open. False if rows
// contradict. noise: how large motions are whose rounding may be taken for one of the rows
template <class Form> bool rates(Form &form, SweepWorkspace &work, const double *b, double noise, double *x) {
  double size = 0.0, missed = 0.0, asked = 0.0;
  for (int round = 0; round < 2; ++round) { // the second looks at what is left, and removes the rounding of the first
    missed = 0.0; // compared with all terms that there were: at rest those of the last round are rounding themselves
    for (int i = 0; i < form.rows; ++i) {
      const double scale = form.row_scale[i] != 0.0 ? form.row_scale[i] : 1.0;
      const double *line = work.J + std::ptrdiff_t(i) * form.nv;
      double sum = b[i], terms = std::fabs(b[i]);
      for (int f = 0; f < form.nv; ++f)
        if (line[f] != 0.0)
          sum -= line[f] * x[f], terms += std::fabs(line[f] * x[f]);
      work.rhs[i] = scale * sum;
      if (round == 0) { // demands on the unknowns
        double known = b[i];
        for (int f = 0; f < form.nv; ++f)
          if (form.known[f])
            known -= line[f] * x[f];
        asked = scale * std::fabs(known) > asked ? scale * std::fabs(known) : asked;
      }
      size = scale * terms > size ? scale * terms : size;
      if (!(std::fabs(work.rhs[i]) <= missed))
        missed = std::fabs(work.rhs[i]);
    }
    solve(work.factors, work.rhs, work.x);
    for (int k = 0; k < work.count; ++k)
      x[work.unknown[k]] += form.column_scale[work.unknown[k]] * work.x[k];
  }
  const double rounding = 1e-8 * size + 1e-12 * (noise + length(form, x)) + 1e-300;
  // in a crossing, rows that were left out are obeyed as well as the prediction is good; at a dead point they are not.
  // Nothing may be demanded of the unknowns there (`asked` is zero): then what is missed is compared with the terms of
  // the rows
  return missed <= rounding || (work.factors.rank < work.count && missed <= near * (asked + noise));
}

// velocities and accelerations at a position, its matrix and factors being there; what they were is the guess
template <class Form> bool move(Form &form, SweepWorkspace &work, Point &at) {
  form.pace(at.v);
  form.rates(work.r);
  if (!rates(form, work, work.r, 0.0, at.v))
    return false;
  const double velocity = length(form, at.v);
  form.press(at.a);
  form.bends(at.q, at.v, work.r);
  return rates(form, work, work.r, velocity * velocity, at.a);
}

template <class Form> void copy(Form &form, const Point &from, Point &to) {
  to.t = from.t;
  for (int k = 0; k < form.nq; ++k)
    to.q[k] = from.q[k];
  for (int f = 0; f < form.nv; ++f)
    to.v[f] = from.v[f], to.a[f] = from.a[f];
}

// (3), and whether it is small; the way stands in work.back
template <class Form> bool is_same_branch(Form &form, SweepWorkspace &work, double h) {
  const Point &from = work.here, &to = work.next;
  form.difference(from.q, to.q, work.back);
  const double outcome = length(form, work.back);
  for (int f = 0; f < form.nv; ++f)
    work.step[f] = work.back[f] - 0.5 * h * (from.v[f] + to.v[f]) - h * h / 12.0 * (from.a[f] - to.a[f]);
  return length(form, work.step) <= part_of_error * outcome + 1e-9;
}

// Keeps the signs of the pivots at the position whose factors are there, none in a crossing; and how small pivots have
// to be for one: compared with the largest on the way, or, where it begins close to a crossing, with what is usual.
inline void keep_signs(SweepWorkspace &work) {
  const double slack = work.factors.slack, usual = 1e-3 * slack < 1e-6 ? 1e-3 * slack : 1e-6;
  for (const double least : {crossing * slack, usual})
    work.factors.least = least > work.factors.least ? least : work.factors.least;
  const bool regular = work.factors.rank == work.count;
  work.choice = regular ? work.factors.choice : 0;
  for (int k = 0; regular && k < work.count; ++k)
    work.signs[k] = work.factors.line(k)[k] < 0.0;
}

// Whether all pivots have at `next`, whose factors are there, the signs that they have at `here`; rows that were chosen
// since are looked at there too. Where one of the positions is a crossing, the branch cannot be determined.
template <class Form> bool same_signs(Form &form, SweepWorkspace &work) {
  if (!form.oriented || !work.choice || work.factors.rank < work.count)
    return true;
  if (work.choice != work.factors.choice) {
    for (int k = 0; k < work.count; ++k)
      work.others[k] = work.factors.line(k)[k] < 0.0;
    if (!form.look(work.here.t))
      return false;
    form.positions(work.here.q, work.r, work.J);
    scale_matrix(form, work, false);
    const bool known = signs_of(work.factors, work.A, work.signs);
    form.look(work.next.t);
    form.positions(work.next.q, work.r, work.J);
    take_matrix(form, work, false);
    work.choice = known ? work.factors.choice : 0;
    if (!known)
      return false;
    for (int k = 0; k < work.count; ++k)
      if (work.others[k] != work.signs[k])
        return false;
    return true;
  }
  for (int k = 0; k < work.count; ++k)
    if ((work.factors.line(k)[k] < 0.0) != (work.signs[k] != 0))
      return false;
  return true;
}

// Adds to a step from `here`, of v and a, higher rates estimated from the step from `before`: the polynomial of degree
// five that has position, velocity and acceleration of both.
template <class Form> void extrapolate(Form &form, SweepWorkspace &work, double h) {
  const Point &from = work.before, &at = work.here;
  const double H = at.t - from.t, s = h / H;
  if (!work.known_before || !(std::fabs(s) <= 2.0) || s < 0.0)
    return;
  form.difference(from.q, at.q, work.back);
  for (int f = 0; f < form.nv; ++f) {
    const double A = -work.back[f] + H * at.v[f] - 0.5 * H * H * at.a[f], B = H * (from.v[f] - at.v[f] + H * at.a[f]);
    const double C = H * H * (from.a[f] - at.a[f]), third = -0.5 * (C + 20.0 * A + 8.0 * B);
    const double more = s * s * s * (third + s * (5.0 * A + B + 2.0 * third + s * (4.0 * A + B + third)));
    work.step[f] += more;
  }
}

enum class SweepOutcome { reached, failed, callback_failed, contradicted, too_long };

// from `here` to t into `next`
template <class Form> SweepOutcome sweep_to(Form &form, SweepWorkspace &work, double t, double floor, SweepCall &call) {
  const double h = t - work.here.t;
  if (!form.look(t))
    return SweepOutcome::callback_failed;
  copy(form, work.here, work.next);
  work.next.t = t;
  for (int f = 0; f < form.nv; ++f) {
    work.step[f] = h * work.here.v[f] + 0.5 * h * h * work.here.a[f];
    work.next.v[f] += h * work.here.a[f];
  }
  extrapolate(form, work, h);
  const double outcome = length(form, work.step);
  if (!(outcome < 1.5))
    return SweepOutcome::too_long;
  form.integrate(work.here.q, work.step, work.next.q);
  form.place(work.next.q);
  double corrected;
  if (!correct(form, work, work.next.q, floor, corrected, call.corrections) || corrected > part_of_way * outcome + 1e-7)
    return SweepOutcome::failed;
  if ((work.factors.rank < work.count && outcome > near) || !same_signs(form, work))
    return SweepOutcome::failed;
  if (!move(form, work, work.next))
    return work.factors.rank == work.count ? SweepOutcome::contradicted : SweepOutcome::failed;
  return is_same_branch(form, work, h) ? SweepOutcome::reached : SweepOutcome::failed;
}

// `next` has been reached, and its signs are kept
inline void advance(SweepWorkspace &work, bool first) {
  work.known_before = !first && work.choice != 0 && work.regular;
  work.regular = work.choice != 0;
  std::swap(work.before, work.here);
  std::swap(work.here, work.next);
}

template <class Form>
void record(Form &form, SweepWorkspace &work, const Point &at, SweepCall &call, std::ptrdiff_t row) {
  for (int k = 0; k < form.nq; ++k)
    call.q[row * form.nq + k] = call.q_last[k] = at.q[k];
  for (int f = 0; f < form.nv; ++f) {
    call.v[row * form.nv + f] = call.v_last[f] = at.v[f];
    call.a[row * form.nv + f] = at.a[f];
  }
  call.slack[row] = work.factors.slack;
  call.t_last = at.t;
  call.done = row + 1;
}

template <class Form> bool jerk(Form &form, SweepWorkspace &work, const Point &at, double *j) {
  for (int f = 0; f < form.nv; ++f)
    j[f] = 0.0;
  if (!form.thirds(at.q, at.v, at.a, work.r, j))
    return false;
  rates(form, work, work.r, 0.0, j); // at a singular position the rank leaves some open
  return true;
}

// the first position of a sweep, or one that is given
template <class Form>
SweepStatus begin(Form &form, SweepWorkspace &work, double t, const double *q, double floor, SweepCall &call) {
  Point &at = work.next;
  at.t = t;
  if (!form.look(t))
    return SweepStatus::callback_failed;
  for (int k = 0; k < form.nq; ++k)
    at.q[k] = q[k];
  for (int f = 0; f < form.nv; ++f)
    at.v[f] = at.a[f] = 0.0;
  if (call.placed) {
    form.positions(at.q, work.r, work.J);
    take_matrix(form, work, true);
  } else {
    form.place(at.q);
    double corrected;
    if (!correct(form, work, at.q, floor, corrected, call.corrections))
      return SweepStatus::open;
  }
  if (work.factors.rank < work.count)
    return SweepStatus::undetermined;
  return move(form, work, at) ? SweepStatus::finished : SweepStatus::contradicted;
}

// goes on from a row that stands in the call
template <class Form> bool resume(Form &form, SweepWorkspace &work, const SweepCall &call, std::ptrdiff_t row) {
  Point &at = work.next;
  at.t = call.times[row];
  for (int k = 0; k < form.nq; ++k)
    at.q[k] = call.q[row * form.nq + k];
  for (int f = 0; f < form.nv; ++f)
    at.v[f] = call.v[row * form.nv + f], at.a[f] = call.a[row * form.nv + f];
  if (!form.look(at.t))
    return false;
  form.positions(at.q, work.r, work.J);
  take_matrix(form, work, false);
  keep_signs(work);
  advance(work, true);
  return true;
}

} // namespace kinematics

// floor: scaled residual that rounding alone may leave
template <class Form> SweepStatus sweep(Form &form, kinematics::SweepWorkspace &work, double floor, SweepCall &call) {
  using namespace kinematics;
  const auto finish = [&](std::ptrdiff_t row) {
    record(form, work, work.next, call, row);
    const bool fine = !call.jerk || jerk(form, work, work.next, call.jerk + row * form.nv);
    if (!call.placed)
      keep_signs(work);
    advance(work, row == 0 || call.placed);
    return fine;
  };
  for (std::ptrdiff_t row = 0; row < call.count; ++row) {
    if (row == 0 || call.placed) {
      if (call.stop())
        return SweepStatus::stopped;
      const SweepStatus status = begin(form, work, call.times[row], call.q + row * form.nq, floor, call);
      if (status != SweepStatus::finished)
        return status;
      if (!finish(row))
        return SweepStatus::callback_failed;
      continue;
    }
    if constexpr (requires { form.leap(call, row); })
      if (const std::ptrdiff_t reached = call.jerk ? row : form.leap(call, row); reached > row) {
        if (reached == call.count)
          return SweepStatus::finished;
        if (!resume(form, work, call, reached - 1))
          return SweepStatus::callback_failed;
        row = reached;
      }
    const double begin_at = work.here.t, whole = call.times[row] - begin_at;
    double part = 1.0;
    for (const std::int64_t last = call.steps + call.most;;) {
      if (call.stop())
        return SweepStatus::stopped;
      if (call.steps == last)
        return SweepStatus::far;
      const double rest = call.times[row] - work.here.t, h = part * whole;
      const bool arrives = std::fabs(h) >= std::fabs(rest) * (1.0 - 1e-9);
      const SweepOutcome outcome = sweep_to(form, work, arrives ? call.times[row] : work.here.t + h, floor, call);
      ++call.steps;
      if (outcome == SweepOutcome::callback_failed)
        return SweepStatus::callback_failed;
      if (outcome == SweepOutcome::reached) {
        call.crossings += work.factors.rank < work.count;
        if (arrives)
          break;
        keep_signs(work);
        advance(work, false);
        for (int k = 0; k < form.nq; ++k)
          call.q_last[k] = work.here.q[k];
        for (int f = 0; f < form.nv; ++f)
          call.v_last[f] = work.here.v[f];
        call.t_last = work.here.t;
        part *= 2.0;
        continue;
      }
      part *= 0.5;
      if (part < shortest || !(std::fabs(part * whole) > 1e-15 * std::fabs(call.times[row])))
        return outcome == SweepOutcome::contradicted ? SweepStatus::contradicted
               : outcome == SweepOutcome::too_long   ? SweepStatus::far
                                                     : SweepStatus::ended;
    }
    if (!finish(row))
      return SweepStatus::callback_failed;
  }
  return SweepStatus::finished;
}

} // namespace dalembert
