#include "bind/state_reader.hpp"
#include "bind/conditions.hpp"
#include "bind/kernel_methods.hpp"
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace dalembert::bind {

namespace {

constexpr const char *state_names[] = {"q", "v", "x"};
constexpr int state_count = 3;

constexpr std::pair<const char *, Kernel> point_kernels[] = {{"pose", Kernel::point_poses},
                                                             {"velocity", Kernel::point_velocities},
                                                             {"acceleration", Kernel::point_accelerations}};

void set_state(Call &call, const ModelData &m, const StateReader::State &state) {
  call.take(ArgumentKind::q) = {state.q, 0, m.nq};
  call.take(ArgumentKind::v) = {state.v, 0, m.nv};
}

} // namespace

void StateReader::add(const nb::handle &given, const ModelData &m) {
  Source &made = sources.emplace_back();
  made.offset = numbers.size();
  if (nb::isinstance<nb::str>(given)) {
    const std::string_view name = nb::cast<const char *>(given);
    for (int k = 0; k < state_count; ++k)
      if (name == state_names[k])
        made.state = k;
    for (int k = 0; k < int(ReportPart::count); ++k)
      if (name == report_names[k])
        made.part = k;
    if (made.state < 0 && made.part < 0)
      throw nb::value_error("there is no such part of a state");
    const std::int32_t sizes[] = {m.nq, m.nv, m.nx};
    made.size = made.state >= 0 ? std::size_t(sizes[made.state]) : report_size(made.part, m);
    needs_report = needs_report || made.state < 0;
  } else {
    const std::string_view kind = nb::cast<const char *>(given[0]);
    for (const auto &[name, kernel] : point_kernels)
      if (kind == name)
        made.kernel = kernel, made.size = kernel == Kernel::point_poses ? 12 : 6;
    made.points = nb::borrow(given[1]);
    if (!made.size || !is_made(made.points.ptr(), points_type()))
      throw nb::value_error("give a kind of motion, and points");
    const BoundPoints &points = *nb::inst_ptr<BoundPoints>(made.points);
    if (points.data.count != 1 || points.data.body > m.nb ||
        (points.data.nodes && m.bodies[points.data.body].form != JointForm::modal))
      throw nb::value_error("give one point of the model");
    needs_a = needs_a || made.kernel == Kernel::point_accelerations;
    needs_report = needs_report || needs_a;
  }
  numbers.resize(made.offset + made.size);
}

StateReader::StateReader(const nb::object &model, const nb::list &given, std::size_t count, const Places &columns,
                         const Doubles &factors)
    : size(count) {
  if (!is_made(model.ptr(), model_type()))
    throw nb::type_error("give a model");
  const ModelData &m = bound(model.ptr())->data;
  for (const nb::handle each : given)
    add(each, m);
  if (columns.size() != 3 * factors.size())
    throw nb::value_error("the terms do not fit");
  for (std::size_t k = 0; k < factors.size(); ++k) {
    const std::int64_t *term = columns.data() + 3 * k;
    if (term[0] < 0 || std::size_t(term[0]) >= count || term[1] < 0 || std::size_t(term[1]) >= sources.size() ||
        term[2] < 0 || std::size_t(term[2]) >= sources[std::size_t(term[1])].size)
      throw nb::value_error("a term does not exist");
    terms.push_back({std::int32_t(term[0]), std::int32_t(term[1]), std::int32_t(term[2]), factors.data()[k]});
  }
  a_offset = numbers.size();
  numbers.resize(a_offset + std::size_t(m.nv));
  values.resize(sources.size());
}

bool StateReader::evaluate_report(const BoundModel &model, const Conditions &conditions, const State &state) {
  const ModelData &m = model.data;
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
  if (model.run_one(m, call) & callback_failed)
    return false;
  if (const double *found = call.out[int(ReportPart::a)].data; needs_a && found != a)
    std::memcpy(a, found, std::size_t(m.nv) * sizeof *a);
  return true;
}

bool StateReader::read(const BoundModel &model, const Conditions &conditions, const State &state, double *out) {
  const ModelData &m = model.data;
  if (needs_report && !evaluate_report(model, conditions, state))
    return false;
  const double *parts[state_count] = {state.q, state.v, state.x};
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const Source &each = sources[k];
    values[k] = each.state >= 0 ? parts[each.state] : numbers.data() + each.offset;
    if (!each.points.is_valid())
      continue;
    Call call;
    call.kernel = each.kernel;
    call.outputs = 1;
    call.out[0] = {numbers.data() + each.offset, 0, std::ptrdiff_t(each.size)};
    call.points = nb::inst_ptr<BoundPoints>(each.points)->data;
    set_state(call, m, state);
    if (each.kernel == Kernel::point_accelerations)
      call.take(ArgumentKind::a) = {numbers.data() + a_offset, 0, m.nv};
    model.run_one(m, call);
  }
  std::fill_n(out, size, 0.0);
  for (const Term &term : terms)
    out[term.out] += term.factor * values[std::size_t(term.source)][term.index];
  return true;
}

void StateReader::read_under(const nb::object &conditions, double t, const Doubles &q, const Doubles &v,
                             const Doubles &x, const nb::ndarray<double, nb::c_contig, nb::device::cpu> &out) {
  if (!is_made(conditions.ptr(), conditions_type()))
    throw nb::type_error("give conditions");
  const BoundConditions &chosen = *nb::inst_ptr<BoundConditions>(conditions.ptr());
  const ModelData &m = chosen.owner->data;
  if (q.size() != std::size_t(m.nq) || v.size() != std::size_t(m.nv) || x.size() != std::size_t(m.nx) ||
      out.size() != size)
    throw nb::value_error("the arrays do not fit the model and the columns");
  Scope scope(m, chosen);
  const bool done = read(*chosen.owner, scope.conditions, {t, q.data(), v.data(), x.data()}, out.data());
  if (scope.raise())
    throw nb::python_error();
  if (!done)
    throw std::runtime_error("a callback has failed");
}

void add_state_reader(nb::module_ &module) {
  nb::class_<StateReader>(module, "StateReader")
      .def(nb::init<const nb::object &, const nb::list &, std::size_t, const Places &, const Doubles &>(),
           nb::arg("model"), nb::arg("sources"), nb::arg("count"), nb::arg("terms"), nb::arg("factors"))
      .def("read", &StateReader::read_under, nb::arg("conditions"), nb::arg("t"), nb::arg("q"), nb::arg("v"),
           nb::arg("x"), nb::arg("out"))
      .def("__len__", &StateReader::count);
}

} // namespace dalembert::bind
