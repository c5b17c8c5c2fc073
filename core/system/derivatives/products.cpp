#include "system/derivatives/products.hpp"
#include "elements/elements.hpp"
#include "model/parameter_maps.hpp"
#include "system/derivatives/parts.hpp"
#include "system/drives.hpp"
#include "tree/inverse_dynamics.hpp"
#include "tree/kinematics.hpp"
#include "tree/manifold.hpp"
#include "tree/outputs.hpp"
#include <algorithm>
#include <cstring>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, ProductWorkspace &work) {
  Arena arena{base};
  work.memory = base;
  arena.skip(lay_out(m, base, work.traced));
  work.q = arena.take<Traced>(std::size_t(m.nq));
  for (Traced **each : {&work.v, &work.a})
    *each = arena.take<Traced>(std::size_t(m.nv));
  for (Traced **each : {&work.x, &work.dx})
    *each = arena.take<Traced>(std::size_t(m.nx));
  for (Traced **each : {&work.lambda, &work.seconds})
    *each = arena.take<Traced>(std::size_t(m.nc));
  for (Traced **each : {&work.inputs, &work.settings})
    *each = arena.take<Traced>(std::size_t(m.input_count));
  work.parameters = arena.take<Traced>(std::size_t(m.parameter_count));
  work.body_loads = arena.take<Traced>(6 * std::size_t(m.users));
  work.bytes = arena.used;
  work.own = arena.take<Traced>(std::size_t(m.parameter_maps.count));
  work.loads = arena.take<Traced>(6 * std::size_t(connection_count(m)));
  arena.skip(lay_out(m, arena.here(), work.numbers));
  return arena.used;
}

// whether (1) knows all that is wanted
static bool can_record(const ModelData &m, const Conditions &c, const Products &out) {
  if (m.feedback_count)
    return false;
  for (int kind = 0; kind < direction_kinds; ++kind) {
    const Direction direction = static_cast<Direction>(kind);
    if (out.of[kind] && (needs_differences(m, c, direction) || host_varies(c, direction)))
      return false;
  }
  return true;
}

namespace {

// products by mapped parameters
void add_mapped(const ModelData &m, const ProductWorkspace &work, const ProductTape &recorded, double *by_parameter) {
  for (const ProductTape::Entry &entry : recorded.entries)
    if (entry.number >= m.parameter_count)
      by_parameter[entry.direction] += entry.factor * recorded.bar[work.own[entry.number - m.parameter_count].place];
}

struct Product {
  const ModelData &m;
  const Conditions &c;
  MotionWorkspace &motion;
  DerivativesWorkspace &derivatives;
  ProductWorkspace &work;
  ProductTape &recorded;
  const SystemState<double> &s;
  const Products &out;
  ModelData varied; // with tables on the tape, where parameters are wanted

  double *wanted(Direction direction) const { return out.of[int(direction)]; }
  bool tables_vary() const { return recorded.tables_vary; }

  void find_active() {
    const int width = m.parameter_count + m.parameter_maps.count;
    const ParameterDirections &along = derivatives.along;
    recorded.entries.clear();
    recorded.active.assign(std::size_t(width), 0);
    recorded.tables_vary = false;
    for (int d = 0; wanted(Direction::parameter) && d < along.count; ++d)
      for (int k = 0; k < width; ++k)
        if (const double factor = along.rows[std::ptrdiff_t(d) * width + k]; factor != 0.0) {
          recorded.entries.push_back({d, k, factor});
          recorded.active[std::size_t(k)] = 1;
          recorded.tables_vary = recorded.tables_vary || k >= m.parameter_count;
        }
  }

  // tables and what they are made from, for all states
  void record_tables() {
    if (recorded.tables_end)
      return recorded.tape.cut(recorded.tables_end);
    recorded.tape.clear();
    find_active();
    if (tables_vary()) {
      for (int k = 0; k < m.parameter_maps.count; ++k)
        work.own[k] = put(m.parameter_maps.values[k], recorded.active[std::size_t(m.parameter_count + k)]);
      start_numbers(m, work.numbers);
      apply_parameter_maps(m, work.own, work.numbers);
    }
    recorded.tables_end = recorded.tape.size();
    recorded.bar.assign(recorded.tables_end, 0.0);
  }
  // the numbers of the tables keep what rows before have left there, where sums are wanted
  void clear_bar() {
    recorded.bar.resize(recorded.tape.size());
    std::fill(recorded.bar.begin() + (recorded.sums ? recorded.tables_end : 0), recorded.bar.end(), 0.0);
  }

  static Traced put(double value, bool varies) { return varies ? independent(value) : Traced(value); }

  // the state, as `hold_state` has left it; accelerations and multipliers vary by themselves, or not
  void record_state(bool motion_varies) {
    const auto copy = [](const Dual *from, int count, Traced *to, bool varies = false) {
      for (int k = 0; k < count; ++k)
        to[k] = put(from[k].value, varies);
    };
    copy(derivatives.q, m.nq, work.q, wanted(Direction::position));
    copy(derivatives.v, m.nv, work.v, wanted(Direction::velocity));
    copy(derivatives.x, m.nx, work.x, wanted(Direction::state));
    for (int k = 0; k < m.parameter_count; ++k)
      work.parameters[k] = put(derivatives.parameters[k].value, recorded.active[std::size_t(k)]);
    copy(derivatives.a, m.nv, work.a, motion_varies);
    copy(derivatives.lambda, m.nc, work.lambda, motion_varies);
    copy(derivatives.settings, m.input_count, work.settings);
    copy(derivatives.body_loads, 6 * m.users, work.body_loads);
    copy(derivatives.duals.control, m.nv, work.traced.control);
    std::memcpy(work.traced.callback_laws, derivatives.duals.callback_laws,
                3 * std::size_t(m.callback_law_count) * sizeof(double));
  }

  // inputs that vary by themselves, beside what their laws do
  std::vector<Tape::Place> record_inputs(const ModelData &model) {
    std::vector<Tape::Place> places(std::size_t(m.input_count), 0);
    const double *set = s.inputs ? s.inputs : c.sequence ? motion.system.inputs : nullptr;
    for (int k = 0; k < m.element_count; ++k)
      for (int i = m.elements[k].input; i < m.elements[k].input + m.elements[k].inputs; ++i) {
        if (m.inputs[i].source != Source::law)
          continue;
        const int part = m.inputs[i].part;
        const Traced more = independent(0.0);
        places[std::size_t(part)] = more.place;
        work.inputs[part] = set && set[part] == set[part]
                                ? more + set[part]
                                : more + law_at(model, m.inputs[i].place, Traced(s.t), work.traced.callback_laws).value;
      }
    return places;
  }

  // u and l of (1) and (2), in the first lane of the columns; w_lambda may be null
  void solve_row(const double *w_a, const double *w_lambda) {
    const Factored factored = m.nc ? factored_last(motion.system.loops) : Factored{Envelope::none, 0, 0, 0};
    for (int f = 0; f < m.nv; ++f) {
      derivatives.column[f] = Pack(0.0);
      derivatives.column[f].set(0, prescribed(f) ? 0.0 : w_a[f]);
    }
    for (int i = 0; i < m.nc; ++i) {
      derivatives.seconds[i] = Dual(0.0);
      if (w_lambda)
        derivatives.seconds[i].slope.set(0, w_lambda[i]);
    }
    for (int k = 0; k < m.nx; ++k)
      derivatives.dx[k] = Dual(0.0);
    solve_columns(m, c, motion, derivatives, factored, 1);
  }
  bool prescribed(int f) const { return c.acceleration_prescribed && c.acceleration_prescribed[f]; }

  // tables and state, on the tape
  void record(bool motion_varies) {
    std::memset(static_cast<void *>(work.memory), 0, work.bytes);
    record_tables();
    record_state(motion_varies);
  }
  const ModelData &model_of_tables() {
    if (!tables_vary())
      return m;
    varied = m;
    varied.varied = &work.numbers;
    return varied;
  }
  // whether the record of the state is on the tape, as the row before has left it
  bool is_recorded(ProductTape::Record kind) const {
    if (!recorded.follows || recorded.record != kind)
      return false;
    const double *at = recorded.state.data();
    const auto same = [&](const double *numbers, int count) {
      const double *here = at;
      at += count;
      return !count || !std::memcmp(numbers, here, std::size_t(count) * sizeof(double));
    };
    return same(&s.t, 1) && same(s.q, m.nq) && same(s.v, m.nv) && same(s.x, m.nx);
  }
  void keep_record(ProductTape::Record kind) {
    recorded.state_end = recorded.tape.size();
    recorded.record = kind;
    recorded.state.assign(1, s.t);
    recorded.state.insert(recorded.state.end(), s.q, s.q + m.nq);
    recorded.state.insert(recorded.state.end(), s.v, s.v + m.nv);
    if (m.nx)
      recorded.state.insert(recorded.state.end(), s.x, s.x + m.nx);
  }
  // the motion at the state, unless it is known; false if what is evaluated outside has failed
  bool find_motion(double *a) {
    if (recorded.follows && recorded.record != ProductTape::Record::none && is_recorded(recorded.record)) {
      for (int f = 0; f < m.nv; ++f)
        a[f] = derivatives.a[f].value;
      return true;
    }
    recorded.record = ProductTape::Record::none;
    if (!dynamics(m, c, motion, s, a, motion.system.unused))
      return false;
    hold_state(m, c, motion, derivatives, s, a, motion.system.lambda);
    return true;
  }

  EvaluationContext<Traced> context(const SystemState<Traced> &state) const {
    EvaluationContext<Traced> at = evaluation_context(c, work.traced, state, work.dx);
    at.numbers = motion.system.numbers;
    if (wanted(Direction::parameter))
      at.varied = work.parameters;
    else if (c.sequence)
      at.parameters = motion.system.parameters;
    return at;
  }
  // elements that see no bodies
  void record_elements() {
    SystemState<Traced> state{Traced(s.t), work.q, work.v, work.x};
    if (s.inputs || c.sequence)
      state.inputs = work.settings;
    work.traced.loops.ws.t = state.t;
    if (m.element_count || m.actuator_count)
      apply_elements(m, work.traced.loops.ws, context(state), work.q, work.v, work.traced.tau, work.traced.cut);
  }

  std::vector<Tape::Place> record_residuals(const ModelData &model, bool in_world) {
    SystemState<Traced> state{Traced(s.t), work.q, work.v, work.x};
    if (s.loads || (c.callbacks && c.callbacks->gives_forces))
      state.loads = work.body_loads;
    std::vector<Tape::Place> input_places;
    if (wanted(Direction::input))
      input_places = record_inputs(model), state.inputs = work.inputs;
    else if (s.inputs || c.sequence)
      state.inputs = work.settings;
    const EvaluationContext<Traced> at = context(state);
    if (tables_vary() && !s.prescribed)
      prescribe(model, c.acceleration_prescribed, state.t, work.traced.callback_laws, work.a);
    motion_residuals(model, c, work.traced, at, state, work.a, work.lambda, m.nc ? work.seconds : nullptr, in_world);
    if (tables_vary() && m.nc) {
      set_targets(model, state.t, work.traced.callback_laws, work.traced.targets);
      for (int i = 0; i < m.nc; ++i)
        work.seconds[i] = work.seconds[i] - work.traced.targets[2 * m.nc + i];
    }
    return input_places;
  }

  // whether parameters act by the tree's tables and by elements that see no bodies
  bool can_sweep() const {
    for (int kind = 0; kind < direction_kinds; ++kind)
      if (out.of[kind] && static_cast<Direction>(kind) != Direction::parameter)
        return false;
    if (!wanted(Direction::parameter) || !by_recursions(m) || c.acceleration_prescribed || c.callbacks || s.loads ||
        c.sampled_loads)
      return false;
    for (int k = 0; k < m.parameter_maps.scalars; ++k) {
      const ScalarMap &map = m.parameter_maps.scalar[k];
      const auto varies = [&](int number) { return number >= 0 && recorded.active[std::size_t(m.parameter_count + number)]; };
      if (map.target != ScalarTarget::armature && map.target != ScalarTarget::gravity &&
          (varies(map.number) || varies(map.second)))
        return false;
    }
    return true;
  }

  void make_by_sweep(const double *a, const double *w_a, const double *w_x) {
    if (!is_recorded(ProductTape::Record::elements)) {
      std::memset(static_cast<void *>(work.memory), 0, work.bytes);
      record_state(false);
      record_elements();
      keep_record(ProductTape::Record::elements);
    }
    clear_bar();
    if (tables_vary()) {
      Workspace<double> &ws = motion.system.loops.ws;
      start_inverse<double>(m, ws, s.q, s.v, a, motion.system.passed);
      sweep_tree(m, ws, s.v, a, derivatives.da, recorded.frames, work.numbers,
                 [&](const Traced &entry, double slope) { recorded.bar[entry.place] -= slope; });
    }
    pull(w_a, w_x);
    give({});
  }

  void make(const double *a, const double *w_a, const double *w_x) {
    solve_row(w_a, nullptr);
    const Recording here(recorded.tape);
    if (recorded.record == ProductTape::Record::none)
      record_tables();
    if (can_sweep())
      return make_by_sweep(a, w_a, w_x);
    make_on_tape(w_a, w_x);
  }
  void make_on_tape(const double *w_a, const double *w_x) {
    if (!is_recorded(ProductTape::Record::residuals)) {
      record(false);
      recorded.input_places = record_residuals(model_of_tables(), false);
      keep_record(ProductTape::Record::residuals);
    }
    clear_bar();
    pull(w_a, w_x);
    give(recorded.input_places);
  }

  // ---- outputs

  void weigh(const Traced &x, double weight) {
    if (weight != 0.0 && x.place)
      recorded.weights.push_back({x.place, weight});
  }
  void weigh(const Vec3<Traced> &a, const double *weights) {
    weigh(a.x, weights[0]), weigh(a.y, weights[1]), weigh(a.z, weights[2]);
  }
  static bool any(const double *weights, std::ptrdiff_t count) {
    return std::any_of(weights, weights + count, [](double weight) { return weight != 0.0; });
  }

  // those of one body, after the motion of all frames
  void record_body(const ModelData &model, int i, const OutputWeights &weights) {
    const BodyData &b = m.bodies[i];
    const std::ptrdiff_t k = b.user - 1;
    const double *pose = weights.poses + 12 * k, *velocity = weights.velocities + 6 * k,
                 *acceleration = weights.accelerations + 6 * k;
    if (!any(pose, 12) && !any(velocity, 6) && !any(acceleration, 6))
      return;
    const Workspace<Traced> &ws = work.traced.loops.ws;
    const Pose<Traced> &X = ws.X_W[i];
    const Pose<Traced> B = table_entry<Traced>(model, b, [](const auto &numbers) {
      return Pose<Traced>{lift<Traced>(as_mat(numbers.R_FB)), lift<Traced>(as_vec(numbers.p_FB))};
    });
    const Pose<Traced> Y = compose(X, B);
    const Traced R[9] = {Y.R.xx, Y.R.xy, Y.R.xz, Y.R.yx, Y.R.yy, Y.R.yz, Y.R.zx, Y.R.zy, Y.R.zz};
    for (int e = 0; e < 9; ++e)
      weigh(R[e], pose[e]);
    weigh(Y.p, pose + 9);
    if (any(velocity, 6)) {
      weigh(mul(X.R, ws.w[i]), velocity);
      weigh(mul(X.R, ws.u[i] + cross(ws.w[i], B.p)), velocity + 3);
    }
    if (!any(acceleration, 6))
      return;
    const Motion<Traced> &A = ws.A[i]; // upwards by the weight
    const Vec3<Traced> g{gravity_of<Traced>(model, 0), gravity_of<Traced>(model, 1), gravity_of<Traced>(model, 2)};
    weigh(mul(X.R, A.w), acceleration);
    weigh(mul(X.R, A.v + cross(A.w, B.p) + cross(ws.w[i], cross(ws.w[i], B.p))) + g, acceleration + 3);
  }

  void record_loads(const ModelData &model, const OutputWeights &weights) {
    const std::ptrdiff_t count = 6 * std::ptrdiff_t(connection_count(m));
    if (!any(weights.loads, count))
      return;
    joint_loads(model, work.traced.loops.ws, work.loads);
    loop_constraint_loads(model, c, work.traced, work.lambda, work.loads + 6 * std::ptrdiff_t(m.users));
    for (std::ptrdiff_t k = 0; k < count; ++k)
      weigh(work.loads[k], weights.loads[k]);
  }

  // (2)
  void make_outputs(const OutputWeights &weights) {
    const std::ptrdiff_t users = m.users;
    const bool moves = any(weights.accelerations, 6 * users) || any(weights.a, m.nv) ||
                       any(weights.loads, 6 * std::ptrdiff_t(connection_count(m)));
    const Recording here(recorded.tape);
    recorded.weights.clear();
    const ProductTape::Record kind = moves ? ProductTape::Record::outputs : ProductTape::Record::outputs_at_rest;
    if (is_recorded(kind)) {
      recorded.tape.cut(recorded.state_end);
    } else {
      record(moves);
      if (moves)
        record_residuals(model_of_tables(), true);
      else
        place_and_move(model_of_tables(), work.traced.loops.ws, work.q, work.v);
      keep_record(kind);
    }
    const ModelData &model = model_of_tables();
    for (int i = 1; i <= m.nb; ++i)
      if (m.bodies[i].user)
        record_body(model, i, weights);
    std::vector<double> w(std::size_t(m.nv + m.nc + m.nx), 0.0);
    double *w_a = w.data(), *w_lambda = w_a + m.nv, *w_x = w_lambda + m.nc;
    if (moves) {
      record_loads(model, weights);
      for (int f = 0; f < m.nv; ++f)
        weigh(work.a[f], weights.a[f]);
    }
    std::vector<double> &bar = recorded.bar;
    bar.assign(recorded.tape.size(), 0.0);
    for (const ProductTape::Weight &each : recorded.weights)
      bar[each.place] += each.weight;
    if (moves) {
      const std::vector<double> top = bar;
      recorded.tape.pull(bar.data());
      for (int f = 0; f < m.nv; ++f)
        w_a[f] = bar[work.a[f].place];
      for (int i = 0; i < m.nc; ++i)
        w_lambda[i] = bar[work.lambda[i].place];
      bar = top;
      solve_row(w_a, w_lambda);
      std::fill_n(w_a, m.nv, 0.0); // prescribed ones are on the tape
      pull(w_a, w_x);
    } else {
      recorded.tape.pull(bar.data());
    }
    give({});
  }

  // derivatives by all that stands on the tape by itself, added to those that stand there
  void pull(const double *w_a, const double *w_x) {
    std::vector<double> &bar = recorded.bar;
    for (int f = 0; f < m.nv; ++f) {
      bar[work.traced.tau[f].place] += derivatives.da[f];
      bar[work.traced.passed[f].place] -= derivatives.da[f];
      if (prescribed(f))
        bar[work.a[f].place] += w_a[f];
    }
    for (int i = 0; i < m.nc; ++i)
      bar[work.seconds[i].place] += derivatives.dlambda[i];
    for (int k = 0; k < m.nx; ++k)
      bar[work.dx[k].place] += w_x[k];
    recorded.tape.pull(bar.data(), recorded.sums ? recorded.tables_end : 1);
  }

  void give(const std::vector<Tape::Place> &input_places) const {
    const std::vector<double> &bar = recorded.bar;
    const auto read = [&](const Traced *from, int count, double *to) {
      for (int k = 0; to && k < count; ++k)
        to[k] = bar[from[k].place];
    };
    if (double *by_q = wanted(Direction::position)) {
      std::vector<double> coordinates(std::size_t(m.nq), 0.0);
      read(work.q, m.nq, coordinates.data());
      pull_directions(m, s.q, coordinates.data(), by_q);
    }
    read(work.v, m.nv, wanted(Direction::velocity));
    read(work.x, m.nx, wanted(Direction::state));
    if (double *by_force = wanted(Direction::force))
      std::copy_n(derivatives.da, m.nv, by_force);
    if (double *by_input = wanted(Direction::input))
      for (int k = 0; k < m.input_count; ++k)
        by_input[k] = input_places[std::size_t(k)] ? bar[input_places[std::size_t(k)]] : 0.0;
    if (double *by_parameter = wanted(Direction::parameter)) {
      std::fill_n(by_parameter, derivatives.along.count, 0.0);
      for (const ProductTape::Entry &entry : recorded.entries)
        if (entry.number < m.parameter_count)
          by_parameter[entry.direction] += entry.factor * bar[work.parameters[entry.number].place];
      if (!recorded.sums)
        add_mapped(m, work, recorded, by_parameter);
    }
  }
};

// with matrices
bool multiply_blocks(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                     std::vector<double> &memory, const SystemState<double> &s, const double *w_a, const double *w_x,
                     double *a, const Products &out) {
  const std::size_t rows = std::size_t(m.nv + m.nx);
  const auto width = [&](int kind) {
    return out.of[kind] ? std::size_t(directions_of(m, work, static_cast<Direction>(kind))) : 0;
  };
  std::size_t size = 0;
  for (int kind = 0; kind < direction_kinds; ++kind)
    size += rows * width(kind);
  memory.resize(size);
  DerivativeBlocks blocks;
  double *next = memory.data();
  for (int kind = 0; kind < direction_kinds; ++kind)
    if (width(kind)) {
      blocks.of[kind].a = next;
      blocks.of[kind].dx = m.nx ? next + std::size_t(m.nv) * width(kind) : nullptr;
      next += rows * width(kind);
    }
  if (!derivatives(m, c, motion, work, s, a, blocks))
    return false;
  const double *row = memory.data();
  for (int kind = 0; kind < direction_kinds; ++kind) {
    const int n = int(width(kind));
    std::fill_n(out.of[kind], n, 0.0);
    for (int r = 0; n && r < m.nv + m.nx; ++r, row += n)
      for (int j = 0; j < n; ++j)
        out.of[kind][j] += (r < m.nv ? w_a[r] : w_x[r - m.nv]) * row[j];
  }
  return true;
}

} // namespace

void finish_sums(const ModelData &m, const ProductWorkspace &work, ProductTape &recorded, double *by_parameter) {
  if (!recorded.tables_end)
    return;
  recorded.tape.cut(recorded.tables_end);
  recorded.tape.pull(recorded.bar.data());
  add_mapped(m, work, recorded, by_parameter);
}

bool are_few(const ModelData &m, const DerivativesWorkspace &derivatives, const Products &out) {
  constexpr int few = 6; // SIMD registers of directions; a tape costs as much as about this many
  int registers = 0;
  for (int kind = 0; kind < direction_kinds; ++kind)
    if (out.of[kind])
      registers += (directions_of(m, derivatives, static_cast<Direction>(kind)) + W - 1) / W;
  return registers <= few;
}

bool multiply_derivatives(const ModelData &m, const Conditions &c, MotionWorkspace &motion,
                          DerivativesWorkspace &derivatives, ProductWorkspace &work, ProductTape &recorded,
                          const SystemState<double> &s, const double *w_a, const double *w_x, double *a,
                          const Products &out, bool with_matrices) {
  if (with_matrices || !can_record(m, c, out))
    return multiply_blocks(m, c, motion, derivatives, recorded.blocks, s, w_a, w_x, a, out);
  Product product{m, c, motion, derivatives, work, recorded, s, out, {}};
  if (!product.find_motion(a))
    return false;
  product.make(a, w_a, w_x);
  return true;
}

bool multiply_outputs(const ModelData &m, const Conditions &c, MotionWorkspace &motion,
                      DerivativesWorkspace &derivatives, ProductWorkspace &work, ProductTape &recorded,
                      const SystemState<double> &s, const OutputWeights &weights, double *a, const Products &out) {
  if (!can_record(m, c, out)) {
    for (int kind = 0; kind < direction_kinds; ++kind)
      if (out.of[kind])
        std::fill_n(out.of[kind], directions_of(m, derivatives, static_cast<Direction>(kind)),
                    std::numeric_limits<double>::quiet_NaN());
    return true;
  }
  Product product{m, c, motion, derivatives, work, recorded, s, out, {}};
  if (!product.find_motion(a))
    return false;
  product.make_outputs(weights);
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
