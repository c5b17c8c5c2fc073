#include "elements/implicit_laws.hpp"
#include <limits>

namespace dalembert::DALEMBERT_ISA {

struct NewtonMatrix {
  double LU[max_unknowns * max_unknowns];
  std::int32_t exchange[max_unknowns];
  int n;

  bool factor(int unknowns) {
    n = unknowns;
    if (n == 1)
      return LU[0] = 1.0 / LU[0], std::fabs(LU[0]) < std::numeric_limits<double>::infinity();
    return factor_lu(LU, exchange, n);
  }
  // b = -J^-1 r, and its size
  double correct(const double *r, double *b) const {
    if (n == 1)
      return b[0] = -(r[0] * LU[0]), std::fabs(b[0]);
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
  if (n == 1)
    return std::fabs(u[0]);
  double square = 0.0;
  for (int k = 0; k < n; ++k)
    square += u[k] * u[k];
  return std::sqrt(square);
}

// what rounding alone may make of a result: that of the terms it is the sum of
static double rounding_of(const Instruction *code, int loaded, const double *values, int place, int depth = 6) {
  constexpr double epsilon = 2.3e-16;
  const double own = epsilon * std::fabs(values[place]);
  if (depth && place >= loaded) {
    const Instruction &i = code[place - loaded];
    if (i.operation == Operation::negate)
      return rounding_of(code, loaded, values, i.a, depth - 1);
    if (i.operation == Operation::add || i.operation == Operation::subtract)
      return own + rounding_of(code, loaded, values, i.a, depth - 1) +
             rounding_of(code, loaded, values, i.b, depth - 1);
  }
  return 4.0 * own;
}

// The equations of a law's unknowns, for numbers. values: the row of a run, in which the unknowns stand behind the n
// inputs.
struct Equations {
  const ModelData &m;
  const ElementData &e;
  const ProgramData &program;
  double *values, *u;
  double r[max_unknowns];

  Equations(const ModelData &m, const ElementData &e, int n, double *values)
      : m(m), e(e), program(m.programs.programs[e.law]), values(values), u(values + n) {}

  double result(int k) const { return result_of(m.programs, program, values, first_residual(e) + k); }
  void run(ProgramPart from, ProgramPart to) { run_parts(m, m.programs, program, from, to, values); }
  void begin(const double *in) {
    load_program(m, m.programs, program, in, values);
    for (int k = 0; k < e.unknowns; ++k)
      u[k] = 0.0;
    run(ProgramPart::known, ProgramPart::known);
    for (int k = 0; k < e.unknowns; ++k)
      u[k] = result(e.unknowns * (e.unknowns + 1) + k);
  }
  void residuals() {
    run(ProgramPart::residuals, ProgramPart::residuals);
    for (int k = 0; k < e.unknowns; ++k)
      r[k] = result(k);
  }
  // the Jacobian where residuals were evaluated
  bool factor(NewtonMatrix &matrix) {
    run(ProgramPart::slopes, ProgramPart::slopes);
    for (int k = 0; k < e.unknowns * e.unknowns; ++k)
      matrix.LU[k] = result(e.unknowns + k);
    return matrix.factor(e.unknowns);
  }
  // whether all residuals are rounding
  bool vanish() const {
    const Instruction *code = m.programs.instructions + program.first;
    const int loaded = program.inputs + program.constants;
    for (int k = 0; k < e.unknowns; ++k)
      if (!(std::fabs(r[k]) <=
            rounding_of(code, loaded, values, m.programs.outputs[program.output + first_residual(e) + k])))
        return false;
    return true;
  }
};

// Finds the unknowns, in the row; the residuals there are evaluated. False if there is no solution within reach.
// exact: the matrix is wanted there, not just near.
static bool find_unknowns(Equations &equations, const double *in, NewtonMatrix &matrix, bool exact) {
  constexpr int max_rounds = 60, max_halvings = 40;
  constexpr double precise = 1e-10; // of a step that is followed by a last one: quadratically better
  constexpr double epsilon = 2.3e-16;
  const int unknowns = equations.e.unknowns;
  double *u = equations.u, step[max_unknowns], next[max_unknowns], from[max_unknowns];
  equations.begin(in);
  equations.residuals();
  double reach = size_of(u, unknowns);
  for (int round = 0; round < max_rounds; ++round) {
    if (!equations.factor(matrix))
      return false;
    const double length = matrix.correct(equations.r, step);
    if (!(length < std::numeric_limits<double>::infinity()))
      return false;
    if (length == 0.0 || equations.vanish())
      return true;
    reach = reach > length ? reach : length;
    for (int k = 0; k < unknowns; ++k)
      from[k] = u[k];
    double part = 1.0, left = 0.0;
    for (int halving = 0;; ++halving, part *= 0.5) {
      for (int k = 0; k < unknowns; ++k)
        u[k] = from[k] + part * step[k];
      equations.residuals();
      left = matrix.correct(equations.r, next);
      if (length <= precise * reach || left <= (1.0 - 0.25 * part) * length)
        break;
      if (equations.vanish())
        return !exact || equations.factor(matrix);
      if (halving == max_halvings)
        return false;
    }
    const double size = size_of(u, unknowns);
    reach = reach > size ? reach : size;
    // the matrix shrinks what is left by left / length once more
    if (part == 1.0 && left <= precise * reach && left * left <= 0.1 * epsilon * reach * length) {
      if (left > 0.1 * epsilon * reach) {
        for (int k = 0; k < unknowns; ++k)
          u[k] += next[k];
        equations.residuals();
      }
      return !exact || equations.factor(matrix);
    }
    if (length <= precise * reach)
      return !exact || equations.factor(matrix);
  }
  return false;
}

template <class T> void solve_law(const ModelData &m, const ElementData &e, T *in, int n, T *values, double *numbers,
                                  T *outputs, ProgramPart last) {
  const ProgramData &program = m.programs.programs[e.law];
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  NewtonMatrix matrix;
  Equations equations(m, e, n, numbers);
  T *row = values;
  if constexpr (differentiates<T>) {
    double one[max_law_inputs];
    for (int k = 0; k < n; ++k)
      one[k] = in[k].value;
    const bool solved = find_unknowns(equations, one, matrix, true);
    load_program(m, m.programs, program, in, row);
    for (int k = 0; k < e.unknowns; ++k)
      row[n + k] = T(solved ? equations.u[k] : none);
    run_parts(m, m.programs, program, ProgramPart::known, ProgramPart::residuals, row);
    T r[max_unknowns];
    for (int k = 0; k < e.unknowns; ++k)
      r[k] = result_of(m.programs, program, row, first_residual(e) + k);
    double by[max_unknowns][max_unknowns]; // unknowns by residuals
    for (int j = 0; solved && j < e.unknowns; ++j) {
      double unit[max_unknowns] = {}, step[max_unknowns];
      unit[j] = 1.0;
      matrix.correct(unit, step);
      for (int k = 0; k < e.unknowns; ++k)
        by[k][j] = step[k];
    }
    for (int k = 0; solved && k < e.unknowns; ++k)
      row[n + k] = depending_on(equations.u[k], r, by[k], e.unknowns);
  } else if constexpr (requires { in[0][0]; }) {
    double one[max_law_inputs];
    T found[max_unknowns];
    for (int lane = 0; lane < T::lanes; ++lane) {
      for (int k = 0; k < n; ++k)
        one[k] = in[k][lane];
      const bool solved = find_unknowns(equations, one, matrix, false);
      for (int k = 0; k < e.unknowns; ++k)
        found[k].set(lane, solved ? equations.u[k] : none);
    }
    load_program(m, m.programs, program, in, row);
    for (int k = 0; k < e.unknowns; ++k)
      row[n + k] = found[k];
    run_parts(m, m.programs, program, ProgramPart::known, ProgramPart::known, row);
  } else {
    row = numbers;
    if (!find_unknowns(equations, in, matrix, false)) {
      for (int k = 0; k < e.unknowns; ++k)
        row[n + k] = none;
      equations.residuals();
    }
    run_parts(m, m.programs, program, ProgramPart::results, last, row);
  }
  if constexpr (requires { in[0][0]; } || differentiates<T>) {
    run_parts(m, m.programs, program, ProgramPart::residuals, ProgramPart::residuals, row);
    run_parts(m, m.programs, program, ProgramPart::results, last, row);
  }
  const int results = first_residual(e);
  for (int k = 0; k < results; ++k)
    outputs[k] = result_of(m.programs, program, row, k);
}

template void solve_law(const ModelData &, const ElementData &, double *, int, double *, double *, double *,
                        ProgramPart);
template void solve_law(const ModelData &, const ElementData &, Pack *, int, Pack *, double *, Pack *, ProgramPart);
template void solve_law(const ModelData &, const ElementData &, Dual *, int, Dual *, double *, Dual *, ProgramPart);
template void solve_law(const ModelData &, const ElementData &, Traced *, int, Traced *, double *, Traced *,
                        ProgramPart);

} // namespace dalembert::DALEMBERT_ISA
