// Kinematic motion: positions, speeds, accelerations and jerks at given times, when drives leave no freedom.
//
// The closure equations Phi(q, t) = 0 of any form of coordinates, J = Phi_q, are solved level by level with one matrix:
//
//     J dq = -Phi        J v = b        J a = c        J j = d                                                         (1)
//
// (Garcia de Jalon and Bayo 1994, (3.4)-(3.8), the last as corrected; Sol 1983, section 8.3). From one time to the next
//
//     q_p = q (+) (h v + h^2/2 a)                                                                                      (2)
//
// predicts, Newton corrects, and the way is judged by Hermite's formula, which two points of one smooth branch obey:
//
//     e = q_1 (-) q_0 - h/2 (v_0 + v_1) - h^2/12 (a_0 - a_1)                                                           (3)
//
// Where Newton does not converge, corrects by more than a part of the way, or (3) is more than a part of it, the way is
// taken in halves; so it is where a pivot of J changes its sign: it would have to vanish in between, as it does on the way
// from one branch to another that comes close. If there is no way of any length, the branch ends. Coordinates that drives give are known: their columns stand on the right-hand sides.
//
// Where branches cross, J loses rank, and close by rounding decides what it solves for. There the parts of (1) that are
// left open are those that (2) predicts, from so near that they are good: the motion passes straight through.
//
// A Form has:
//     oriented                       whether rows are continuous in their sign too
//     nq, nv, rows; row_scale (0 where a row binds speeds alone), column_scale; known (nv)
//     bool look(t)                   laws at t; false if one fails
//     place(q), pace(v), press(a)    known coordinates, speeds, accelerations at that time in their places
//     positions(q, r, J)             Phi (rows), J (rows x nv)
//     rates(b), bends(q, v, c)       right-hand sides of (1), the first where positions were looked at last
//     bool thirds(q, v, a, d, j)     the last one, and known jerks in their places; false if a law fails
//     integrate(q, step, out), difference(q0, q1, out)
#pragma once

#include "kinematics/rank_elimination.hpp"
#include "runs/stop.hpp"
#include <initializer_list>

namespace dalembert {

enum class SweepStatus : std::int32_t {
  finished,
  ended,        // no way of any length leads on
  open,         // the first position does not close
  undetermined, // drives leave freedoms
  contradicted, // rows cannot have the rates that drives ask for
  host,         // a law failed
  far,          // more steps from one time to the next than are taken
  stopped       // because it was asked to
};

struct SweepCall {
  const double *times;
  std::ptrdiff_t count;
  double *q, *v, *a, *jerk; // count rows; q holds the first position on entry (all of them if they are `placed`); jerk may be null
  double *slack;            // count: smallest pivot as a part of the largest; zero at singular positions
  bool placed;              // positions are given: rates only
  // last position that was reached, and its time; steps between times, and corrections
  double t_last;
  double *q_last, *v_last;
  std::int64_t steps = 0, corrections = 0, crossings = 0;
  std::int64_t most;           // steps from one time to the next
  std::ptrdiff_t done = 0;     // rows
  Stop stop{};
};

namespace kinematics {

constexpr int most_corrections = 20;
constexpr double settled = 1e-17;  // what is left after a correction, about its square by the slack, that is rounding
constexpr double part_of_way = 0.2, part_of_error = 0.05; // that a correction, and (3), may be of the way
constexpr double crossing = 1e-5;  // slack, as a part of the largest, below which branches cross
constexpr double near = 1e-3;      // way into a crossing that a prediction may lead
constexpr double shortest = 1e-12; // part of the way from one time to the next

struct Point {
  double t;
  double *q, *v, *a;
};

struct Room {
  Elimination factors;
  double *J, *A;       // rows x nv; rows x unknown, scaled
  double *r, *rhs, *x; // rows, rows, unknown
  double *step, *back; // nv
  std::int32_t *unknown;
  int count; // of unknown
  Point here, next, before;
  bool known_before, regular;    // whether `before` leads smoothly to `here`; whether `here` is no crossing
  unsigned char *signs, *others; // count: of pivots at `here`, for the choice of rows that `choice` numbers; room for others
  int choice;                    // 0: none is known, as in a crossing
};

template <class Form> std::size_t lay_out(Form &form, std::byte *base, Room &room) {
  Arena arena{base};
  room.unknown = arena.take<std::int32_t>(std::size_t(form.nv));
  room.count = base ? 0 : form.nv;
  for (int f = 0; base && f < form.nv; ++f)
    if (!form.known[f])
      room.unknown[room.count++] = f;
  arena.skip(lay_out(form.rows, room.count, base ? arena.here() : nullptr, room.factors));
  const std::size_t rows = std::size_t(form.rows), nv = std::size_t(form.nv), nq = std::size_t(form.nq);
  room.J = arena.take<double>(rows * nv);
  room.A = arena.take<double>(rows * std::size_t(room.count));
  room.r = arena.take<double>(rows);
  room.rhs = arena.take<double>(rows);
  room.x = arena.take<double>(std::size_t(room.count));
  room.step = arena.take<double>(nv);
  room.back = arena.take<double>(nv);
  room.signs = arena.take<unsigned char>(nv);
  room.others = arena.take<unsigned char>(nv);
  room.choice = 0;
  room.known_before = room.regular = false;
  for (Point *point : {&room.here, &room.next, &room.before}) {
    point->q = arena.take<double>(nq);
    point->v = arena.take<double>(nv);
    point->a = arena.take<double>(nv);
  }
  return arena.used;
}

// unknown columns of J, scaled; rows that bind speeds alone count only if `all`
template <class Form> void scale_matrix(Form &form, Room &room, bool all) {
  for (int i = 0; i < form.rows; ++i) {
    const double scale = form.row_scale[i] != 0.0 ? form.row_scale[i] : all ? 1.0 : 0.0;
    for (int k = 0; k < room.count; ++k)
      room.A[std::ptrdiff_t(i) * room.count + k] = scale * form.column_scale[room.unknown[k]] * room.J[std::ptrdiff_t(i) * form.nv + room.unknown[k]];
  }
}
template <class Form> void take_matrix(Form &form, Room &room, bool all) {
  scale_matrix(form, room, all);
  factor(room.factors, room.A);
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
template <class Form> bool correct(Form &form, Room &room, double *q, double floor, double &corrected, std::int64_t &count) {
  corrected = 0.0;
  double before = 1e300;
  bool last = false;
  for (int round = 0; round < most_corrections; ++round) {
    form.positions(q, room.r, room.J);
    double worst = 0.0;
    for (int i = 0; i < form.rows; ++i) {
      room.rhs[i] = -form.row_scale[i] * room.r[i];
      if (!(std::fabs(room.rhs[i]) <= worst))
        worst = std::fabs(room.rhs[i]);
    }
    if (!(worst < 1e6))
      return false;
    take_matrix(form, room, false);
    if (last || worst <= 0.01 * floor)
      return worst <= 1e3 * floor;
    solve(room.factors, room.rhs, room.x);
    for (int f = 0; f < form.nv; ++f)
      room.step[f] = 0.0;
    for (int k = 0; k < room.count; ++k)
      room.step[room.unknown[k]] = form.column_scale[room.unknown[k]] * room.x[k];
    const double size = length(form, room.step);
    ++count;
    if (!(size < 1e3) || (round > 1 && size > 0.5 * before && size > 1e-10))
      return false;
    form.integrate(q, room.step, q);
    corrected += size;
    before = size;
    last = size * size < settled * room.factors.slack || size < 1e-10; // once more, for the matrix at q
  }
  return false;
}

// x (nv), with known ones in their places: J x = b; a guess stands in what the rank leaves open. False if rows contradict.
// noise: how large motions are whose rounding may be taken for one of the rows
template <class Form> bool rates(Form &form, Room &room, const double *b, double noise, double *x) {
  double size = 0.0, missed = 0.0, asked = 0.0;
  for (int round = 0; round < 2; ++round) { // the second looks at what is left, and removes the rounding of the first
    missed = 0.0; // compared with all terms that there were: at rest those of the last round are rounding themselves
    for (int i = 0; i < form.rows; ++i) {
      const double scale = form.row_scale[i] != 0.0 ? form.row_scale[i] : 1.0;
      const double *line = room.J + std::ptrdiff_t(i) * form.nv;
      double sum = b[i], terms = std::fabs(b[i]);
      for (int f = 0; f < form.nv; ++f)
        if (line[f] != 0.0)
          sum -= line[f] * x[f], terms += std::fabs(line[f] * x[f]);
      room.rhs[i] = scale * sum;
      if (round == 0) { // what is asked of the unknowns
        double known = b[i];
        for (int f = 0; f < form.nv; ++f)
          if (form.known[f])
            known -= line[f] * x[f];
        asked = scale * std::fabs(known) > asked ? scale * std::fabs(known) : asked;
      }
      size = scale * terms > size ? scale * terms : size;
      if (!(std::fabs(room.rhs[i]) <= missed))
        missed = std::fabs(room.rhs[i]);
    }
    solve(room.factors, room.rhs, room.x);
    for (int k = 0; k < room.count; ++k)
      x[room.unknown[k]] += form.column_scale[room.unknown[k]] * room.x[k];
  }
  const double rounding = 1e-8 * size + 1e-12 * (noise + length(form, x)) + 1e-300;
  // in a crossing, rows that were left out are obeyed as well as the prediction is good; at a dead point they are not. Nothing
  // may be asked of the unknowns there (`asked` is zero): then what is missed is compared with the terms of the rows
  return missed <= rounding || (room.factors.rank < room.count && missed <= near * (asked + noise));
}

// speeds and accelerations at a position, its matrix and factors being there; what they were is the guess
template <class Form> bool move(Form &form, Room &room, Point &at) {
  form.pace(at.v);
  form.rates(room.r);
  if (!rates(form, room, room.r, 0.0, at.v))
    return false;
  const double speed = length(form, at.v);
  form.press(at.a);
  form.bends(at.q, at.v, room.r);
  return rates(form, room, room.r, speed * speed, at.a);
}

template <class Form> void copy(Form &form, const Point &from, Point &to) {
  to.t = from.t;
  for (int k = 0; k < form.nq; ++k)
    to.q[k] = from.q[k];
  for (int f = 0; f < form.nv; ++f)
    to.v[f] = from.v[f], to.a[f] = from.a[f];
}

// (3), and whether it is small; the way stands in room.back
template <class Form> bool same_branch(Form &form, Room &room, double h) {
  const Point &from = room.here, &to = room.next;
  form.difference(from.q, to.q, room.back);
  const double way = length(form, room.back);
  for (int f = 0; f < form.nv; ++f)
    room.step[f] = room.back[f] - 0.5 * h * (from.v[f] + to.v[f]) - h * h / 12.0 * (from.a[f] - to.a[f]);
  return length(form, room.step) <= part_of_error * way + 1e-9;
}

// Keeps the signs of the pivots at the position whose factors are there, none in a crossing; and how small pivots have to be
// for one: compared with the largest on the way, or, where it begins close to a crossing, with what is usual.
inline void keep_signs(Room &room) {
  const double slack = room.factors.slack, usual = 1e-3 * slack < 1e-6 ? 1e-3 * slack : 1e-6;
  for (const double least : {crossing * slack, usual})
    room.factors.least = least > room.factors.least ? least : room.factors.least;
  const bool regular = room.factors.rank == room.count;
  room.choice = regular ? room.factors.choice : 0;
  for (int k = 0; regular && k < room.count; ++k)
    room.signs[k] = room.factors.line(k)[k] < 0.0;
}

// Whether all pivots have at `next`, whose factors are there, the signs that they have at `here`; rows that were chosen since
// are looked at there too. Where one of the positions is a crossing, nothing can be said.
template <class Form> bool same_signs(Form &form, Room &room) {
  if (!form.oriented || !room.choice || room.factors.rank < room.count)
    return true;
  if (room.choice != room.factors.choice) {
    for (int k = 0; k < room.count; ++k)
      room.others[k] = room.factors.line(k)[k] < 0.0;
    if (!form.look(room.here.t))
      return false;
    form.positions(room.here.q, room.r, room.J);
    scale_matrix(form, room, false);
    const bool known = signs_of(room.factors, room.A, room.signs);
    form.look(room.next.t);
    form.positions(room.next.q, room.r, room.J);
    take_matrix(form, room, false);
    room.choice = known ? room.factors.choice : 0;
    if (!known)
      return false;
    for (int k = 0; k < room.count; ++k)
      if (room.others[k] != room.signs[k])
        return false;
    return true;
  }
  for (int k = 0; k < room.count; ++k)
    if ((room.factors.line(k)[k] < 0.0) != (room.signs[k] != 0))
      return false;
  return true;
}

// Adds to a step from `here`, of v and a, what the way from `before` tells of higher rates: the polynomial of degree five
// that has position, speed and acceleration of both.
template <class Form> void extrapolate(Form &form, Room &room, double h) {
  const Point &from = room.before, &at = room.here;
  const double H = at.t - from.t, s = h / H;
  if (!room.known_before || !(std::fabs(s) <= 2.0) || s < 0.0)
    return;
  form.difference(from.q, at.q, room.back);
  for (int f = 0; f < form.nv; ++f) {
    const double A = -room.back[f] + H * at.v[f] - 0.5 * H * H * at.a[f], B = H * (from.v[f] - at.v[f] + H * at.a[f]);
    const double C = H * H * (from.a[f] - at.a[f]), third = -0.5 * (C + 20.0 * A + 8.0 * B);
    const double more = s * s * s * (third + s * (5.0 * A + B + 2.0 * third + s * (4.0 * A + B + third)));
    room.step[f] += more;
  }
}

enum class Way { reached, failed, host, contradicted, too_long };

// from `here` to t into `next`
template <class Form> Way go(Form &form, Room &room, double t, double floor, SweepCall &call) {
  const double h = t - room.here.t;
  if (!form.look(t))
    return Way::host;
  copy(form, room.here, room.next);
  room.next.t = t;
  for (int f = 0; f < form.nv; ++f) {
    room.step[f] = h * room.here.v[f] + 0.5 * h * h * room.here.a[f];
    room.next.v[f] += h * room.here.a[f];
  }
  extrapolate(form, room, h);
  const double way = length(form, room.step);
  if (!(way < 1.5))
    return Way::too_long;
  form.integrate(room.here.q, room.step, room.next.q);
  form.place(room.next.q);
  double corrected;
  if (!correct(form, room, room.next.q, floor, corrected, call.corrections) || corrected > part_of_way * way + 1e-7)
    return Way::failed;
  if ((room.factors.rank < room.count && way > near) || !same_signs(form, room))
    return Way::failed;
  if (!move(form, room, room.next))
    return room.factors.rank == room.count ? Way::contradicted : Way::failed;
  return same_branch(form, room, h) ? Way::reached : Way::failed;
}

// `next` has been reached, and its signs are kept
inline void advance(Room &room, bool first) {
  room.known_before = !first && room.choice != 0 && room.regular;
  room.regular = room.choice != 0;
  std::swap(room.before, room.here);
  std::swap(room.here, room.next);
}

template <class Form> void record(Form &form, Room &room, const Point &at, SweepCall &call, std::ptrdiff_t row) {
  for (int k = 0; k < form.nq; ++k)
    call.q[row * form.nq + k] = call.q_last[k] = at.q[k];
  for (int f = 0; f < form.nv; ++f) {
    call.v[row * form.nv + f] = call.v_last[f] = at.v[f];
    call.a[row * form.nv + f] = at.a[f];
  }
  call.slack[row] = room.factors.slack;
  call.t_last = at.t;
  call.done = row + 1;
}

template <class Form> bool jerk(Form &form, Room &room, const Point &at, double *j) {
  for (int f = 0; f < form.nv; ++f)
    j[f] = 0.0;
  if (!form.thirds(at.q, at.v, at.a, room.r, j))
    return false;
  rates(form, room, room.r, 0.0, j); // at a singular position the rank leaves some open
  return true;
}

// the first position of a sweep, or one that is given
template <class Form> SweepStatus begin(Form &form, Room &room, double t, const double *q, double floor, SweepCall &call) {
  Point &at = room.next;
  at.t = t;
  if (!form.look(t))
    return SweepStatus::host;
  for (int k = 0; k < form.nq; ++k)
    at.q[k] = q[k];
  for (int f = 0; f < form.nv; ++f)
    at.v[f] = at.a[f] = 0.0;
  if (call.placed) {
    form.positions(at.q, room.r, room.J);
    take_matrix(form, room, true);
  } else {
    form.place(at.q);
    double corrected;
    if (!correct(form, room, at.q, floor, corrected, call.corrections))
      return SweepStatus::open;
  }
  if (room.factors.rank < room.count)
    return SweepStatus::undetermined;
  return move(form, room, at) ? SweepStatus::finished : SweepStatus::contradicted;
}

} // namespace kinematics

// floor: scaled residual that rounding alone may leave
template <class Form> SweepStatus sweep(Form &form, kinematics::Room &room, double floor, SweepCall &call) {
  using namespace kinematics;
  const auto finish = [&](std::ptrdiff_t row) {
    record(form, room, room.next, call, row);
    const bool fine = !call.jerk || jerk(form, room, room.next, call.jerk + row * form.nv);
    if (!call.placed)
      keep_signs(room);
    advance(room, row == 0 || call.placed);
    return fine;
  };
  for (std::ptrdiff_t row = 0; row < call.count; ++row) {
    if (row == 0 || call.placed) {
      if (call.stop())
        return SweepStatus::stopped;
      const SweepStatus status = begin(form, room, call.times[row], call.q + row * form.nq, floor, call);
      if (status != SweepStatus::finished)
        return status;
      if (!finish(row))
        return SweepStatus::host;
      continue;
    }
    const double begin_at = room.here.t, whole = call.times[row] - begin_at;
    double part = 1.0;
    for (const std::int64_t last = call.steps + call.most;;) {
      if (call.stop())
        return SweepStatus::stopped;
      if (call.steps == last)
        return SweepStatus::far;
      const double rest = call.times[row] - room.here.t, h = part * whole;
      const bool arrives = std::fabs(h) >= std::fabs(rest) * (1.0 - 1e-9);
      const Way way = go(form, room, arrives ? call.times[row] : room.here.t + h, floor, call);
      ++call.steps;
      if (way == Way::host)
        return SweepStatus::host;
      if (way == Way::reached) {
        call.crossings += room.factors.rank < room.count;
        if (arrives)
          break;
        keep_signs(room);
        advance(room, false);
        for (int k = 0; k < form.nq; ++k)
          call.q_last[k] = room.here.q[k];
        for (int f = 0; f < form.nv; ++f)
          call.v_last[f] = room.here.v[f];
        call.t_last = room.here.t;
        part *= 2.0;
        continue;
      }
      part *= 0.5;
      if (part < shortest || !(std::fabs(part * whole) > 1e-15 * std::fabs(call.times[row])))
        return way == Way::contradicted ? SweepStatus::contradicted : way == Way::too_long ? SweepStatus::far : SweepStatus::ended;
    }
    if (!finish(row))
      return SweepStatus::host;
  }
  return SweepStatus::finished;
}

} // namespace dalembert
