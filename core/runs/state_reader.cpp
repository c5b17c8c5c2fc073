#include "runs/state_reader.hpp"
#include <algorithm>
#include <cstring>
#include <utility>

namespace dalembert {

std::size_t report_size(int part, const ModelData &m) {
  const auto size = [](std::int64_t count) { return std::size_t(count); };
  switch (ReportPart(part)) {
  case ReportPart::a:
  case ReportPart::tau:
  case ReportPart::applied:
    return size(m.nv);
  case ReportPart::dx:
    return size(m.nx);
  case ReportPart::lambda:
  case ReportPart::residual:
  case ReportPart::residual_rate:
    return size(m.nc);
  case ReportPart::loads:
  case ReportPart::unique:
    return 6 * size(connection_count(m));
  case ReportPart::cut_q:
    return size(m.cut_nq);
  case ReportPart::cut_v:
  case ReportPart::cut_a:
  case ReportPart::cut_effort:
    return size(m.cut_nv);
  case ReportPart::constraint_effort:
    return size(m.nv + m.cut_nv);
  case ReportPart::measures:
  case ReportPart::rates:
  case ReportPart::forces:
    return size(m.measure_count);
  case ReportPart::energies:
  case ReportPart::losses:
  case ReportPart::gains:
    return size(m.element_count);
  case ReportPart::port_loads:
    return 6 * size(m.port_count);
  case ReportPart::body_loads:
    return 6 * size(m.users);
  case ReportPart::signals:
    return size(m.signal_count);
  case ReportPart::law_inputs:
    return size(m.law_input_count);
  case ReportPart::energy:
    return 6;
  case ReportPart::requested_effort:
    return size(m.actuator_count);
  case ReportPart::switching_functions:
    return size(m.switching_count);
  case ReportPart::count:
    break;
  }
  return 0;
}

bool StateReader::add(Source source) {
  source.offset = numbers.size();
  numbers.resize(source.offset + source.size);
  sources.push_back(source);
  return true;
}

bool StateReader::add_state(int which, const ModelData &m) {
  if (which < 0 || which > 2)
    return false;
  const std::int32_t sizes[] = {m.nq, m.nv, m.nx};
  Source made;
  made.state = which, made.size = std::size_t(sizes[which]);
  return add(made);
}

bool StateReader::add_part(int part, const ModelData &m) {
  if (part < 0 || part >= int(ReportPart::count))
    return false;
  Source made;
  made.part = part, made.size = report_size(part, m);
  needs_report = true;
  return add(made);
}

bool StateReader::add_points(Kernel kernel, const PointsData &points, const ModelData &m) {
  if (points.count != 1 || points.body < 0 || points.body > m.nb ||
      (points.nodes && m.bodies[points.body].form != JointForm::modal))
    return false;
  Source made;
  made.kernel = kernel, made.points = points, made.size = kernel == Kernel::point_poses ? 12 : 6;
  needs_a = needs_a || kernel == Kernel::point_accelerations;
  needs_report = needs_report || needs_a;
  return add(made);
}

bool StateReader::set_terms(std::size_t count, std::vector<Term> all, const ModelData &m) {
  for (const Term &term : all)
    if (term.out < 0 || std::size_t(term.out) >= count || term.source < 0 ||
        std::size_t(term.source) >= sources.size() || term.index < 0 ||
        std::size_t(term.index) >= sources[std::size_t(term.source)].size)
      return false;
  size = count, terms = std::move(all);
  a_offset = numbers.size();
  numbers.resize(a_offset + std::size_t(m.nv));
  values.resize(sources.size());
  return true;
}

namespace {

void set_state(Call &call, const ModelData &m, const StateReader::State &state) {
  call.take(ArgumentKind::q) = {state.q, 0, m.nq};
  call.take(ArgumentKind::v) = {state.v, 0, m.nv};
}

unsigned run_one(const KernelSet &kernels, const ModelData &m, BlockPool &memory, const Call &call) {
  BlockLease block(memory, kernels.bytes_one(m, call));
  return kernels.evaluate_state(m, block.data(), call, 0);
}

} // namespace

bool StateReader::evaluate_report(const KernelSet &kernels, const ModelData &m, BlockPool &memory,
                                  const Conditions &conditions, const State &state) {
  Call call;
  call.kernel = Kernel::report;
  call.outputs = int(ReportPart::count);
  for (int k = 0; k < call.outputs; ++k)
    call.out[k] = {nullptr, 0, 0};
  for (const Source &each : sources)
    if (each.part >= 0)
      call.out[each.part] = {numbers.data() + each.offset, 0, std::ptrdiff_t(each.size)};
  double *a = numbers.data() + a_offset;
  if (needs_a && !call.out[int(ReportPart::a)].data)
    call.out[int(ReportPart::a)] = {a, 0, m.nv};
  set_state(call, m, state);
  call.take(ArgumentKind::t) = {&state.t, 0, 1};
  call.take(ArgumentKind::x) = {state.x, 0, m.nx};
  call.conditions = &conditions;
  if (run_one(kernels, m, memory, call) & callback_failed)
    return false;
  if (const double *found = call.out[int(ReportPart::a)].data; needs_a && found != a)
    std::memcpy(a, found, std::size_t(m.nv) * sizeof *a);
  return true;
}

bool StateReader::read(const KernelSet &kernels, const ModelData &m, BlockPool &memory, const Conditions &conditions,
                       const State &state, double *out) {
  if (needs_report && !evaluate_report(kernels, m, memory, conditions, state))
    return false;
  const double *parts[] = {state.q, state.v, state.x};
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const Source &each = sources[k];
    values[k] = each.state >= 0 ? parts[each.state] : numbers.data() + each.offset;
    if (each.state >= 0 || each.part >= 0)
      continue;
    Call call;
    call.kernel = each.kernel;
    call.outputs = 1;
    call.out[0] = {numbers.data() + each.offset, 0, std::ptrdiff_t(each.size)};
    call.points = each.points;
    set_state(call, m, state);
    if (each.kernel == Kernel::point_accelerations)
      call.take(ArgumentKind::a) = {numbers.data() + a_offset, 0, m.nv};
    run_one(kernels, m, memory, call);
  }
  std::fill_n(out, size, 0.0);
  for (const Term &term : terms)
    out[term.out] += term.factor * values[std::size_t(term.source)][term.index];
  return true;
}

} // namespace dalembert
