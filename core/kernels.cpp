// One instruction set's kernels behind the border of kernels.hpp. Compiled several times; see isa.hpp.
#include "kernels.hpp"
#include "derivatives.hpp"
#include "dual_derivatives.hpp"
#include "loops.hpp"
#include "manifold.hpp"
#include "observers.hpp"

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr int W = DALEMBERT_LANES;
using Lane = Pack<W>;

// ---- one state of any scalar

template <class T> inline void evaluate(const ModelData &m, Workspace<T> &ws, const Call &call, const T *const *in, T *const *out) {
  switch (call.kernel) {
  case Kernel::forward_dynamics:
    return forward_dynamics<T>(m, ws, in[0], in[1], in[2], GivenLoads<T>{in[3]}, nullptr, out[0], nullptr);
  case Kernel::inverse_dynamics:
    return inverse_dynamics<T>(m, ws, in[0], in[1], in[2], GivenLoads<T>{in[3]}, out[0]);
  case Kernel::bias_forces:
    return inverse_dynamics<T>(m, ws, in[0], in[1], static_cast<const T *>(nullptr), GivenLoads<T>{in[2]}, out[0]);
  case Kernel::mixed_dynamics:
    for (int k = 0; k < m.nv; ++k)
      out[0][k] = in[3][k];
    return forward_dynamics<T>(m, ws, in[0], in[1], in[2], GivenLoads<T>{in[4]}, call.given, out[0], out[1]);
  case Kernel::mass_matrix:
    return mass_matrix<T>(m, ws, in[0], out[0]);
  case Kernel::composite_diagonal:
    return composite_diagonal<T>(m, ws, in[0], out[0]);
  case Kernel::solve_mass_matrix: {
    factorize<T>(m, ws, in[0]);
    Side<T> side{ws.p_A, ws.y, ws.A};
    return solve<T, T>(m, ws, side, in[1], out[0], 1, m.nb);
  }
  case Kernel::poses:
    return poses<T>(m, ws, in[0], out[0]);
  case Kernel::velocities:
    return velocities<T>(m, ws, in[0], in[1], out[0]);
  case Kernel::accelerations:
    return accelerations<T>(m, ws, in[0], in[1], in[2], out[0]);
  case Kernel::marker_pose:
    return marker_pose<T>(m, ws, call.marker, in[0], out[0]);
  case Kernel::marker_velocity:
    return marker_velocity<T>(m, ws, call.marker, in[0], in[1], out[0]);
  case Kernel::marker_acceleration:
    return marker_acceleration<T>(m, ws, call.marker, in[0], in[1], in[2], out[0]);
  case Kernel::marker_jacobian:
    return marker_jacobian<T>(m, ws, call.marker, in[0], out[0]);
  case Kernel::energy:
    return energy<T>(m, ws, in[0], in[1], out[0]);
  case Kernel::center_of_mass:
    return center_of_mass<T>(m, ws, in[0], out[0]);
  case Kernel::centroidal_matrix:
    return centroidal_matrix<T>(m, ws, in[0], out[0]);
  case Kernel::reactions:
    return reactions<T>(m, ws, in[0], in[1], in[2], in[3], ws.y, out[0]);
  case Kernel::integrate:
    return integrate<T>(m, in[0], in[1], out[0]);
  case Kernel::difference:
    return difference<T>(m, in[0], in[1], out[0]);
  case Kernel::coordinate_rates:
    return coordinate_rates<T>(m, in[0], in[1], out[0]);
  default:
    return; // derivatives and loops need more room: see derivatives_of_one and loops_of_one
  }
}

bool has_loops(Kernel kernel) {
  return kernel == Kernel::constrained_dynamics || kernel == Kernel::constrained_mixed || kernel == Kernel::constraint_residual || kernel == Kernel::constraint_jacobian ||
         kernel == Kernel::constraint_bias || kernel == Kernel::constraint_drift || kernel == Kernel::row_pivots || kernel == Kernel::chord_loads;
}

bool is_derivative(Kernel kernel) {
  return kernel == Kernel::d_inverse_dynamics || kernel == Kernel::d_inverse_by_duals || kernel == Kernel::d_forward_dynamics;
}

bool has_lanes(Kernel kernel) { return !is_derivative(kernel) && !has_loops(kernel); }

// ---- derivatives of one state

// up to this many freedoms a product of matrices is cheaper than as many solves by recursion (measured)
constexpr int largest_product = 256;

// the recursions of derivatives.hpp are for rigid bodies and hinges of the library; other models go by dual numbers
bool by_duals(const ModelData &m, Kernel kernel) { return kernel == Kernel::d_inverse_by_duals || m.modal_count || m.custom_hinges; }

struct DerivativeMemory {
  Workspace<double> ws;
  DerivativeRoom<double> room;
  DualRoom<W> duals;
  Side<Lane> side;
  Lane *x;
  double *a, *tile;
};

std::size_t lay_out_derivatives(const ModelData &m, std::byte *base, Kernel kernel, DerivativeMemory &d) {
  Arena arena{base};
  if (by_duals(m, kernel))
    arena.take<std::byte>(lay_out(m, base, d.duals));
  if (kernel == Kernel::d_inverse_by_duals)
    return arena.used;
  arena.take<std::byte>(lay_out(m, base + arena.used, d.ws));
  if (!by_duals(m, kernel))
    arena.take<std::byte>(lay_out(m, base + arena.used, d.room));
  const std::size_t n = std::size_t(m.nb) + 1, nv = std::size_t(m.nv);
  d.side = {arena.take<Load<Lane>>(n), arena.take<Lane>(nv), arena.take<Motion<Lane>>(n)};
  d.x = arena.take<Lane>(nv);
  d.a = arena.take<double>(nv);
  d.tile = arena.take<double>(m.nv <= largest_product ? nv * std::size_t(padded<W>(m.nv)) : 0);
  return arena.used;
}

void d_inverse(const ModelData &m, DerivativeMemory &d, const double *q, const double *v, const double *a, const double *loads, double *by_q,
               double *by_v, double *M) {
  if (!m.custom_hinges && !m.modal_count)
    return d_inverse_dynamics<double>(m, d.ws, d.room, q, v, a, loads, by_q, by_v, M);
  d_inverse_dynamics_by_duals<W>(m, d.duals, q, v, a, loads, by_q, by_v);
  mass_matrix<double>(m, d.ws, q, M);
}

void derivatives_of_one(const ModelData &m, std::byte *memory, const Call &call, const double *const *in, double *const *out) {
  DerivativeMemory d;
  lay_out_derivatives(m, memory, call.kernel, d);
  if (call.kernel == Kernel::d_inverse_by_duals)
    return d_inverse_dynamics_by_duals<W>(m, d.duals, in[0], in[1], in[2], in[3], out[0], out[1]);
  if (call.kernel == Kernel::d_inverse_dynamics)
    return d_inverse(m, d, in[0], in[1], in[2], in[3], out[0], out[1], out[2]);
  forward_dynamics<double>(m, d.ws, in[0], in[1], in[2], GivenLoads<double>{in[3]}, nullptr, d.a, nullptr);
  d_inverse(m, d, in[0], in[1], d.a, in[3], out[0], out[1], out[2]);
  const std::ptrdiff_t size = std::ptrdiff_t(m.nv) * m.nv;
  for (std::ptrdiff_t k = 0; k < size; ++k)
    out[2][k] = 0.0;
  for (int k = 0; k < m.nv; ++k)
    out[2][std::ptrdiff_t(k) * (m.nv + 1)] = 1.0;
  // forward_dynamics has left the factors of M in the workspace, and the derivatives did not touch them
  solve_columns<W>(m, d.ws, d.side, d.x, 1.0, out[2]);
  if (m.nv <= largest_product) {
    minus_product<W>(out[2], out[0], d.tile, m.nv);
    minus_product<W>(out[2], out[1], d.tile, m.nv);
  } else {
    solve_columns<W>(m, d.ws, d.side, d.x, -1.0, out[0]);
    solve_columns<W>(m, d.ws, d.side, d.x, -1.0, out[1]);
  }
}

// ---- loops of one state

void loops_of_one(const ModelData &m, std::byte *memory, const Call &call, const double *const *in, double *const *out) {
  LoopRoom<W> room;
  lay_out(m, memory, room);
  if (call.kernel != Kernel::row_pivots) { // time is the last input
    const double *t = in[call.inputs - 1];
    room.ws.t = t ? *t : 0.0;
  }
  switch (call.kernel) {
  case Kernel::constraint_drift:
    return evaluate_chords(m, room.ws, in[0], nullptr, {.drift = out[0]});
  case Kernel::constraint_residual:
    return evaluate_chords(m, room.ws, in[0], nullptr, {.residual = out[0]});
  case Kernel::constraint_bias:
    return evaluate_chords(m, room.ws, in[0], in[1], {.bias = out[0]});
  case Kernel::constraint_jacobian:
    evaluate_chords(m, room.ws, in[0], nullptr, {.values = room.values});
    for (std::ptrdiff_t k = 0; k < std::ptrdiff_t(m.nc) * m.nv; ++k)
      out[0][k] = 0.0;
    for (int k = 0; k < m.chord_count; ++k) {
      const ChordData &chord = m.chords[k];
      for (int j = 0; j < chord.rows; ++j)
        for (int s = 0; s < chord.supports; ++s)
          out[0][std::ptrdiff_t(chord.row + j) * m.nv + m.support[chord.support + s]] = room.values[chord.values + j * chord.supports + s];
    }
    return;
  case Kernel::row_pivots:
    return row_pivots<W>(m, room, in[0], out[0]);
  case Kernel::chord_loads:
    evaluate_chords(m, room.ws, in[0], nullptr, {.wrenches = room.wrenches});
    for (int k = 0; k < m.chord_count; ++k)
      for (int c = 0; c < 6; ++c) {
        double sum = 0.0;
        for (int row = m.chords[k].row; row < m.chords[k].row + m.chords[k].rows; ++row)
          sum += in[1][row] * room.wrenches[6 * row + c];
        out[0][6 * k + c] = sum;
      }
    return;
  case Kernel::constrained_mixed:
    std::memcpy(out[0], in[3], std::size_t(m.nv) * sizeof(double));
    return constrained_dynamics<W>(m, room, in[0], in[1], in[2], GivenLoads<double>{in[4]}, in[5], call.given, out[0], out[2], out[1]);
  default:
    return constrained_dynamics<W>(m, room, in[0], in[1], in[2], GivenLoads<double>{in[3]}, in[4], nullptr, out[0], out[1], nullptr);
  }
}

// ---- entry points

std::size_t bytes_one(const ModelData &m, const Call &call) {
  if (is_derivative(call.kernel)) {
    DerivativeMemory d;
    return lay_out_derivatives(m, nullptr, call.kernel, d);
  }
  if (has_loops(call.kernel)) {
    LoopRoom<W> room;
    return lay_out(m, nullptr, room);
  }
  Workspace<double> ws;
  return lay_out(m, nullptr, ws);
}

void one(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t state) {
  const double *in[max_inputs];
  double *out[max_outputs];
  for (int k = 0; k < call.inputs; ++k)
    in[k] = call.in[k].data ? call.in[k].data + state * call.in[k].stride : nullptr;
  for (int k = 0; k < call.outputs; ++k)
    out[k] = call.out[k].data + state * call.out[k].stride;
  if (is_derivative(call.kernel))
    return derivatives_of_one(m, memory, call, in, out);
  if (has_loops(call.kernel))
    return loops_of_one(m, memory, call, in, out);
  Workspace<double> ws;
  lay_out(m, memory, ws);
  evaluate<double>(m, ws, call, in, out);
}

struct LaneMemory {
  Workspace<Lane> ws;
  Lane *in[max_inputs], *out[max_outputs];
};

std::size_t lay_out_lanes(const ModelData &m, std::byte *base, const Call &call, LaneMemory &l) {
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, l.ws));
  for (int k = 0; k < call.inputs; ++k)
    l.in[k] = call.in[k].data ? arena.take<Lane>(std::size_t(call.in[k].size)) : nullptr;
  for (int k = 0; k < call.outputs; ++k)
    l.out[k] = arena.take<Lane>(std::size_t(call.out[k].size));
  return arena.used;
}

std::size_t bytes_lanes(const ModelData &m, const Call &call) {
  LaneMemory l;
  return lay_out_lanes(m, nullptr, call, l);
}

// 0 x is 0 for finite numbers and NaN for others: sums of it tell whether all were finite
unsigned finding(double zero, unsigned bit) { return zero == 0.0 ? 0u : bit; }

unsigned one_by_one(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t begin, std::ptrdiff_t end) {
  double seen_in = 0.0, seen_out = 0.0;
  for (std::ptrdiff_t state = begin; state < end; ++state) {
    for (int k = 0; k < call.inputs; ++k)
      if (call.in[k].data)
        for (std::ptrdiff_t j = 0; j < call.in[k].size; ++j)
          seen_in += 0.0 * call.in[k].data[state * call.in[k].stride + j];
    one(m, memory, call, state);
    for (int k = 0; k < call.outputs; ++k)
      for (std::ptrdiff_t j = 0; j < call.out[k].size; ++j)
        seen_out += 0.0 * call.out[k].data[state * call.out[k].stride + j];
  }
  return finding(seen_in, bad_input) | finding(seen_out, bad_output);
}

unsigned lanes_range(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t begin, std::ptrdiff_t end) {
  LaneMemory l;
  lay_out_lanes(m, memory, call, l);
  Lane seen_in(0.0), seen_out(0.0);
  for (std::ptrdiff_t state = begin; state < end; state += W) {
    const int count = int(end - state < W ? end - state : W);
    // a last pack that is not full repeats its last state
    for (int k = 0; k < call.inputs; ++k) {
      const Input &input = call.in[k];
      if (!input.data)
        continue;
      const double *rows[W];
      for (int lane = 0; lane < W; ++lane)
        rows[lane] = input.data + (state + (lane < count ? lane : count - 1)) * input.stride;
      for (std::ptrdiff_t j = 0; j < input.size; ++j) {
        Lane numbers;
        for (int lane = 0; lane < W; ++lane)
          numbers.set(lane, rows[lane][j]);
        l.in[k][j] = numbers;
        seen_in = seen_in + 0.0 * numbers;
      }
    }
    evaluate<Lane>(m, l.ws, call, l.in, l.out);
    for (int k = 0; k < call.outputs; ++k) {
      const Output &output = call.out[k];
      for (std::ptrdiff_t j = 0; j < output.size; ++j)
        seen_out = seen_out + 0.0 * l.out[k][j];
      for (int lane = 0; lane < count; ++lane) {
        double *row = output.data + (state + lane) * output.stride;
        for (std::ptrdiff_t j = 0; j < output.size; ++j)
          row[j] = l.out[k][j][lane];
      }
    }
  }
  double zero_in = 0.0, zero_out = 0.0;
  for (int lane = 0; lane < W; ++lane)
    zero_in += seen_in[lane], zero_out += seen_out[lane];
  return finding(zero_in, bad_input) | finding(zero_out, bad_output);
}

// ---- a factorisation that stays

struct FactorMemory {
  Workspace<double> ws;
  Side<Lane> side;
  Lane *x;
};

std::size_t lay_out_factor(const ModelData &m, std::byte *base, FactorMemory &f) {
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, f.ws));
  const std::size_t n = std::size_t(m.nb) + 1, nv = std::size_t(m.nv);
  f.side = {arena.take<Load<Lane>>(n), arena.take<Lane>(nv), arena.take<Motion<Lane>>(n)};
  f.x = arena.take<Lane>(nv);
  return arena.used;
}

std::size_t bytes_factor(const ModelData &m) {
  FactorMemory f;
  return lay_out_factor(m, nullptr, f);
}

void factor(const ModelData &m, std::byte *memory, const double *q) {
  FactorMemory f;
  lay_out_factor(m, memory, f);
  factorize<double>(m, f.ws, q);
}

void factor_solve(const ModelData &m, std::byte *memory, const double *x, double *a, std::ptrdiff_t count) {
  FactorMemory f;
  lay_out_factor(m, memory, f);
  const std::ptrdiff_t nv = m.nv;
  if (count == 1) {
    Side<double> side{f.ws.p_A, f.ws.y, f.ws.A};
    return solve<double, double>(m, f.ws, side, x, a, 1, m.nb);
  }
  for (std::ptrdiff_t first = 0; first < count; first += W) {
    const int width = int(count - first < W ? count - first : W);
    for (std::ptrdiff_t k = 0; k < nv; ++k) {
      Lane row(0.0);
      for (int lane = 0; lane < width; ++lane)
        row.set(lane, x[(first + lane) * nv + k]);
      f.x[k] = row;
    }
    solve<double, Lane>(m, f.ws, f.side, f.x, f.x, 1, m.nb);
    for (int lane = 0; lane < width; ++lane)
      for (std::ptrdiff_t k = 0; k < nv; ++k)
        a[(first + lane) * nv + k] = f.x[k][lane];
  }
}

void factor_pivots(const ModelData &m, std::byte *memory, double *pivots) {
  FactorMemory f;
  lay_out_factor(m, memory, f);
  for (int k = 0; k < m.nv; ++k)
    pivots[k] = 1.0 / f.ws.pivot[k].inverse;
}

} // namespace

extern const KernelSet kernels;
const KernelSet kernels{DALEMBERT_ISA_NAME, W,      has_lanes, bytes_one,    bytes_lanes,   one,
                        one_by_one, lanes_range,        bytes_factor, factor, factor_solve, factor_pivots};

} // namespace dalembert::DALEMBERT_ISA
