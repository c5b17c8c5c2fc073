// One instruction set's steppers behind the border of integrator.hpp. Compiled several times; see isa.hpp.
#include "crba.hpp"
#include "steppers/alpha.hpp"
#include "steppers/explicit.hpp"
#include "steppers/control.hpp"
#include "steppers/hermite.hpp"
#include "steppers/lanes.hpp"
#include "steppers/radau.hpp"
#include <algorithm>
#include <utility>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr int W = DALEMBERT_LANES;

// the memory of a run: what all methods need, and what its own does
struct Room : SteppingRoom<W> {
  Dual<W> *duals; // room for programs
  RadauRoom<W> radau;
  AlphaRoom<W> alpha;
};

std::size_t lay_out(const ModelData &m, Method method, std::byte *base, Room &room) {
  std::size_t used = lay_out(m, base, static_cast<SteppingRoom<W> &>(room));
  Arena programs{base, used};
  room.duals = programs.take<Dual<W>>(std::size_t(m.most_values));
  used = programs.used;
  if (method == Method::radau)
    used += lay_out(m, base + used, room.radau);
  if (method == Method::alpha)
    used += lay_out(m, base + used, room.alpha);
  return used;
}

// of Radau: for its explicit steps, see `implicit`; of an order that interpolation from both ends keeps up with
const Tableau &tableau_of(Method method) {
  return method == Method::dop853 ? dop853_tableau : method == Method::rk4 ? rk4_tableau : dopri5_tableau;
}

bool is_adaptive(Method method) { return method == Method::dop853 || method == Method::dopri5 || method == Method::radau; }

std::size_t bytes(const ModelData &m, Method method) {
  Room room;
  return lay_out(m, method, nullptr, room);
}

// v1 = v + h a, q1 = q (+) h v1: the order of the two makes it symplectic
Outcome euler_step(const ModelData &m, Run &run, Room &room, double h) {
  const double t1 = run.t + h;
  for (int f = 0; f < m.nv; ++f) {
    room.z[m.nv + f] = h * room.a[f];
    room.z[f] = h * (room.v[f] + room.z[m.nv + f]);
  }
  for (int k = 0; k < m.nx; ++k)
    room.z[2 * m.nv + k] = h * room.dx[k];
  if (!displaced(m, run, room, t1, room.z, room.q1, room.v1, room.x1))
    return Outcome::host;
  const Outcome outcome = onto_loops(m, run, room, t1, room.q1, room.v1);
  if (outcome != Outcome::reached)
    return outcome;
  if (!rates(m, run, room.rates, t1, room.q1, room.v1, room.x1, room.a1, room.dx1))
    return Outcome::host;
  return all_finite(room.a1, m.nv) && all_finite(room.dx1, m.nx) ? Outcome::reached : Outcome::not_finite;
}

// Near a singular position the loops pass rounding of coordinates on to speeds and accelerations, divided by their slack
// and its root. A step of a little other length, whose stages lie elsewhere, may do; if none of these does, it is taken
// with the error that rounding explains.
constexpr int most_near_tries = 6;
constexpr double near_lengths[most_near_tries] = {0.87, 1.12, 0.75, 1.25, 0.65, 1.4};

void set_noise(const ModelData &m, Run &run, const Room &room, double h, double slack) {
  const double size = 1.0 + largest(room.q, m.nq), speed = largest(room.v, m.nv), floor = std::max(slack, 1e-10);
  const double rounding = 30.0 * 2.2e-16 * size;
  run.noise[1] = rounding * speed * speed * h / floor;
  run.noise[0] = run.noise[1] * h + rounding * speed * h / std::sqrt(floor);
}

// Derivatives off the loops are of no use where stages are put onto them first: Radau's steps are explicit there.
bool implicit(const Run &run, const Room &room) { return run.method == Method::radau && !room.near; }

Outcome take_step(const ModelData &m, Run &run, Room &room, double h, double &error) {
  error = 0.0;
  if (run.method == Method::euler)
    return euler_step(m, run, room, h);
  if (run.method == Method::alpha)
    return alpha_step<W>(m, run, room, room.alpha, h);
  const auto attempt = [&] {
    return implicit(run, room) ? radau_step<W>(m, run, room, room.radau, h, error)
                               : explicit_step(m, run, room, tableau_of(run.method), h, error);
  };
  double &slack = room.rates.loops.slack;
  slack = 1.0;
  room.near = false;
  const Outcome outcome = attempt();
  run.usual_slack = std::max(run.usual_slack, slack);
  if (!(slack < close_to_singular * run.usual_slack) || !run.project || outcome == Outcome::host)
    return outcome;
  if (implicit(run, room) && outcome == Outcome::reached && error <= 1.0) // it has passed as it is
    return outcome;
  room.near = true;
  if (run.near_tries > most_near_tries)
    set_noise(m, run, room, h, slack);
  const Outcome again = attempt();
  run.noise[0] = run.noise[1] = 0.0;
  return again;
}

// the end of a step becomes the beginning of the next
void move_on(const ModelData &m, Run &run, Room &room, double h, double t1) {
  if (run.method == Method::alpha) {
    copy(room.alpha.A1, m.nv, room.alpha.A);
    copy(room.alpha.lambda, m.nc, room.alpha.lambda0);
  }
  std::swap(room.q, room.q1);
  std::swap(room.v, room.v1);
  std::swap(room.x, room.x1);
  std::swap(room.a, room.a1);
  std::swap(room.dx, room.dx1);
  run.begin = run.t;
  run.length = h;
  run.t = t1;
  ++run.counts.steps;
}

// A first step from sizes of the state and its first two rates (Hairer, Norsett, Wanner 1993, section II.4).
double first_step(const ModelData &m, Run &run, Room &room, double until, int order) {
  const int n = increments(m);
  first_stage(m, room);
  double size = 0.0, slope = 0.0;
  for (int f = 0; f < m.nv; ++f) {
    const double sq = run.atol + run.rtol * position_size(m, room.q, f), sv = run.atol + run.rtol * std::fabs(room.v[f]);
    size += std::pow(position_size(m, room.q, f) / sq, 2) + std::pow(room.v[f] / sv, 2);
  }
  slope = measure(m, run, room, room.K, room.q, room.v, room.x);
  size = n ? std::sqrt(size / n) : 0.0;
  double h = size < 1e-5 || slope < 1e-5 ? 1e-6 : 0.01 * size / slope;
  h = std::min({h, until - run.t, run.max_step});
  for (int k = 0; k < n; ++k)
    room.z[k] = h * room.K[k];
  double *K1 = room.K + n;
  double bend = 0.0;
  if (displaced(m, run, room, run.t + h, room.z, room.qs, room.vs, room.xs) &&
      rates_in_chart(m, run, room, run.t + h, room.z, room.qs, room.vs, room.xs, K1) == Outcome::reached && all_finite(K1, n)) {
    for (int k = 0; k < n; ++k)
      room.error[k] = (K1[k] - room.K[k]) / h;
    bend = measure(m, run, room, room.error, room.q, room.v, room.x);
  }
  return first_length(h, slope, bend, order, until - run.t, run.max_step);
}

// q v x a at the fraction s of the step from room.q to room.q1, put back onto the loops
Outcome interpolate(const ModelData &m, Run &run, Room &room, double t0, double h, double s) {
  const double t = t0 + s * h;
  if (run.method == Method::dop853) {
    dop853_at(increments(m), room.D, s, room.z);
  } else {
    hermite_at(m, room, h, s, room.z);
    double *rate = room.z + m.nv;
    chart_speed<double>(m, room.z, rate, room.change);
    for (int f = 0; f < m.nv; ++f)
      rate[f] = room.change[f] - room.v[f];
  }
  if (!displaced(m, run, room, t, room.z, room.qs, room.vs, room.xs))
    return Outcome::host;
  return onto_loops(m, run, room, t, room.qs, room.vs);
}

Outcome prepare_dense(const ModelData &m, Run &run, Room &room, double h) {
  if (run.method != Method::dop853) {
    prepare_hermite<W>(m, room, h);
    return Outcome::reached;
  }
  return prepare_dop853(m, run, room, h);
}

// samples that lie in the step just made, before it is moved on from
Outcome sample(const ModelData &m, Run &run, Room &room, double h, double t1, Samples &samples, const Recorder &recorder) {
  bool prepared = false;
  while (samples.next < samples.count && samples.times[samples.next] <= t1) {
    const double t = samples.times[samples.next];
    const double *q = room.q1, *v = room.v1, *x = room.x1;
    if (t < t1) {
      if (!prepared) {
        const Outcome outcome = prepare_dense(m, run, room, h);
        if (outcome != Outcome::reached)
          return outcome;
        prepared = true;
      }
      const Outcome outcome = interpolate(m, run, room, run.t, h, (t - run.t) / h);
      if (outcome != Outcome::reached)
        return outcome;
      q = room.qs, v = room.vs, x = room.xs;
    }
    ++samples.next;
    if (!recorder.record(recorder.self, t, q, v, x, nullptr))
      return Outcome::stopped;
  }
  return Outcome::reached;
}

// The state arrays are swapped from step to step; a block that is laid out anew must find them in their first places.
void settle(const ModelData &m, Method method, std::byte *memory, const Room &room) {
  Room fresh;
  lay_out(m, method, memory, fresh);
  if (fresh.q == room.q)
    return;
  const auto exchange = [](double *a, double *b, int count) {
    for (int k = 0; k < count; ++k)
      std::swap(a[k], b[k]);
  };
  exchange(fresh.q, fresh.q1, m.nq);
  exchange(fresh.v, fresh.v1, m.nv);
  exchange(fresh.x, fresh.x1, m.nx);
  exchange(fresh.a, fresh.a1, m.nv);
  exchange(fresh.dx, fresh.dx1, m.nx);
}

Outcome start(const ModelData &m, Run &run, std::byte *memory, double t, const double *q, const double *v, const double *x) {
  Room room;
  lay_out(m, run.method, memory, room);
  for (int f = 0; f < m.nv; ++f)
    room.change[f] = 0.0;
  integrate<double>(m, q, room.change, room.q);
  copy(v, m.nv, room.v);
  copy(x, m.nx, room.x);
  run.t = run.begin = t;
  run.length = 0.0;
  if (!impose_drives(m, run, room, t, room.q, room.v, room.x))
    return Outcome::host;
  const Outcome outcome = onto_loops(m, run, room, t, room.q, room.v);
  if (outcome != Outcome::reached)
    return outcome;
  if (run.method == Method::radau)
    *room.radau.kept = {};
  if (!rates(m, run, room.rates, t, room.q, room.v, room.x, room.a, room.dx))
    return Outcome::host;
  if (run.method == Method::alpha) {
    copy(room.a, m.nv, room.alpha.A);
    copy(room.rates.lambda, m.nc, room.alpha.lambda0);
  }
  return all_finite(room.a, m.nv) && all_finite(room.dx, m.nx) ? Outcome::reached : Outcome::not_finite;
}

Outcome advance(const ModelData &m, Run &run, std::byte *memory, double until, std::int64_t most_steps, Samples &samples,
                const Recorder &recorder) {
  Room room;
  lay_out(m, run.method, memory, room);
  const bool adaptive = is_adaptive(run.method);
  const Tableau &tableau = tableau_of(run.method);
  const int order = run.method == Method::radau ? 4 : tableau.order; // of the error estimate, in its case
  if (!run.started) {
    run.step = adaptive ? first_step(m, run, room, until, order) : run.fixed_step;
    run.old_error = 1e-4;
    run.started = 1;
  }
  Outcome outcome = Outcome::paused;
  for (std::int64_t taken = 0; taken < most_steps;) {
    const double left = until - run.t;
    if (!(left > 0.0)) {
      outcome = Outcome::reached;
      break;
    }
    double h = std::min(run.step, run.max_step);
    const bool last = h * 1.0000001 >= left;
    if (last)
      h = left;
    else if (2.0 * h > left && adaptive)
      h = 0.5 * left; // two equal steps rather than one and a splinter
    if (!last && !(h > 4e-16 * std::max(std::fabs(run.t), 1e-12 * std::fabs(until)))) {
      outcome = Outcome::underflow;
      break;
    }
    double error;
    Outcome step = take_step(m, run, room, h, error);
    if (step == Outcome::host) {
      outcome = step;
      break;
    }
    if (step != Outcome::reached || error > 1.0) {
      ++run.counts.rejected;
      run.worst = error;
      if (room.near && adaptive && run.near_tries < most_near_tries) {
        run.near_step = run.near_tries ? run.near_step : h;
        run.step = run.near_step * near_lengths[run.near_tries++];
        continue;
      }
      run.near_tries += room.near;
      run.rejected_last = 1;
      if (!adaptive) {
        outcome = step;
        break;
      }
      run.step = step != Outcome::reached ? 0.25 * h : h * shrink(error, order);
      if (step != Outcome::reached && run.step < 1e-13 * std::max(std::fabs(until), std::fabs(run.t))) {
        outcome = step;
        break;
      }
      continue;
    }
    ++taken;
    const bool was_noisy = run.near_tries > most_near_tries;
    run.counts.noisy += was_noisy;
    run.near_tries = 0;
    const double t1 = last ? until : run.t + h;
    if (implicit(run, room)) {
      run.step = radau_accept(m, run, room.radau, h, error);
      run.rejected_last = 0;
    } else if (adaptive) {
      if (run.method == Method::radau)
        *room.radau.kept = {};
      run.step = next_length(run.step, h, error, run.old_error, run.rejected_last, order);
      run.rejected_last = 0;
      run.old_error = std::max(error, 1e-4);
      if (was_noisy) // shorter steps would not be better ones
        run.step = std::max(run.step, run.near_step);
    }
    const bool stiff = run.watch && run.method != Method::radau && looks_stiff(m, run, room, tableau, h);
    if (samples.times) {
      const Outcome sampled = sample(m, run, room, h, t1, samples, recorder);
      if (sampled != Outcome::reached) {
        outcome = sampled;
        break;
      }
    }
    move_on(m, run, room, h, t1);
    if (!samples.times && !recorder.record(recorder.self, run.t, room.q, room.v, room.x, room.a)) {
      outcome = Outcome::stopped;
      break;
    }
    if (stiff) {
      outcome = Outcome::stiff;
      break;
    }
  }
  settle(m, run.method, memory, room);
  return outcome;
}

void state(const ModelData &m, const Run &run, std::byte *memory, const double **parts) {
  Room room;
  lay_out(m, run.method, memory, room);
  parts[0] = room.q, parts[1] = room.v, parts[2] = room.x, parts[3] = room.a;
}

Outcome dense(const ModelData &m, Run &run, std::byte *memory, double h, const double *q1, const double *v1, const double *x1,
              const double *fractions, std::ptrdiff_t count, const Recorder &recorder) {
  Room room;
  lay_out(m, run.method, memory, room);
  Outcome outcome = Outcome::reached;
  if (run.method == Method::dop853) { // its stages once more; that they were accurate enough is known
    const double rtol = run.rtol, atol = run.atol;
    run.rtol = run.atol = 1e30;
    double error;
    outcome = take_step(m, run, room, h, error);
    run.rtol = rtol, run.atol = atol;
    if (outcome != Outcome::reached)
      return outcome;
  }
  copy(q1, m.nq, room.q1);
  copy(v1, m.nv, room.v1);
  copy(x1, m.nx, room.x1);
  if (!rates(m, run, room.rates, run.t + h, room.q1, room.v1, room.x1, room.a1, room.dx1))
    return Outcome::host;
  outcome = prepare_dense(m, run, room, h);
  for (std::ptrdiff_t k = 0; k < count && outcome == Outcome::reached; ++k) {
    outcome = interpolate(m, run, room, run.t, h, fractions[k]);
    if (outcome == Outcome::reached)
      recorder.record(recorder.self, run.t + fractions[k] * h, room.qs, room.vs, room.xs, nullptr);
  }
  return outcome;
}

Outcome evaluate(const ModelData &m, Run &run, std::byte *memory, double t, const double *q, const double *v, const double *x,
                 const double *tau, const double *loads, double *a, double *tau_out, double *lambda, double *dx) {
  Room room;
  lay_out(m, run.method, memory, room);
  if (!rates(m, run, room.rates, t, q, v, x, a, dx, tau, loads, tau_out))
    return Outcome::host;
  copy(room.rates.lambda, m.nc, lambda);
  return Outcome::reached;
}

Outcome jacobian(const ModelData &m, Run &run, std::byte *memory, double t, const double *q, const double *v, const double *x, double *by_q,
                 double *by_v) {
  Room room;
  lay_out(m, Method::radau, memory, room);
  if (!rates(m, run, room.rates, t, q, v, x, room.a, room.dx))
    return Outcome::host;
  rates_jacobian(m, run, room.rates, room.radau.jacobian, t, q, v, x, room.a, room.rates.lambda);
  copy(room.radau.jacobian.A_q, m.nv * m.nv, by_q);
  copy(room.radau.jacobian.A_v, m.nv * m.nv, by_v);
  return Outcome::reached;
}

Outcome forces(const ModelData &m, Run &run, std::byte *memory, double t, const double *q, const double *v, const double *x,
               double *tau, double *loads, double *energies) {
  Room room;
  lay_out(m, run.method, memory, room);
  Workspace<double> &ws = room.rates.loops.ws;
  if (m.feedback_count && !rates(m, run, room.rates, t, q, v, x, room.a1, room.rates.unused))
    return Outcome::host;
  if (!consult(run, room.rates, t, q, v, x)) // for laws; what it pushes is not of the elements
    return Outcome::host;
  for (int f = 0; f < m.nv; ++f)
    tau[f] = 0.0;
  for (int k = 0; k < 6 * m.users; ++k)
    loads[k] = 0.0;
  const Surroundings<double> at = surroundings(run, room.rates, t, x, room.rates.unused);
  const ForceEnergy sum = force_energy<W>(m, ws, at, room.duals, q, v);
  energies[0] = sum.stored, energies[1] = sum.lost, energies[2] = sum.brought;
  add_coordinate_forces(m, at, q, v, tau);
  // from the origin of F to that of the user's frame, in world axes; from a node to the frame of its body
  const auto push = [&](int body, const Load<double> &load) {
    if (!body)
      return;
    const BodyData &b = m.bodies[body];
    const Mat3<double> &R = ws.X_W[body].R;
    const Vec3<double> f = mul(R, load.f);
    Vec3<double> n = mul(R, load.n - cross(as_vec(b.p_FB), load.f));
    if (b.kind == Hinge::node)
      n = n + cross(ws.X_W[body].p - ws.X_W[b.parent].p, f);
    double *out = loads + 6 * (b.owner - 1);
    out[0] += n.x, out[1] += n.y, out[2] += n.z, out[3] += f.x, out[4] += f.y, out[5] += f.z;
  };
  for (int k = 0; k < m.force_count; ++k)
    body_force(m, ws, at, m.forces[k], push);
  for_elements(m, ws, at, q, v, [&](const ElementData &e, const Measured<double> *measured, const double *, int, const double *outputs) {
    distribute(m, ws, e, measured, outputs, tau, push);
  });
  return Outcome::reached;
}

std::size_t bytes_lanes(const ModelData &m) {
  LaneRoom<W> room;
  return lay_out(m, nullptr, room);
}

void run_lanes(const ModelData &m, const Run &run, std::byte *memory, double begin, double until, const Samples &samples, LaneTask &task) {
  LaneRoom<W> room;
  lay_out(m, memory, room);
  LaneStepper<W> stepper{m, run, room, task, tableau_of(run.method), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  stepper.go(begin, until, samples);
}

} // namespace

extern const IntegratorSet integrators;
const IntegratorSet integrators{bytes, start, advance, state, dense, evaluate, jacobian, forces, W, bytes_lanes, run_lanes};

} // namespace dalembert::DALEMBERT_ISA
