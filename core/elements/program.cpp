#include "elements/program.hpp"
#include "elements/lookup_tables.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> void run_parts(const ModelData &m, const ProgramTable &table, const ProgramData &program,
                                  ProgramPart from, ProgramPart to, T *values, const LawBranches<T> &branches) {
  const Instruction *code = table.instructions + program.first;
  const int first = from == ProgramPart::known ? 0 : program.ends[int(from) - 1], end = program.ends[int(to)];
  T *results = values + program.inputs + program.constants;
  for (int k = first; k < end; ++k) {
    const Instruction &i = code[k];
    switch (i.operation) {
    case Operation::constant: // these stand in the row
    case Operation::input:
      break;
    case Operation::add:
      results[k] = values[i.a] + values[i.b];
      break;
    case Operation::subtract:
      results[k] = values[i.a] - values[i.b];
      break;
    case Operation::multiply:
      results[k] = values[i.a] * values[i.b];
      break;
    case Operation::divide:
      results[k] = values[i.a] / values[i.b];
      break;
    case Operation::negate:
      results[k] = -values[i.a];
      break;
    case Operation::power:
      results[k] = power(values[i.a], values[i.b]);
      break;
    case Operation::root:
      results[k] = root(values[i.a]);
      break;
    case Operation::exponential:
      results[k] = exponential(values[i.a]);
      break;
    case Operation::logarithm:
      results[k] = logarithm(values[i.a]);
      break;
    case Operation::sine:
    case Operation::cosine: {
      T s, c;
      sincos(values[i.a], s, c);
      results[k] = i.operation == Operation::sine ? s : c;
      if (i.operation == Operation::sine && k + 1 < program.count && code[k + 1].operation == Operation::cosine &&
          code[k + 1].a == i.a)
        results[++k] = c;
      break;
    }
    case Operation::arctangent:
      results[k] = arctangent(values[i.a]);
      break;
    case Operation::arctangent2:
      results[k] = arctan2(values[i.a], values[i.b]);
      break;
    case Operation::hyperbolic_tangent:
      results[k] = hyperbolic_tangent(values[i.a]);
      break;
    case Operation::absolute:
      results[k] = branches.held && i.branch
                       ? select(branches.less_of(i, values[i.a], T(0.0)), -values[i.a], values[i.a])
                       : absolute(values[i.a]);
      break;
    case Operation::smaller:
      results[k] = select(branches.less_of(i, values[i.a], values[i.b]), values[i.a], values[i.b]);
      break;
    case Operation::larger:
      results[k] = select(branches.less_of(i, values[i.a], values[i.b]), values[i.b], values[i.a]);
      break;
    case Operation::less:
      results[k] = select(branches.less_of(i, values[i.a], values[i.b]), values[i.c], values[i.d]);
      break;
    case Operation::lookup: {
      const T at[3] = {values[i.b], values[i.c], values[i.d]};
      if (branches.held && i.branch)
        results[k] =
            interpolate_table(m, m.tables[i.a], at, branches.pieces(i.branch - 1, at, m.tables[i.a].variables));
      else
        results[k] = interpolate_table(m, m.tables[i.a], at);
      break;
    }
    case Operation::floor:
      results[k] = whole(branches.held && i.branch ? branches.switching_value(i.branch - 1, values[i.a]) : values[i.a]);
      break;
    }
  }
}

template void run_parts(const ModelData &, const ProgramTable &, const ProgramData &, ProgramPart, ProgramPart,
                        double *, const LawBranches<double> &);
template void run_parts(const ModelData &, const ProgramTable &, const ProgramData &, ProgramPart, ProgramPart, Pack *,
                        const LawBranches<Pack> &);
template void run_parts(const ModelData &, const ProgramTable &, const ProgramData &, ProgramPart, ProgramPart, Dual *,
                        const LawBranches<Dual> &);
template void run_parts(const ModelData &, const ProgramTable &, const ProgramData &, ProgramPart, ProgramPart, Traced *,
                        const LawBranches<Traced> &);
template void run_parts(const ModelData &, const ProgramTable &, const ProgramData &, ProgramPart, ProgramPart,
                        Interval *, const LawBranches<Interval> &);

} // namespace dalembert::DALEMBERT_ISA
