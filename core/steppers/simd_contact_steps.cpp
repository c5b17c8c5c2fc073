#include "steppers/simd_contact_steps.hpp"
#include "contact/contact_impulses.hpp"
#include "contact/contact_lanes.hpp"
#include "scalar/arena.hpp"
#include "steppers/lane_state.hpp"
#include "steppers/methods/moreau.hpp"
#include "steppers/sample_times.hpp"
#include "steppers/simd_batch.hpp"
#include "system/drives.hpp"
#include "system/dynamics.hpp"
#include "tree/chart.hpp"
#include "tree/forward_dynamics.hpp"
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <utility>

namespace dalembert::DALEMBERT_ISA {

namespace {

using P = Pack;

struct ContactLaneWorkspace {
  SystemWorkspace<P> system;
  P *q, *v, *x;             // state of the runs
  P *q1, *v1, *x1;          // where the step leads
  P *qm, *vm, *a, *dx;      // middle of the step, rates there
  P *before, *free;         // velocities before the step and after it without contacts, in the axes of the middle
  P *z, *none;              // nv
  P *control, *inputs;      // nv, input_count: of the control sequences
  double *parameters;
  ParameterTables<P> own;
  ParameterTables<double> one;
  RunWorkspace runs[W]; // of steps that a run takes by itself
};

std::size_t lay_out(const ModelData &m, std::byte *base, ContactLaneWorkspace &work) {
  Arena arena{base};
  arena.skip(DALEMBERT_ISA::lay_out(m, base, work.system));
  const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv), nx = std::size_t(m.nx);
  for (P **each : {&work.q, &work.q1, &work.qm})
    *each = arena.take<P>(nq);
  for (P **each : {&work.v, &work.v1, &work.vm, &work.a, &work.before, &work.free, &work.z, &work.none, &work.control})
    *each = arena.take<P>(nv);
  for (P **each : {&work.x, &work.x1, &work.dx})
    *each = arena.take<P>(nx);
  work.inputs = arena.take<P>(std::size_t(m.input_count));
  work.parameters = arena.take<double>(std::size_t(W) * std::size_t(m.parameter_count));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), work.own));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), work.one));
  for (RunWorkspace &run : work.runs)
    arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), run));
  return arena.used;
}

// velocities in axes that turn, after a turn by `part` of the angular velocities of `rate`
void turn(const ModelData &m, const P *rate, double part, P *v) {
  for (int k = 1; k <= m.nb; ++k) {
    const BodyData &b = m.bodies[k];
    if (!has_quaternion(b))
      continue;
    const Vec3<P> xi = scale(P(part), as_vec(rate + b.v));
    for (int f = b.v; f < b.v + b.nv; f += 3) {
      const Vec3<P> now = turned(xi, as_vec(v + f));
      v[f] = now.x, v[f + 1] = now.y, v[f + 2] = now.z;
    }
  }
}

class ContactLaneRuns {
public:
  ContactLaneRuns(const ModelData &model, const Run &asked, std::byte *memory, double begin, double until,
                  const Samples &samples, const RunQueue &feed)
      : m(model), run(asked), begin(begin), until(until), samples(samples), feed(feed) {
    lay_out(m, memory, work);
    for (int shape = 0; shape < run.contacts->scene->shape_count(); ++shape)
      if (const int place = run.contacts->scene->place(shape);
          place && std::find(places.begin(), places.end(), place) == places.end())
        places.push_back(place);
  }
  ContactLaneRuns(const ContactLaneRuns &) = delete;

  // runs of the queue, a register full at a time
  void make() {
    while (load()) {
      start();
      while (running && t < until) {
        if (feed.stop())
          return end(running, Outcome::stopped);
        step();
      }
      end(running, Outcome::reached);
    }
  }

private:
  // a run in a lane
  struct Lane {
    ContactSteps contacts;
    Run run;
    ControlSequence sequence;
    LaneContacts found;
  };
  ModelData m;
  Run run;
  const double begin, until;
  const Samples samples;
  const RunQueue feed;
  ContactLaneWorkspace work;
  std::vector<int> places; // bodies with shapes
  SimdRunInput inputs[W];
  Lane lanes[W];
  ContactLanes rows;
  unsigned running = 0;
  bool has_joint_terms = false;
  double t = 0.0;
  std::ptrdiff_t next = 0, row = -1; // sample; interval of the control whose values stand in the workspace
  SmoothInterval interval;
  Counts counts{};

  RunContext context(int lane) { return {m, lanes[lane].run, work.runs[lane], nullptr}; }
  bool on(int lane) const { return running >> lane & 1u; }

  bool load() {
    running = 0;
    const LaneState to{work.q, work.v, work.x, work.parameters, work.own, work.one};
    for (int lane = 0; lane < W && feed.next(feed.self, inputs[lane]); ++lane) {
      running |= 1u << lane;
      to.take(inputs[lane], lane, m, run.conditions);
      for (int other = 1; !lane && other < W; ++other) { // until others come, the first stands in all lanes
        inputs[other] = inputs[0];
        to.take(inputs[0], other, m, run.conditions);
      }
    }
    for (int lane = 0; lane < W; ++lane)
      if (on(lane))
        load_contacts(lane);
    return running;
  }

  void load_contacts(int lane) {
    Lane &own = lanes[lane];
    own.contacts = run.contacts->fresh();
    own.contacts.logs = false;
    find_blocks(m, own.contacts);
    has_joint_terms = own.contacts.has_joint_terms;
    for (std::size_t k = 0; k < own.contacts.free_blocks.size(); ++k)
      if (own.contacts.free_blocks[k].alone)
        set_free_block(m.bodies[own.contacts.block_first[k]], own.contacts.free_blocks[k]);
    own.run = run;
    own.run.contacts = &own.contacts;
    if (run.conditions.sequence) {
      own.sequence = *run.conditions.sequence;
      own.sequence.values = inputs[lane].control;
      own.run.conditions.sequence = &own.sequence;
    }
    if (inputs[lane].parameters)
      own.run.conditions.parameters = inputs[lane].parameters, own.run.conditions.parameter_stride = 0;
  }

  void end(unsigned which, Outcome outcome) {
    for (int lane = 0; lane < W; ++lane)
      if (which & running & 1u << lane) {
        if (outcome != Outcome::stiff)
          feed.touched(feed.self, lanes[lane].contacts);
        feed.ended(feed.self, inputs[lane], outcome, t, counts);
      }
    running &= ~which;
  }

  void start() {
    t = begin, next = 0, row = -1, counts = Counts{};
    interval = SmoothInterval::around(run.discontinuities, begin);
    for (int f = 0; f < m.nv; ++f)
      work.z[f] = work.none[f] = P(0.0);
    for (int lane = 0; lane < W; ++lane) { // attitudes of length one
      double *q = work.runs[lane].q, *made = work.runs[lane].qs;
      for (int k = 0; k < m.nq; ++k)
        q[k] = work.q[k][lane];
      normalize_attitudes(m, q, made);
      for (int k = 0; k < m.nq; ++k)
        work.q[k].set(lane, made[k]);
    }
    impose_drives(m, P(interval.clamp(t)), work.system.callback_laws, work.q, work.v);
    record();
  }

  // ---- one step

  void step() {
    const double goal = std::min(until, interval.end), left = goal - t, wanted = std::min(run.fixed_step, run.max_step);
    const bool last = wanted * 1.0000001 >= left;
    const double t1 = last ? goal : std::min(goal, t + wanted);
    double h = last ? left : wanted;
    if (!last) { // a length that leads to t1, as in single runs
      const double length = (t1 - t > h ? std::nextafter(t1, t) : t1) - t;
      h = length > 0.0 ? length : h;
    }
    move_freely(h);
    end(not_finite(work.free, work.dx), Outcome::stiff);
    const unsigned own = solve_contacts(h);
    finish(h);
    for (int lane = 0; lane < W; ++lane)
      if (on(lane) && (own >> lane & 1u))
        take_own_step(lane, h);
    end(not_finite(work.v1, work.x1), Outcome::stiff);
    ++counts.steps;
    std::swap(work.q, work.q1), std::swap(work.v, work.v1), std::swap(work.x, work.x1);
    t = t1;
    record();
    if (t1 == interval.end && t < until) {
      interval = SmoothInterval::around(run.discontinuities, t);
      impose_drives(m, P(interval.clamp(t)), work.system.callback_laws, work.q, work.v);
    }
  }

  // lanes where 0 is not 0
  unsigned not_finite(const P *v, const P *x) const {
    P zero(0.0);
    for (int f = 0; f < m.nv; ++f)
      zero = zero + 0.0 * v[f];
    for (int k = 0; k < m.nx; ++k)
      zero = zero + 0.0 * x[k];
    unsigned bad = 0;
    for (int lane = 0; lane < W; ++lane)
      bad |= zero[lane] == 0.0 ? 0u : 1u << lane;
    return bad;
  }

  // accelerations that velocities alone cause
  void gyroscopic(P *out) {
    ContactSteps *any = nullptr;
    for (int lane = 0; lane < W && !any; ++lane)
      any = on(lane) ? &lanes[lane].contacts : nullptr;
    if (any->all_free) {
      for (std::size_t k = 0; k < any->free_blocks.size(); ++k) {
        const BodyData &b = m.bodies[any->block_first[k]];
        turn_freely<P>(b, any->free_blocks[k], work.v, out);
      }
      return;
    }
    Workspace<P> &ws = work.system.loops.ws;
    start_forward<P>(m, ws, work.q, work.v);
    ws.A[0] = {zero3<P>(), zero3<P>()}; // without weight
    finish_forward<P>(m, ws, work.none, nullptr, out, nullptr);
  }

  // (1) without contacts
  void move_freely(double h) {
    const double middle = t + 0.5 * h;
    for (int f = 0; f < m.nv; ++f)
      work.z[f] = 0.5 * h * work.v[f];
    integrate<P>(m, work.q, work.z, work.qm);
    std::copy_n(work.v, m.nv, work.before);
    turn(m, work.v, -0.5 * h, work.before);
    gyroscopic(work.vm);
    for (int f = 0; f < m.nv; ++f)
      work.vm[f] = work.v[f] + 0.5 * h * work.vm[f];
    impose_drives(m, P(interval.clamp(middle)), work.system.callback_laws, work.qm, work.vm);
    rates(middle, h);
    for (int f = 0; f < m.nv; ++f)
      work.free[f] = work.before[f] + h * work.a[f];
    for (int k = 1; k <= m.nb; ++k) { // a has the rate of the axes of u, which stay
      const BodyData &b = m.bodies[k];
      if (!has_quaternion(b) || b.nv != 6)
        continue;
      const Vec3<P> rate = cross(as_vec(work.vm + b.v), as_vec(work.vm + b.v + 3));
      P *u = work.free + b.v + 3;
      u[0] = u[0] + h * rate.x, u[1] = u[1] + h * rate.y, u[2] = u[2] + h * rate.z;
    }
  }

  void rates(double time, double h) {
    ++counts.evaluations;
    time = interval.clamp(time);
    SystemState<P> state{P(time), work.qm, work.vm, work.x};
    if (run.conditions.sequence) {
      set_control(time);
      state.control = work.control, state.inputs = work.inputs;
    }
    work.system.joint_terms.h = has_joint_terms ? h : 0.0, work.system.joint_terms.from = work.before;
    solve_accelerations(m, run.conditions, work.system, state, work.a, work.dx);
    work.system.joint_terms.h = 0.0;
  }

  void set_control(double time) {
    const ControlSequence &control = *run.conditions.sequence;
    const std::ptrdiff_t k = control.interval(time);
    if (k == row && !control.linear)
      return;
    row = k;
    for (int lane = 0; lane < W; ++lane)
      set_lane_control(m, ControlValues(control, inputs[lane].control, time), lane, work.control, work.inputs,
                       work.parameters);
  }

  // Impulses of all lanes, in work.free; returns those that have to take this step by themselves.
  unsigned solve_contacts(double h) {
    unsigned own = 0;
    bool any = false;
    place_and_move(m, work.system.loops.ws, work.qm, work.free);
    rows.clear();
    for (int lane = 0; lane < W; ++lane) {
      if (!on(lane))
        continue;
      Lane &one = lanes[lane];
      give(lane);
      one.run.t = t, one.run.interval = interval;
      one.found = find_lane_contacts(context(lane), h);
      if (one.found.own_step) {
        own |= 1u << lane;
        continue;
      }
      if (!one.contacts.rows.empty())
        rows.add(lane, one.contacts, *one.found.points), any = true;
    }
    unsigned solved = 0;
    if (any) {
      rows.respond(m, work.system.loops, run.conditions.velocity_prescribed);
      solved = rows.solve(work.before, work.free, h, closed_lane_gap(context(__builtin_ctz(running))));
    }
    apart = 0;
    for (int lane = 0; lane < W; ++lane) {
      if (!on(lane) || (own >> lane & 1u))
        continue;
      Lane &one = lanes[lane];
      if (!one.contacts.rows.empty() && !(solved >> lane & 1u)) {
        solve_lane_contacts(context(lane), one.found, t, h);
        for (int f = 0; f < m.nv; ++f)
          work.free[f].set(lane, one.contacts.free[std::size_t(f)]);
      }
      keep_impulses(one.contacts, *one.found.points, h);
      if (!lane_overlaps(context(lane), h))
        continue;
      if (solved >> lane & 1u) {
        rows.give(lane);
        for (int f = 0; f < m.nv; ++f) // axes of the end follow from these
          one.contacts.free[std::size_t(f)] = work.free[f][lane];
      }
      if (find_lane_separation(context(lane), h))
        apart |= 1u << lane;
    }
    return own;
  }
  unsigned apart = 0; // lanes with overlaps at the end of the step

  // what the contacts of a lane need of the motion without them
  void give(int lane) {
    const Workspace<P> &ws = work.system.loops.ws;
    ContactSteps &c = lanes[lane].contacts;
    RunWorkspace &to = work.runs[lane];
    Workspace<double> &frames = to.motion.system.loops.ws;
    const std::size_t nv = std::size_t(m.nv);
    c.before.resize(nv), c.free.resize(nv);
    for (std::size_t f = 0; f < nv; ++f)
      c.before[f] = work.before[f][lane], c.free[f] = work.free[f][lane];
    for (int k = 0; k < m.nq; ++k)
      to.qs[k] = work.qm[k][lane];
    if (c.motions.empty()) {
      c.motions.assign(6 * (std::size_t(m.nb) + 1), 0.0);
      start_at_ground(m, frames, false);
    }
    for (const int place : places) {
      const Pose<P> &X = ws.X_W[place];
      const Vec3<P> w = mul(X.R, ws.w[place]), u = mul(X.R, ws.u[place]);
      const P numbers[18] = {X.R.xx, X.R.xy, X.R.xz, X.R.yx, X.R.yy, X.R.yz, X.R.zx, X.R.zy, X.R.zz,
                             X.p.x,  X.p.y,  X.p.z,  w.x,    w.y,    w.z,    u.x,    u.y,    u.z};
      double *pose = reinterpret_cast<double *>(frames.X_W + place), *motion = c.motions.data() + 6 * place;
      for (int k = 0; k < 12; ++k)
        pose[k] = numbers[k][lane];
      for (int k = 0; k < 6; ++k)
        motion[k] = numbers[12 + k][lane];
    }
  }

  // (2)
  void finish(double h) {
    std::copy_n(work.free, m.nv, work.v1);
    turn(m, work.free, -0.5 * h, work.v1);
    for (int f = 0; f < m.nv; ++f)
      work.z[f] = 0.5 * h * work.free[f];
    integrate<P>(m, work.qm, work.z, work.q1);
    for (int k = 0; k < m.nx; ++k)
      work.x1[k] = work.x[k] + h * work.dx[k];
    impose_drives(m, P(interval.clamp(t + h)), work.system.callback_laws, work.q1, work.v1);
    for (int lane = 0; lane < W; ++lane) {
      if (!on(lane) || !(apart >> lane & 1u))
        continue;
      RunWorkspace &to = work.runs[lane];
      for (int k = 0; k < m.nq; ++k)
        to.q1[k] = work.q1[k][lane];
      for (int f = 0; f < m.nv; ++f)
        to.v1[f] = work.v1[f][lane];
      move_lane_apart(context(lane), h, to.q1, to.v1);
      put_end(lane, false);
    }
  }

  void put_end(int lane, bool states) {
    const RunWorkspace &from = work.runs[lane];
    for (int k = 0; k < m.nq; ++k)
      work.q1[k].set(lane, from.q1[k]);
    for (int f = 0; f < m.nv; ++f)
      work.v1[f].set(lane, from.v1[f]);
    for (int k = 0; k < m.nx && states; ++k)
      work.x1[k].set(lane, from.x1[k]);
  }

  void take_own_step(int lane, double h) {
    RunWorkspace &own = work.runs[lane];
    for (int k = 0; k < m.nq; ++k)
      own.q[k] = work.q[k][lane];
    for (int f = 0; f < m.nv; ++f)
      own.v[f] = work.v[f][lane];
    for (int k = 0; k < m.nx; ++k)
      own.x[k] = work.x[k][lane];
    double error = 0.0;
    if (moreau_stepper.step(context(lane), h, error) != Outcome::reached)
      return end(1u << lane, Outcome::stiff);
    put_end(lane, true);
  }

  void record() {
    for (; next < samples.count && is_reached(samples.times[next], t); ++next)
      for (int lane = 0; lane < W; ++lane)
        if (on(lane))
          put(inputs[lane], lane);
  }

  void put(const SimdRunInput &to, int lane) const {
    for (int k = 0; k < m.nq; ++k)
      to.samples_q[next * m.nq + k] = work.q[k][lane];
    for (int f = 0; f < m.nv; ++f)
      to.samples_v[next * m.nv + f] = work.v[f][lane];
    for (int k = 0; k < m.nx; ++k)
      to.samples_x[next * m.nx + k] = work.x[k][lane];
  }
};

} // namespace

bool supports_contact_lanes(const ModelData &m, const Run &run, bool own) {
  const Conditions &c = run.conditions;
  const unsigned char *prescribed = c.velocity_prescribed, *held = c.acceleration_prescribed;
  const bool same = prescribed == held || (prescribed && held && std::equal(held, held + m.nv, prescribed));
  if (!run.contacts || m.nc || own || c.callbacks || c.law_branches || !same)
    return false;
  for (const ContactMaterial &material : run.contacts->scene->materials())
    if (material.rolling > 0.0 || material.spin > 0.0)
      return false;
  return supports_simd_batch(m, run, own);
}

std::size_t contact_lanes_bytes(const ModelData &m) {
  ContactLaneWorkspace work;
  return lay_out(m, nullptr, work);
}

void run_contact_lanes(const ModelData &m, const Run &run, std::byte *memory, double begin, double until,
                       const Samples &samples, const RunQueue &feed) {
  ContactLaneRuns(m, run, memory, begin, until, samples, feed).make();
}

} // namespace dalembert::DALEMBERT_ISA
