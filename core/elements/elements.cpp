#include "elements/elements.hpp"
#include "contact/contact_element.hpp"
#include "elements/built_in_laws.hpp"
#include "elements/implicit_laws.hpp"
#include "elements/program.hpp"
#include "tree/chart.hpp"
#include <algorithm>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

// an input that is set from outside; where it is not a number, the value of its law
template <class T> static T set_input(const T &given, const T &by_law) {
  if constexpr (requires { given[0]; })
    return select(less(given, Pack(std::numeric_limits<double>::infinity())), given, by_law);
  else
    return value_of(given) == value_of(given) ? given : by_law;
}

// a further input of a law
template <class T> static T input_value(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at,
                                        const InputData &input, const T *q, const T *v) {
  switch (input.source) {
  case Source::law: {
    const T by_law = law_at(m, input.place, at.t, at.callback_laws).value;
    return at.inputs ? set_input(at.inputs[input.part], by_law) : by_law;
  }
  case Source::state:
    return at.x[input.place];
  case Source::signal:
    return at.signals[input.place];
  case Source::feedback:
    return at.feedback[input.place];
  case Source::port: {
    const PortData &port = m.ports[input.place];
    Measured<T> measured;
    measure(m, ws, port, q, v, measured, input.part >= 3 && input.part < 6);
    const int n = measures_of(port.measure);
    return input.part < n ? measured.s[input.part] : measured.rate[input.part - n];
  }
  }
  return T(0.0);
}

// What is wanted of an element: forces, rates of states and signals; or what it stores and everything it measures too.
enum class Want { forces, all };

// Collects what a law takes, but for its unknowns; returns how many numbers. measured: one for each port.
template <Want want, class T> static int gather(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at,
                                                const ElementData &e, const T *q, const T *v, Measured<T> *measured,
                                                T *in) {
  int n = 0;
  in[n++] = at.t;
  for (int k = 0; k < e.ports; ++k) {
    const PortData &port = m.ports[e.port + k];
    measure(m, ws, port, q, v, measured[k], want == Want::all || port.turns);
    const int measures = measures_of(port.measure);
    for (int j = 0; j < measures; ++j, ++n) {
      in[n] = measured[k].s[j];
      in[n + e.measures] = measured[k].rate[j];
    }
  }
  n += e.measures;
  for (int k = 0; k < e.states; ++k)
    in[n++] = at.x[e.state + k];
  for (int k = 0; k < e.parameters; ++k)
    in[n++] = parameter(at, e.parameter + k);
  for (int k = 0; k < e.inputs; ++k)
    in[n++] = input_value(m, ws, at, m.inputs[e.input + k], q, v);
  return n;
}

// A function outside, for numbers: its derivatives are differences.
static void call_function(const Functions &functions, int number, const double *in, int, double *out, int) {
  functions.call[number](functions.self[number], in, out);
}
static void call_function(const Functions &functions, int number, const Pack *in, int inputs, Pack *out, int outputs) {
  double one[max_law_inputs], answer[max_law_outputs];
  for (int lane = 0; lane < W; ++lane) {
    for (int k = 0; k < inputs; ++k)
      one[k] = in[k][lane];
    functions.call[number](functions.self[number], one, answer);
    for (int k = 0; k < outputs; ++k)
      out[k].set(lane, answer[k]);
  }
}
template <class T>
static void call_function(const Functions &functions, int number, const T *in, int inputs, T *out, int outputs) {
  double at[max_law_inputs] = {}, below[max_law_outputs], above[max_law_outputs], answer[max_law_outputs];
  for (int k = 0; k < inputs; ++k)
    at[k] = in[k].value;
  functions.call[number](functions.self[number], at, answer);
  for (int k = 0; k < outputs; ++k)
    out[k] = T(answer[k]);
  for (int j = 0; j < inputs; ++j) {
    if (!moves(in[j]))
      continue;
    const double h = 1e-6 * (1.0 + std::fabs(at[j])), kept = at[j];
    at[j] = kept + h;
    functions.call[number](functions.self[number], at, above);
    at[j] = kept - h;
    functions.call[number](functions.self[number], at, below);
    at[j] = kept;
    for (int k = 0; k < outputs; ++k)
      out[k] = out[k] + (in[j] - at[j]) * ((above[k] - below[k]) / (2.0 * h)); // the difference has slopes alone
  }
}

// those of one element
template <class T> static LawBranches<T> branches_of(const EvaluationContext<T> &at, const ElementData &e) {
  LawBranches<T> branches = at.branches;
  if (!e.switching_functions || !branches.held)
    return {};
  branches.held += e.first_switching;
  branches.switching_values = branches.switching_values ? branches.switching_values + e.first_switching : nullptr;
  return branches;
}

// A program where both branches of some switching functions, from number k on, are mixed: the mixture of what it gives
// on each side.
template <class T> static void run_mixed(const ModelData &m, const ProgramData &program, const ElementData &e,
                                         const LawBranches<T> &branches, int k, double *sides, const T *in, T *values,
                                         T *outputs, ProgramPart last) {
  const SwitchingFunctionData *function = m.switching_functions + e.first_switching;
  while (k < e.switching_functions && !is_mixed(function[k], sides[k]))
    ++k;
  LawBranches<T> mine{sides, 0, branches.switching_values};
  if (k == e.switching_functions)
    return run_program(m, m.programs, program, in, values, outputs, mine, last);
  T other[max_law_outputs];
  const double part = 0.5 * (1.0 + sides[k]), kept = sides[k];
  sides[k] = -1.0;
  run_mixed(m, program, e, branches, k + 1, sides, in, values, outputs, last);
  sides[k] = 1.0;
  run_mixed(m, program, e, branches, k + 1, sides, in, values, other, last);
  sides[k] = kept;
  for (int j = 0; j < program.outputs; ++j)
    outputs[j] = (1.0 - part) * outputs[j] + part * other[j];
}

// a law that is a program, on the branches that are held
template <class T> static void run_law(const ModelData &m, const EvaluationContext<T> &at, const ElementData &e,
                                       const T *in, T *outputs, ProgramPart last) {
  const ProgramData &program = m.programs.programs[e.law];
  const LawBranches<T> branches = branches_of(at, e);
  if constexpr (!std::is_same_v<T, Pack>) { // packs have no mixtures
    bool mixed = false;
    for (int k = 0; branches.held && k < e.switching_functions; ++k)
      mixed |= is_mixed(m.switching_functions[e.first_switching + k], branches.held[k]);
    if (mixed && e.switching_functions <= max_mixed) {
      double sides[max_mixed];
      std::copy_n(branches.held, e.switching_functions, sides);
      return run_mixed(m, program, e, branches, 0, sides, in, at.values, outputs, last);
    }
  }
  run_program(m, m.programs, program, in, at.values, outputs, branches, last);
}

// the law of an element, for n inputs; its unknowns follow them
template <Want want = Want::all, class T>
static void answer(const ModelData &m, const EvaluationContext<T> &at, const ElementData &e, T *in, int n, T *outputs) {
  constexpr ProgramPart last = want == Want::all ? ProgramPart::stored : ProgramPart::results;
  switch (e.form) {
  case LawForm::program:
    if (e.unknowns)
      return solve_law(m, e, in, n, at.values, at.numbers, outputs, last);
    return run_law(m, at, e, in, outputs, last);
  case LawForm::function:
    return call_function(*at.functions, e.law, in, n, outputs, e.measures + e.states + 1 + e.signals);
  case LawForm::linear:
  case LawForm::limits: {
    const Answer<T> given = e.form == LawForm::linear ? linear_law(in) : limits_law(in, branches_of(at, e));
    outputs[0] = given.force, outputs[1] = given.energy;
    return;
  }
  case LawForm::dry_friction:
    friction_law(in, e.measures, e.inputs > 0, outputs);
    outputs[e.measures] = T(0.0);
    return;
  case LawForm::bushing:
    return bushing_law(in, unsigned(e.law), outputs);
  case LawForm::contact: // evaluate_contact, which needs more than its inputs
    return;
  case LawForm::inputs:
    for (int k = 0; k < e.measures; ++k)
      outputs[k] = in[1 + 2 * e.measures + k];
    outputs[e.measures] = T(0.0);
    return;
  }
}

// stores what other elements may take of an element: the rates of its states, its signals
template <class T> DALEMBERT_INLINE void keep(const EvaluationContext<T> &at, const ElementData &e, const T *outputs) {
  for (int k = 0; at.dx && k < e.states; ++k)
    at.dx[e.state + k] = outputs[e.measures + k];
  for (int k = 0; k < e.signals; ++k)
    at.signals[e.signal + k] = outputs[e.measures + e.states + 1 + k];
}

// ---- actuators: at a joint they deliver together no more than its bound, each in proportion to its demand

// demands of a control
template <class T> static void start_sums(const ModelData &m, const EvaluationContext<T> &at) {
  for (int k = 0; k < m.actuator_count; ++k) {
    const int dof = m.ports[m.actuators[k].port].dof;
    at.requested_effort[k] = at.control && dof >= 0 ? at.control[dof] : T(0.0);
  }
}

// calls act(actuator, output) for what an element gives at bounded joints
template <class T, class Act>
static inline void for_actuators(const ModelData &m, const ElementData &e, T *outputs, Act &&act) {
  for (int k = 0; k < e.ports; ++k, outputs += measures_of(m.ports[e.port + k - 1].measure))
    if (const int number = m.ports[e.port + k].actuator; number)
      act(number - 1, *outputs);
}

template <class T> static T within(const T &x, double bound) { return -larger(T(-bound), -larger(T(-bound), x)); }

double delivered_fraction(const ActuatorData &actuator, double requested) {
  const double size = std::fabs(requested);
  return size > actuator.bound ? actuator.bound / size : 1.0;
}

// A contact; false: it is idle, and its forces and the rates of its states are zero.
template <class T> static inline bool evaluate_pair(const ModelData &m, Workspace<T> &ws,
                                                    const EvaluationContext<T> &at, const ElementData &e, const T *q,
                                                    const T *v, Measured<T> *measured, T *outputs) {
  const LawBranches<T> branches = branches_of(at, e);
  const bool acts = evaluate_contact(m, ws, at, e, q, v, *measured, outputs, branches.switching_values);
  for (int k = 0; !acts && k < e.measures + e.states + 1; ++k)
    outputs[k] = T(0.0);
  return acts;
}

// one element: measures, law; returns the number of inputs
template <Want want, class T>
static inline int evaluate(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at, const ElementData &e,
                           const T *q, const T *v, Measured<T> *measured, T *in, T *outputs) {
  const int n = gather<want>(m, ws, at, e, q, v, measured, in);
  if (e.form == LawForm::contact)
    evaluate_pair(m, ws, at, e, q, v, measured, outputs);
  else
    answer<want>(m, at, e, in, n, outputs);
  keep(at, e, outputs);
  return n;
}

// calls act(element, measured, inputs, their number, outputs) for one element after the other, but for those that
// `done` has evaluated
template <Want want, class T, class Act, class Done>
static inline void for_elements(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at, const T *q,
                                const T *v, bool report, Act &&act, Done &&done) {
  for (int k = 0; k < m.element_count; ++k) {
    const ElementData &e = m.elements[k];
    if ((e.report_only && !report) || done(e))
      continue;
    Measured<T> measured[max_ports];
    T in[max_law_inputs], outputs[max_law_outputs];
    if (want == Want::forces && e.form == LawForm::contact) {
      const bool acts = evaluate_pair(m, ws, at, e, q, v, measured, outputs);
      keep(at, e, outputs);
      if (acts)
        act(e, measured, in, 0, outputs);
      continue;
    }
    const int n = evaluate<want>(m, ws, at, e, q, v, measured, in, outputs);
    act(e, measured, in, n, outputs);
  }
}
template <Want want, class T, class Act> static inline void for_elements(const ModelData &m, Workspace<T> &ws,
                                                                         const EvaluationContext<T> &at, const T *q,
                                                                         const T *v, bool report, Act &&act) {
  for_elements<want>(m, ws, at, q, v, report, act, [](const ElementData &) { return false; });
}

// an effort at a joint, of a tree or cut
template <class T, class ApplyForce>
static inline void add_effort(const ModelData &m, const Workspace<T> &ws, const PortData &port,
                              const Measured<T> &measured, const T &effort, T *tau, T *cut, ApplyForce &&apply_force) {
  if (port.constraint < 0) {
    tau[port.dof] = tau[port.dof] + effort;
    return;
  }
  const LoopConstraintData &constraint = m.loop_constraints[port.constraint];
  const Motion<T> &unit = measured.effort;
  table_entry<T>(m, constraint, [&](const auto &numbers) {
    const Vec3<T> p_B = lift<T>(as_vec(numbers.p_FB));
    apply_force_pair(ws, constraint.body_a, constraint.body_b, p_B, point_in_world(ws, constraint.body_b, p_B),
                     scale(effort, unit.w), scale(effort, unit.v), apply_force);
  });
  if (cut)
    cut[constraint.v + port.part] = cut[constraint.v + port.part] + effort;
}

// an element's forces: efforts at joints added to tau and cut, loads on bodies handed to push(body, load in F)
template <class T, class ApplyForce>
static inline void distribute(const ModelData &m, const Workspace<T> &ws, const ElementData &e,
                              const Measured<T> *measured, const T *outputs, T *tau, T *cut, ApplyForce &&apply_force) {
  for (int k = 0; k < e.ports; ++k, outputs += measures_of(m.ports[e.port + k - 1].measure)) {
    const PortData &port = m.ports[e.port + k];
    if (port.measure == Measure::joint) {
      add_effort(m, ws, port, measured[k], *outputs, tau, cut, apply_force);
      continue;
    }
    const Load<T> load = port_load(port, measured[k], outputs);
    table_entry<T>(m, port, [&](const auto &numbers) {
      apply_force_pair(ws, port.body_a, port.body_b, lift<T>(as_vec(numbers.p_FB)), measured[k].point, load.n, load.f,
                       apply_force);
    });
  }
}

// ---- springs, dampers and dry friction of one velocity of a tree, without the arrays that other laws need

static DALEMBERT_INLINE bool acts_along_joint(const ModelData &m, const ElementData &e) {
  return (e.form == LawForm::dry_friction || e.form == LawForm::linear) && e.ports == 1 && !e.inputs && !e.states &&
         !e.signals && m.ports[e.port].measure == Measure::joint && m.ports[e.port].constraint < 0;
}

template <class T> static DALEMBERT_INLINE T joint_effort(const EvaluationContext<T> &at, const ElementData &e,
                                                          const PortData &port, const T *q, const T *v) {
  const auto number = [&](int k) { return parameter(at, e.parameter + k); };
  if (e.form == LawForm::dry_friction) // friction, mode, coefficient of a load, slip
    return dry_one(number(0), v[port.dof], number(1), number(3));
  const T in[6] = {at.t, port.coordinate >= 0 ? q[port.coordinate] : T(0.0), v[port.dof], number(0), number(1),
                   number(2)};
  return linear_law(in).force;
}

// ---- slopes of elements along one coordinate of a tree: EvaluationContext::joint_slopes

bool acts_on_one_joint(const ModelData &m, const ElementData &e) {
  return e.ports == 1 && e.form != LawForm::dry_friction && e.form != LawForm::contact && e.form != LawForm::inputs &&
         m.ports[e.port].measure == Measure::joint && m.ports[e.port].constraint < 0;
}

namespace {

constexpr double slope_step = 1e-6; // of 1 plus the measure, or its rate

template <class T> void add_slopes(const ModelData &m, const EvaluationContext<T> &at, const ElementData &e,
                                   const T &damping, const T &stiffness) {
  const int dof = m.ports[e.port].dof, nv = m.nv;
  for (int first = 0; first < (e.bounded ? 4 : 2) * nv; first += 2 * nv) {
    T &c = at.joint_slopes[first + dof], &k = at.joint_slopes[first + nv + dof];
    c = c + larger(T(0.0), damping), k = k + larger(T(0.0), stiffness);
  }
}

// An element with its slopes, from n inputs of its law: by dual numbers.
[[maybe_unused]] void answer_with_slopes(const ModelData &m, const EvaluationContext<double> &at, const ElementData &e,
                                         double *in, int n, double *outputs) {
  if (at.branches.switching_values) // they are left there
    answer<Want::forces>(m, at, e, in, n, outputs);
  EvaluationContext<Dual> own{Dual(at.t), at.parameters, at.callback_laws};
  own.values = at.duals, own.numbers = at.numbers, own.functions = at.functions;
  own.branches.held = at.branches.held;
  Dual with_slopes[max_law_inputs], answers[max_law_outputs];
  for (int k = 0; k < n; ++k)
    with_slopes[k] = Dual(in[k]);
  with_slopes[1].slope.set(0, 1.0), with_slopes[2].slope.set(1, 1.0);
  answer<Want::forces>(m, own, e, with_slopes, n, answers);
  for (int k = 0; k < 1 + e.states; ++k)
    outputs[k] = answers[k].value;
  for (int k = 2 + e.states; k < 2 + e.states + e.signals; ++k)
    outputs[k] = answers[k].value;
  add_slopes(m, at, e, -answers[0].slope[1], -answers[0].slope[0]);
}

// The same by differences. States of elements stay as they are.
template <class T> void answer_with_slopes(const ModelData &m, const EvaluationContext<T> &at, const ElementData &e,
                                           T *in, int n, T *outputs) {
  answer<Want::forces>(m, at, e, in, n, outputs);
  EvaluationContext<T> own = at;
  own.branches.switching_values = nullptr;
  T changed[max_law_inputs], others[max_law_outputs], slopes[2];
  std::copy_n(in, n, changed);
  for (int k = 0; k < 2; ++k) {
    const T &x = in[1 + k], step = slope_step * (1.0 + absolute(x));
    changed[1 + k] = x + step;
    answer<Want::forces>(m, own, e, changed, n, others);
    slopes[k] = (outputs[0] - others[0]) / step;
    changed[1 + k] = x;
  }
  add_slopes(m, at, e, slopes[1], slopes[0]);
}

// an actuator at its bound gives no more
template <class T> void take_back_slopes(const ModelData &m, const EvaluationContext<T> &at) {
  for (int k = 0; k < m.actuator_count; ++k) {
    const PortData &port = m.ports[m.actuators[k].port];
    if (port.constraint >= 0)
      continue;
    const T zero(0.0);
    const auto bounded = less(T(m.actuators[k].bound), absolute(at.requested_effort[k]));
    for (int kind = 0; kind < 2; ++kind) {
      T &all = at.joint_slopes[kind * m.nv + port.dof];
      all = all - select(bounded, at.joint_slopes[(2 + kind) * m.nv + port.dof], zero);
    }
  }
}

} // namespace

template <class T> void apply_elements(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at, const T *q,
                                       const T *v, T *tau, T *cut) {
  if (at.joint_slopes)
    for (int f = 0; f < 4 * m.nv; ++f)
      at.joint_slopes[f] = T(0.0);
  const auto apply_force = [&](int body, const Load<T> &load) { // never ground
    ws.p_A[body].n -= load.n;
    ws.p_A[body].f -= load.f;
  };
  start_sums(m, at);
  const auto request = [&](const ElementData &e, T *outputs) {
    if (e.bounded)
      for_actuators(m, e, outputs,
                    [&](int k, const T &output) { at.requested_effort[k] = at.requested_effort[k] + output; });
  };
  for_elements<Want::forces>(
      m, ws, at, q, v, false,
      [&](const ElementData &e, const Measured<T> *measured, const T *, int, T *outputs) {
        distribute(m, ws, e, measured, outputs, tau, cut, apply_force);
        request(e, outputs);
      },
      [&](const ElementData &e) {
        if (!acts_along_joint(m, e)) {
          if (!at.joint_slopes || !acts_on_one_joint(m, e))
            return false;
          Measured<T> measured[1];
          T in[max_law_inputs], outputs[max_law_outputs];
          const int n = gather<Want::forces>(m, ws, at, e, q, v, measured, in);
          answer_with_slopes(m, at, e, in, n, outputs);
          keep(at, e, outputs);
          distribute(m, ws, e, measured, outputs, tau, cut, apply_force);
          request(e, outputs);
          return true;
        }
        const PortData &port = m.ports[e.port];
        T effort = joint_effort(at, e, port, q, v);
        tau[port.dof] = tau[port.dof] + effort;
        request(e, &effort);
        if (at.joint_slopes && e.form == LawForm::linear)
          add_slopes(m, at, e, parameter(at, e.parameter + 1), parameter(at, e.parameter));
        return true;
      });
  if (at.joint_slopes)
    take_back_slopes(m, at);
  for (int k = 0; k < m.actuator_count; ++k) { // what is beyond the bound is taken back
    const PortData &port = m.ports[m.actuators[k].port];
    const T beyond = within(at.requested_effort[k], m.actuators[k].bound) - at.requested_effort[k];
    Measured<T> measured{};
    if (port.constraint >= 0)
      measure(m, ws, port, q, v, measured, false);
    add_effort(m, ws, port, measured, beyond, tau, cut, apply_force);
  }
}

template <class T> void gather_watched(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at,
                                       const unsigned char *active, const T *q, const T *v, T *y) {
  const MonitoredElementData *next = m.monitored, *last = m.monitored + m.monitored_count;
  for (int k = 0; k < m.element_count && next != last; ++k) {
    const ElementData &e = m.elements[k];
    const bool monitored = next->element == k;
    const MonitoredElementData *mine = monitored ? next++ : nullptr;
    if ((!monitored || (active && !active[mine - m.monitored])) && (!e.signals || e.report_only))
      continue;
    if (e.form == LawForm::contact) {
      contact_pose(m, ws, m.ports[e.port], q, v, y + mine->first);
      continue;
    }
    Measured<T> measured[max_ports];
    T in[max_law_inputs], outputs[max_law_outputs];
    const int n = gather<Want::forces>(m, ws, at, e, q, v, measured, in);
    if (monitored)
      std::copy_n(in, n, y + mine->first);
    if (!e.signals)
      continue;
    answer<Want::forces>(m, at, e, in, n, outputs);
    keep(at, e, outputs);
  }
}

void release_bristles(const ModelData &m, Workspace<double> &ws, const double *q, const double *v, double *x) {
  bool placed = false;
  for (int k = 0; m.contact_pair_count && k < m.element_count; ++k) {
    const ElementData &e = m.elements[k];
    double *z = x + e.state;
    if (e.form != LawForm::contact || std::all_of(z, z + e.states, [](double each) { return each == 0.0; }))
      continue;
    if (!placed)
      place_and_move(m, ws, q, v);
    placed = true;
    const PortData &port = m.ports[e.port];
    const ContactPairData &pair = m.contact_pairs[e.law];
    PairPoint points[max_pair_points];
    int count = 0;
    if (!(ball_gap(ws, port, pair, 0) > 0.0)) {
      Measured<double> now;
      measure(m, ws, port, q, v, now, false);
      count = contact_element::find_points(m, pair, contact_motion(ws, port, now).X, points);
    }
    const int width = pair.planar ? 2 : 3;
    for (int slot = 0; slot < pair.slots; ++slot)
      if (std::none_of(points, points + count, [&](const PairPoint &point) { return point.slot == slot; }))
        std::fill_n(z + width * slot, width, 0.0);
  }
}

int find_acting_states(const ModelData &m, const Workspace<double> &ws, std::int32_t *places) {
  int count = 0, next = 0;
  const auto add_until = [&](int end) {
    for (; next < end; ++next)
      places[count++] = next;
  };
  for (int k = 0; m.contact_pair_count && k < m.element_count; ++k) {
    const ElementData &e = m.elements[k];
    if (e.form != LawForm::contact || !e.states || !(ball_gap(ws, m.ports[e.port], m.contact_pairs[e.law], 0) > 0.0))
      continue;
    add_until(e.state);
    next = std::max(next, e.state + e.states); // states stand in the order of their elements
  }
  add_until(m.nx);
  return count;
}

template <class T> void evaluate_element(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at,
                                         int element, const T *q, const T *v, Load<T> *ends) {
  const ElementData &e = m.elements[element];
  Measured<T> measured[max_ports];
  T in[max_law_inputs], out[max_law_outputs];
  evaluate<Want::forces>(m, ws, at, e, q, v, measured, in, out);
  if (e.bounded) // as if no other acted there
    for_actuators(m, e, out, [&](int k, T &output) { output = within(output, m.actuators[k].bound); });
  const T *outputs = out;
  for (int k = 0; k < e.ports; ++k, outputs += measures_of(m.ports[e.port + k - 1].measure)) {
    const PortData &port = m.ports[e.port + k];
    if (port.measure == Measure::joint && port.constraint < 0)
      ends[k].f.x = *outputs;
    else
      ends[k] = port_load(port, measured[k], outputs);
  }
}

// ---- energy

// rates of what is measured; that of a rotation vector is phi' = w - 1/2 phi x w + c phi x (phi x w), as in
// tree/chart.hpp
static void copy_rates(Measure kind, const Measured<double> &now, double *slopes) {
  for (int i = 0; i < measures_of(kind); ++i)
    slopes[i] = now.rate[i];
  if (kind != Measure::pose)
    return;
  const Vec3<double> phi{now.s[3], now.s[4], now.s[5]}, w{now.rate[3], now.rate[4], now.rate[5]}, once = cross(phi, w);
  const Vec3<double> rate = w - scale(0.5, once) + scale(turn_series(dot(phi, phi)).c, cross(phi, once));
  slopes[3] = rate.x, slopes[4] = rate.y, slopes[5] = rate.z;
}

// E' along the motion, by dual numbers; E is a function of time, measures and states, not of rates
static double energy_rate(const ModelData &m, const EvaluationContext<double> &at, Dual *values, const ElementData &e,
                          const Measured<double> *measured, const double *in, int n, const double *outputs,
                          const Workspace<double> &ws) {
  if (e.form == LawForm::contact) {
    BearingPoint<double> bearing[max_pair_points];
    double unused[7 + 3 * max_pair_points], gap;
    int count;
    return contact_forces(m, e, contact_numbers(at, e), contact_motion(ws, m.ports[e.port], *measured), at.x + e.state,
                          unused, bearing, count, gap);
  }
  if (e.form == LawForm::linear)
    return linear_law(in).rate;
  if (e.form == LawForm::limits)
    return limits_law(in).rate;
  if (e.form == LawForm::inputs || e.form == LawForm::dry_friction)
    return 0.0;
  Dual moving[max_law_inputs], answers[max_law_outputs];
  for (int k = 0; k < n; ++k)
    moving[k] = Dual(in[k]);
  moving[0].slope.set(0, 1.0);
  for (int k = 0, place = 1; k < e.ports; ++k) {
    const Measure kind = m.ports[e.port + k].measure;
    double slopes[6];
    copy_rates(kind, measured[k], slopes);
    for (int j = 0; j < measures_of(kind); ++j)
      moving[place++].slope.set(0, slopes[j]);
  }
  for (int k = 0; k < e.states; ++k)
    moving[1 + 2 * e.measures + k].slope.set(0, outputs[e.measures + k]);
  EvaluationContext<Dual> then{Dual(at.t), at.parameters, at.callback_laws};
  then.values = values;
  then.numbers = at.numbers;
  then.functions = at.functions;
  answer(m, then, e, moving, n, answers);
  return answers[e.measures + e.states].slope[0];
}

static void record_energy(const ModelData &m, const EvaluationContext<double> &at, Dual *values, const ElementData &e,
                          const Measured<double> *measured, const double *in, int n, const double *outputs,
                          const Workspace<double> &ws, const ElementRecords &records) {
  const std::ptrdiff_t number = &e - m.elements;
  // that goes into the element, and is not got back
  double power = energy_rate(m, at, values, e, measured, in, n, outputs, ws);
  for (int k = 0; k < e.measures; ++k)
    power += outputs[k] * in[1 + e.measures + k];
  records.energies[number] = outputs[e.measures + e.states];
  records.losses[number] = e.active ? 0.0 : -power;
  records.gains[number] = e.active ? power : 0.0;
}

// ---- records

// a load on a place of the list, to the origin of the frame of the user's body that it belongs to, world axes
static void add_user_load(const ModelData &m, const Workspace<double> &ws, int body, const Load<double> &load,
                          double *loads) {
  const BodyData &b = m.bodies[body];
  const Mat3<double> &R = ws.X_W[body].R;
  const Vec3<double> f = mul(R, load.f);
  Vec3<double> n = mul(R, load.n - cross(as_vec(b.p_FB), load.f));
  if (b.form == JointForm::node)
    n = n + cross(ws.X_W[body].p - ws.X_W[b.parent].p, f);
  double *out = loads + 6 * (b.owner - 1);
  out[0] += n.x, out[1] += n.y, out[2] += n.z, out[3] += f.x, out[4] += f.y, out[5] += f.z;
}

static void record_ends(const ModelData &m, const ElementData &e, const Measured<double> *measured,
                        const double *outputs, double *ends) {
  for (int k = 0; k < e.ports; ++k, outputs += measures_of(m.ports[e.port + k - 1].measure)) {
    const PortData &port = m.ports[e.port + k];
    double *to = ends + 6 * (e.port + k);
    if (port.measure == Measure::joint)
      continue;
    const Load<double> load = port_load(port, measured[k], outputs);
    to[0] = load.n.x, to[1] = load.n.y, to[2] = load.n.z, to[3] = load.f.x, to[4] = load.f.y, to[5] = load.f.z;
  }
}

void record_elements(const ModelData &m, Workspace<double> &ws, const EvaluationContext<double> &at, Dual *duals,
                     const double *q, const double *v, double *tau, double *cut, const ElementRecords &records) {
  for (int f = 0; f < m.nv; ++f)
    tau[f] = 0.0;
  for (int f = 0; f < m.cut_nv; ++f)
    cut[f] = 0.0;
  for (int k = 0; records.loads && k < 6 * m.users; ++k)
    records.loads[k] = 0.0;
  for (int k = 0; records.port_loads && k < 6 * m.port_count; ++k) // at joints, and of sensors, there is none
    records.port_loads[k] = 0.0;
  const auto apply_force = [&](int body, const Load<double> &load) {
    if (records.loads)
      add_user_load(m, ws, body, load, records.loads);
  };
  start_sums(m, at);
  if (m.actuator_count)
    for_elements<Want::forces>(
        m, ws, at, q, v, false,
        [&](const ElementData &e, const Measured<double> *, const double *, int, double *outputs) {
          for_actuators(m, e, outputs, [&](int k, double output) { at.requested_effort[k] += output; });
        });
  for_elements<Want::all>(
      m, ws, at, q, v, true,
      [&](const ElementData &e, const Measured<double> *measured, const double *in, int n, double *outputs) {
        if (e.bounded)
          for_actuators(m, e, outputs, [&](int k, double &output) {
            output *= delivered_fraction(m.actuators[k], at.requested_effort[k]);
          });
        distribute(m, ws, e, measured, outputs, tau, cut, apply_force);
        for (int k = 0; k < e.measures; ++k) {
          if (records.measures)
            records.measures[e.measured + k] = in[1 + k];
          if (records.rates)
            records.rates[e.measured + k] = in[1 + e.measures + k];
          if (records.forces)
            records.forces[e.measured + k] = outputs[k];
        }
        for (int k = 0; records.law_inputs && k < e.inputs; ++k)
          records.law_inputs[e.input + k] = in[n - e.inputs + k];
        if (records.port_loads)
          record_ends(m, e, measured, outputs, records.port_loads);
        if (records.energies)
          record_energy(m, at, duals, e, measured, in, n, outputs, ws, records);
      });
}

template void apply_elements(const ModelData &, Workspace<double> &, const EvaluationContext<double> &, const double *,
                             const double *, double *, double *);
template void apply_elements(const ModelData &, Workspace<Pack> &, const EvaluationContext<Pack> &, const Pack *,
                             const Pack *, Pack *, Pack *);
template void apply_elements(const ModelData &, Workspace<Dual> &, const EvaluationContext<Dual> &, const Dual *,
                             const Dual *, Dual *, Dual *);
template void apply_elements(const ModelData &, Workspace<Traced> &, const EvaluationContext<Traced> &, const Traced *,
                             const Traced *, Traced *, Traced *);
template void gather_watched(const ModelData &, Workspace<double> &, const EvaluationContext<double> &,
                             const unsigned char *, const double *, const double *, double *);
template void gather_watched(const ModelData &, Workspace<Pack> &, const EvaluationContext<Pack> &,
                             const unsigned char *, const Pack *, const Pack *, Pack *);
template void evaluate_element(const ModelData &, Workspace<Dual> &, const EvaluationContext<Dual> &, int, const Dual *,
                               const Dual *, Load<Dual> *);

} // namespace dalembert::DALEMBERT_ISA
