#include "elements/program.hpp"
#include "elements/tables.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T>
void run_program(const ModelData &m, const ProgramTable &table, const ProgramData &program, const T *inputs, T *values, T *outputs,
                 const Branches<T> &branches) {
  const Instruction *code = table.instructions + program.first;
  for (int k = 0; k < program.count; ++k) {
    const Instruction &i = code[k];
    switch (i.operation) {
    case Operation::constant:
      values[k] = T(table.constants[i.a]);
      break;
    case Operation::input:
      values[k] = inputs[i.a];
      break;
    case Operation::add:
      values[k] = values[i.a] + values[i.b];
      break;
    case Operation::subtract:
      values[k] = values[i.a] - values[i.b];
      break;
    case Operation::multiply:
      values[k] = values[i.a] * values[i.b];
      break;
    case Operation::divide:
      values[k] = values[i.a] / values[i.b];
      break;
    case Operation::negate:
      values[k] = -values[i.a];
      break;
    case Operation::power:
      values[k] = power(values[i.a], values[i.b]);
      break;
    case Operation::root:
      values[k] = root(values[i.a]);
      break;
    case Operation::exponential:
      values[k] = exponential(values[i.a]);
      break;
    case Operation::logarithm:
      values[k] = logarithm(values[i.a]);
      break;
    case Operation::sine:
    case Operation::cosine: {
      T s, c;
      sincos(values[i.a], s, c);
      values[k] = i.operation == Operation::sine ? s : c;
      break;
    }
    case Operation::arctangent:
      values[k] = arctangent(values[i.a]);
      break;
    case Operation::arctangent2:
      values[k] = arctan2(values[i.a], values[i.b]);
      break;
    case Operation::hyperbolic_tangent:
      values[k] = hyperbolic_tangent(values[i.a]);
      break;
    case Operation::absolute:
      values[k] = branches.sides && i.branch ? select(branches.less_of(i, values[i.a], T(0.0)), -values[i.a], values[i.a]) : absolute(values[i.a]);
      break;
    case Operation::smaller:
      values[k] = select(branches.less_of(i, values[i.a], values[i.b]), values[i.a], values[i.b]);
      break;
    case Operation::larger:
      values[k] = select(branches.less_of(i, values[i.a], values[i.b]), values[i.b], values[i.a]);
      break;
    case Operation::less:
      values[k] = select(branches.less_of(i, values[i.a], values[i.b]), values[i.c], values[i.d]);
      break;
    case Operation::lookup: {
      const T at[3] = {values[i.b], values[i.c], values[i.d]};
      values[k] = look_up(m, m.tables[i.a], at);
      break;
    }
    case Operation::floor:
      values[k] = whole(branches.sides && i.branch ? branches.decisive(i.branch - 1, values[i.a]) : values[i.a]);
      break;
    }
  }
  for (int k = 0; k < program.outputs; ++k)
    outputs[k] = values[table.outputs[program.output + k]];
}

template void run_program(const ModelData &, const ProgramTable &, const ProgramData &, const double *, double *, double *,
                          const Branches<double> &);
template void run_program(const ModelData &, const ProgramTable &, const ProgramData &, const Pack *, Pack *, Pack *,
                          const Branches<Pack> &);
template void run_program(const ModelData &, const ProgramTable &, const ProgramData &, const Dual *, Dual *, Dual *,
                          const Branches<Dual> &);

} // namespace dalembert::DALEMBERT_ISA
