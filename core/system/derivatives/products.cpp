#include "system/derivatives/products.hpp"
#include "model/parameter_maps.hpp"
#include "system/derivatives/parts.hpp"
#include "system/drives.hpp"
#include "tree/manifold.hpp"
#include <algorithm>
#include <cstring>

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
  }

  static Traced put(double value, bool varies) { return varies ? independent(value) : Traced(value); }

  // the state, as `hold_state` has left it
  void record_state() {
    const auto copy = [](const Dual *from, int count, Traced *to, bool varies = false) {
      for (int k = 0; k < count; ++k)
        to[k] = put(from[k].value, varies);
    };
    copy(derivatives.q, m.nq, work.q, wanted(Direction::position));
    copy(derivatives.v, m.nv, work.v, wanted(Direction::velocity));
    copy(derivatives.x, m.nx, work.x, wanted(Direction::state));
    for (int k = 0; k < m.parameter_count; ++k)
      work.parameters[k] = put(derivatives.parameters[k].value, recorded.active[std::size_t(k)]);
    copy(derivatives.a, m.nv, work.a);
    copy(derivatives.lambda, m.nc, work.lambda);
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

  // u and l of (1), in the first lane of the columns
  void solve_row(const double *w_a) {
    const Factored factored = m.nc ? factored_last(motion.system.loops) : Factored{Envelope::none, 0, 0, 0};
    for (int f = 0; f < m.nv; ++f) {
      derivatives.column[f] = Pack(0.0);
      derivatives.column[f].set(0, prescribed(f) ? 0.0 : w_a[f]);
    }
    for (int i = 0; i < m.nc; ++i)
      derivatives.seconds[i] = Dual(0.0);
    for (int k = 0; k < m.nx; ++k)
      derivatives.dx[k] = Dual(0.0);
    solve_columns(m, c, motion, derivatives, factored, 1);
  }
  bool prescribed(int f) const { return c.acceleration_prescribed && c.acceleration_prescribed[f]; }

  void make(const double *w_a, const double *w_x) {
    solve_row(w_a);
    std::memset(static_cast<void *>(work.memory), 0, work.bytes);
    const Recording here(recorded.tape);
    record_tables();
    record_state();
    if (tables_vary()) {
      varied = m;
      varied.varied = &work.numbers;
    }
    const ModelData &model = tables_vary() ? varied : m;
    SystemState<Traced> state{Traced(s.t), work.q, work.v, work.x};
    if (s.loads || (c.callbacks && c.callbacks->gives_forces))
      state.loads = work.body_loads;
    std::vector<Tape::Place> input_places;
    if (wanted(Direction::input))
      input_places = record_inputs(model), state.inputs = work.inputs;
    else if (s.inputs || c.sequence)
      state.inputs = work.settings;
    EvaluationContext<Traced> at = evaluation_context(c, work.traced, state, work.dx);
    at.numbers = motion.system.numbers;
    if (wanted(Direction::parameter))
      at.varied = work.parameters;
    else if (c.sequence)
      at.parameters = motion.system.parameters;
    if (tables_vary() && !s.prescribed)
      prescribe(model, c.acceleration_prescribed, state.t, work.traced.callback_laws, work.a);
    motion_residuals(model, c, work.traced, at, state, work.a, work.lambda, m.nc ? work.seconds : nullptr, false);
    if (tables_vary() && m.nc) {
      set_targets(model, state.t, work.traced.callback_laws, work.traced.targets);
      for (int i = 0; i < m.nc; ++i)
        work.seconds[i] = work.seconds[i] - work.traced.targets[2 * m.nc + i];
    }
    pull(w_a, w_x);
    give(input_places);
  }

  // derivatives by all that stands on the tape by itself
  void pull(const double *w_a, const double *w_x) {
    std::vector<double> &bar = recorded.bar;
    bar.assign(recorded.tape.size(), 0.0);
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
    recorded.tape.pull(bar.data());
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
      for (const ProductTape::Entry &entry : recorded.entries) {
        const Traced &number = entry.number < m.parameter_count ? work.parameters[entry.number]
                                                                : work.own[entry.number - m.parameter_count];
        by_parameter[entry.direction] += entry.factor * bar[number.place];
      }
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
  if (!dynamics(m, c, motion, s, a, motion.system.unused))
    return false;
  hold_state(m, c, motion, derivatives, s, a, motion.system.lambda);
  Product{m, c, motion, derivatives, work, recorded, s, out, {}}.make(w_a, w_x);
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
