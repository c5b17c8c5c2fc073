#include "elements/unknowns.hpp"
#include <limits>

namespace dalembert::DALEMBERT_ISA {

struct NewtonMatrix {
  double LU[most_unknowns * most_unknowns];
  std::int32_t exchange[most_unknowns];
  int n;

  bool factor(const double *J, int unknowns) {
    n = unknowns;
    for (int k = 0; k < n * n; ++k)
      LU[k] = J[k];
    return factor_lu(LU, exchange, n);
  }
  // b = -J^-1 r, and its size
  double correct(const double *r, double *b) const {
    double square = 0.0;
    for (int k = 0; k < n; ++k)
      b[k] = -r[k];
    solve_lu(LU, exchange, n, b);
    for (int k = 0; k < n; ++k)
      square += b[k] * b[k];
    return std::sqrt(square);
  }
};

static double size_of(const double *u, int n) {
  double square = 0.0;
  for (int k = 0; k < n; ++k)
    square += u[k] * u[k];
  return std::sqrt(square);
}

// what rounding alone may make of a result: that of the terms it is the sum of
static double rounding_of(const Instruction *code, const double *values, int place, int depth = 6) {
  constexpr double epsilon = 2.3e-16;
  const Instruction &i = code[place];
  const double own = epsilon * std::fabs(values[place]);
  if (depth && i.operation == Operation::negate)
    return rounding_of(code, values, i.a, depth - 1);
  if (depth && (i.operation == Operation::add || i.operation == Operation::subtract))
    return own + rounding_of(code, values, i.a, depth - 1) + rounding_of(code, values, i.b, depth - 1);
  return 4.0 * own;
}

// whether all residuals are rounding
static bool vanish(const ModelData &m, const ElementData &e, const double *values, const double *r) {
  const ProgramData &program = m.programs.programs[e.law];
  const Instruction *code = m.programs.instructions + program.first;
  for (int k = 0; k < e.unknowns; ++k)
    if (!(std::fabs(r[k]) <= rounding_of(code, values, m.programs.outputs[program.output + first_residual(e) + k])))
      return false;
  return true;
}

// unknowns after the n inputs; false if there is no solution within reach. out: outputs there, matrix: the Jacobian near it.
static bool find_unknowns(const ModelData &m, const ElementData &e, double *in, int n, double *values, double *out, NewtonMatrix &matrix) {
  constexpr int most_rounds = 60, most_halvings = 40;
  constexpr double precise = 1e-10; // of a step that is followed by a last one: quadratically better
  const ProgramData &program = m.programs.programs[e.law];
  const int unknowns = e.unknowns;
  const double *r = out + first_residual(e), *J = r + unknowns, *begin = J + unknowns * unknowns;
  double *u = in + n, step[most_unknowns], next[most_unknowns], from[most_unknowns];
  for (int k = 0; k < unknowns; ++k)
    u[k] = 0.0;
  run_program(m, m.programs, program, in, values, out);
  for (int k = 0; k < unknowns; ++k)
    u[k] = begin[k];
  run_program(m, m.programs, program, in, values, out);
  double reach = size_of(u, unknowns);
  for (int round = 0; round < most_rounds; ++round) {
    if (!matrix.factor(J, unknowns))
      return false;
    double length = matrix.correct(r, step);
    if (!(length < std::numeric_limits<double>::infinity()))
      return false;
    if (length == 0.0 || vanish(m, e, values, r))
      return true;
    reach = reach > length ? reach : length;
    for (int k = 0; k < unknowns; ++k)
      from[k] = u[k];
    double part = 1.0;
    for (int halving = 0;; ++halving, part *= 0.5) {
      for (int k = 0; k < unknowns; ++k)
        u[k] = from[k] + part * step[k];
      run_program(m, m.programs, program, in, values, out);
      const double left = matrix.correct(r, next);
      if (length <= precise * reach || left <= (1.0 - 0.25 * part) * length)
        break;
      if (vanish(m, e, values, r))
        return matrix.factor(J, unknowns);
      if (halving == most_halvings)
        return false;
    }
    const double size = size_of(u, unknowns);
    reach = reach > size ? reach : size;
    if (length <= precise * reach)
      return matrix.factor(J, unknowns);
  }
  return false;
}

template <class T>
void solve_law(const ModelData &m, const ElementData &e, T *in, int n, T *values, double *numbers, T *outputs) {
  const ProgramData &program = m.programs.programs[e.law];
  double one[most_inputs], found[most_outputs];
  NewtonMatrix matrix;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if constexpr (requires { in[0].slope; }) {
    for (int k = 0; k < n; ++k)
      one[k] = in[k].value;
    const bool solved = find_unknowns(m, e, one, n, numbers, found, matrix);
    for (int k = 0; k < e.unknowns; ++k)
      in[n + k] = T(solved ? one[n + k] : none);
    run_program(m, m.programs, program, in, values, outputs);
    const T *r = outputs + first_residual(e);
    for (int direction = 0; solved && direction < W; ++direction) {
      double rate[most_unknowns], step[most_unknowns];
      for (int k = 0; k < e.unknowns; ++k)
        rate[k] = r[k].slope[direction];
      matrix.correct(rate, step);
      for (int k = 0; k < e.unknowns; ++k)
        in[n + k].slope.set(direction, step[k]);
    }
  } else if constexpr (requires { in[0][0]; }) {
    for (int lane = 0; lane < T::lanes; ++lane) {
      for (int k = 0; k < n; ++k)
        one[k] = in[k][lane];
      const bool solved = find_unknowns(m, e, one, n, numbers, found, matrix);
      for (int k = 0; k < e.unknowns; ++k)
        in[n + k].set(lane, solved ? one[n + k] : none);
    }
  } else {
    if (!find_unknowns(m, e, in, n, numbers, found, matrix))
      for (int k = 0; k < e.unknowns; ++k)
        in[n + k] = none;
  }
  run_program(m, m.programs, program, in, values, outputs);
}

template void solve_law(const ModelData &, const ElementData &, double *, int, double *, double *, double *);
template void solve_law(const ModelData &, const ElementData &, Pack *, int, Pack *, double *, Pack *);
template void solve_law(const ModelData &, const ElementData &, Dual *, int, Dual *, double *, Dual *);

} // namespace dalembert::DALEMBERT_ISA
