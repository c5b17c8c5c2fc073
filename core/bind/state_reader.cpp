#include "bind/state_reader.hpp"
#include "bind/conditions.hpp"
#include "bind/kernel_methods.hpp"
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace dalembert::bind {

namespace {

constexpr const char *state_names[] = {"q", "v", "x"};
constexpr int state_count = 3;

constexpr std::pair<const char *, Kernel> point_kernels[] = {{"pose", Kernel::point_poses},
                                                             {"velocity", Kernel::point_velocities},
                                                             {"acceleration", Kernel::point_accelerations}};

} // namespace

void StateReader::add(const nb::handle &given, const ModelData &m) {
  if (nb::isinstance<nb::str>(given)) {
    const std::string_view name = nb::cast<const char *>(given);
    int state = -1, part = -1;
    for (int k = 0; k < state_count; ++k)
      if (name == state_names[k])
        state = k;
    for (int k = 0; k < int(ReportPart::count); ++k)
      if (name == report_names[k])
        part = k;
    if (!(state >= 0 ? plain.add_state(state, m) : plain.add_part(part, m)))
      throw nb::value_error("there is no such part of a state");
    return;
  }
  const std::string_view kind = nb::cast<const char *>(given[0]);
  const auto found = std::find_if(std::begin(point_kernels), std::end(point_kernels),
                                  [&](const auto &each) { return kind == each.first; });
  points.push_back(nb::borrow(given[1]));
  if (found == std::end(point_kernels) || !is_made(points.back().ptr(), points_type()))
    throw nb::value_error("give a kind of motion, and points");
  if (!plain.add_points(found->second, nb::inst_ptr<BoundPoints>(points.back())->data, m))
    throw nb::value_error("give one point of the model");
}

StateReader::StateReader(const nb::object &model, const nb::list &given, std::size_t count, const Places &columns,
                         const Doubles &factors) {
  if (!is_made(model.ptr(), model_type()))
    throw nb::type_error("give a model");
  const ModelData &m = bound(model.ptr())->data;
  for (const nb::handle each : given)
    add(each, m);
  if (columns.size() != 3 * factors.size())
    throw nb::value_error("the terms do not fit");
  std::vector<dalembert::StateReader::Term> terms;
  for (std::size_t k = 0; k < factors.size(); ++k) {
    const std::int64_t *term = columns.data() + 3 * k;
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (std::any_of(term, term + 3, [](std::int64_t place) { return place < 0 || place > most; }))
      throw nb::value_error("a term does not exist");
    terms.push_back({std::int32_t(term[0]), std::int32_t(term[1]), std::int32_t(term[2]), factors.data()[k]});
  }
  if (!plain.set_terms(count, std::move(terms), m))
    throw nb::value_error("a term does not exist");
}

void StateReader::read_under(const nb::object &conditions, double t, const Doubles &q, const Doubles &v,
                             const Doubles &x, const nb::ndarray<double, nb::c_contig, nb::device::cpu> &out) {
  if (!is_made(conditions.ptr(), conditions_type()))
    throw nb::type_error("give conditions");
  const BoundConditions &chosen = *nb::inst_ptr<BoundConditions>(conditions.ptr());
  const ModelData &m = chosen.owner->data;
  if (q.size() != std::size_t(m.nq) || v.size() != std::size_t(m.nv) || x.size() != std::size_t(m.nx) ||
      out.size() != count())
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
