#include "bind/model_queries.hpp"
#include "bind/arrays.hpp"
#include "bind/kernel_methods.hpp"
#include "bind/signals.hpp"
#include <nanobind/ndarray.h>

namespace dalembert::bind {

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

// an evaluation of self-stress: the model without elements, and conditions
struct SelfStressCall {
  ModelData data;
  Scope scope;
  Conditions conditions;
  BlockLease memory;

  SelfStressCall(const BoundModel &model, const Doubles &q, const nb::object &chosen)
      : data(without_elements(model, q, chosen)),
        scope(model.data, chosen.is_none() ? *model.described : *of_model(model, chosen)), conditions(scope.conditions),
        memory(model.singles, model.kernels->bytes_stress(data)) {
    conditions.callbacks = nullptr;
  }
  static const BoundConditions *of_model(const BoundModel &model, const nb::object &chosen) {
    const BoundConditions *conditions = nb::cast<BoundConditions *>(chosen);
    if (!of_one_family(*conditions->owner, model))
      throw nb::value_error("the conditions belong to another model");
    return conditions;
  }
  // the model with the mapped parameters of its conditions
  static const ModelData &of_conditions(const BoundModel &model, const nb::object &chosen) {
    return chosen.is_none() ? model.data : of_model(model, chosen)->owner->data;
  }
  static ModelData without_elements(const BoundModel &model, const Doubles &q, const nb::object &chosen) {
    if (q.size() != std::size_t(model.data.nq))
      throw nb::value_error("q has the wrong size");
    ModelData data = of_conditions(model, chosen);
    data.element_count = data.feedback_count = data.switching_count = 0;
    return data;
  }
};

// states of self-stress at q: multipliers (k, nc) and loads of connections (k, connections, 6)
nb::tuple self_stress(const BoundModel &model, double t, const Doubles &q, const nb::object &conditions) {
  SelfStressCall evaluation(model, q, conditions);
  const ModelData &m = evaluation.data;
  const npy_intp most = m.nc, connections = connection_count(m);
  std::vector<double> multipliers(std::size_t(most * m.nc)), loads(std::size_t(6 * most * connections));
  const npy_intp n = model.kernels->stress(m, evaluation.memory.data(), evaluation.conditions, t, q.data(),
                                           multipliers.data(), loads.data());
  nb::object first = new_array({n, m.nc}), second = new_array({n, connections, 6});
  std::copy_n(multipliers.data(), n * m.nc, data_of(first));
  std::copy_n(loads.data(), 6 * n * connections, data_of(second));
  return nb::make_tuple(first, second);
}

// loads of all connections (connections, 6) and multipliers (nc) of a motion at q, made those of least norm
nb::tuple minimum_norm_loads(const BoundModel &model, double t, const Doubles &q, const nb::object &conditions,
                             const Doubles &loads, const Doubles &lambda) {
  SelfStressCall evaluation(model, q, conditions);
  const ModelData &m = evaluation.data;
  const npy_intp connections = connection_count(m);
  if (loads.size() != 6 * std::size_t(connections) || lambda.size() != std::size_t(m.nc))
    throw nb::value_error("the loads do not fit the model");
  nb::object first = new_array({connections, 6}), second = new_array({m.nc});
  std::copy_n(loads.data(), 6 * connections, data_of(first));
  std::copy_n(lambda.data(), m.nc, data_of(second));
  if (m.nc)
    model.kernels->share(m, evaluation.memory.data(), evaluation.conditions, t, q.data(), data_of(first),
                         data_of(second));
  return nb::make_tuple(first, second);
}

// residuals of an element's unknowns and their slopes, (n, m + m m), at inputs and unknowns (n, inputs + m)
nb::object law_equations(const BoundModel &model, int element, const Doubles &rows) {
  const ModelData &m = model.data;
  if (element < 0 || element >= m.element_count || m.elements[element].form != LawForm::program)
    throw nb::value_error("there is no such law");
  const ElementData &e = m.elements[element];
  const std::size_t inputs = std::size_t(m.programs.programs[e.law].inputs);
  if (rows.ndim() != 2 || rows.shape(1) != inputs)
    throw nb::value_error("the inputs do not fit the law");
  const npy_intp count = npy_intp(rows.shape(0)), size = e.unknowns * (e.unknowns + 1);
  nb::object found = new_array({count, size});
  std::vector<double> values(std::size_t(m.programs.max_values));
  for (npy_intp k = 0; k < count; ++k)
    model.kernels->law_equations(m, element, rows.data() + std::size_t(k) * inputs, values.data(),
                                 data_of(found) + k * size);
  return found;
}

using Places = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

// Subtrees of the degrees of freedom (nv): where the range of columns of each row above the diagonal ends.
nb::object subtree_ends(const BoundModel &model) {
  const ModelData &m = model.data;
  std::vector<std::int64_t> ends(std::size_t(m.nv));
  for (int i = 1; i <= m.nb; ++i)
    for (int k = 0; k < m.bodies[i].nv; ++k)
      ends[std::size_t(m.bodies[i].v + k)] = m.bodies[i].v_end;
  nb::object result = new_array({m.nv});
  std::copy(ends.begin(), ends.end(), data_of(result));
  return result;
}

// Numbers of the mass matrix in compressed rows, into values.
void sparse_mass_matrix(const BoundModel &model, const Doubles &q, const Places &diagonal, const Places &row_end,
                        const Places &below, nb::ndarray<double, nb::c_contig, nb::device::cpu> values) {
  const ModelData &m = model.data;
  const std::size_t nv = std::size_t(m.nv), size = values.size();
  if (q.size() != std::size_t(m.nq) || diagonal.size() != nv || row_end.size() != nv ||
      size != nv + 2 * below.size() || (nv && std::size_t(row_end.data()[nv - 1]) != size))
    throw nb::value_error("the arrays do not fit the model");
  BlockLease memory(model.singles, model.kernels->bytes_factor(m));
  model.kernels->sparse_mass_matrix(m, memory.data(), q.data(), std::int64_t(size), diagonal.data(), row_end.data(),
                                    below.data(), values.data());
}

// Kinematic motion at times (n,) from q: (nq,), or with positions (n, nq) that are given, rates only. Returns q, v, a,
// jerks (None if not wanted) and slack of the rows that were reached, the last position and its velocities, and
// (status, t, rounds).
nb::tuple sweep(const BoundModel &model, const Doubles &times, const Doubles &q, const nb::object &conditions,
                const Doubles &row_scale, double floor, bool jerk, std::int64_t most) {
  const ModelData &m = SelfStressCall::of_conditions(model, conditions);
  const npy_intp n = npy_intp(times.size()), nq = m.nq, nv = m.nv;
  const bool placed = q.ndim() == 2;
  if (row_scale.size() != std::size_t(m.nc) || q.size() != std::size_t(placed ? n * nq : nq))
    throw nb::value_error("the arrays do not fit the model");
  if (n == 0)
    throw nb::value_error("give at least one time");
  Scope scope(m, conditions.is_none() ? *model.described : *SelfStressCall::of_model(model, conditions));
  BlockLease memory(model.singles, model.kernels->bytes_sweep(m, scope.conditions, jerk));
  nb::object qs = new_array({n, nq}), vs = new_array({n, nv}), as = new_array({n, nv}), slack = new_array({n});
  nb::object js = jerk ? new_array({n, nv}) : nb::none(), q_last = new_array({nq}), v_last = new_array({nv});
  std::copy_n(q.data(), q.size(), data_of(qs));
  std::copy_n(q.data(), nq, data_of(q_last));
  std::fill_n(data_of(v_last), nv, 0.0);
  SweepCall call{};
  call.times = times.data(), call.count = n, call.placed = placed;
  call.q = data_of(qs), call.v = data_of(vs), call.a = data_of(as), call.jerk = jerk ? data_of(js) : nullptr,
  call.slack = data_of(slack);
  call.q_last = data_of(q_last), call.v_last = data_of(v_last), call.t_last = times.data()[0];
  call.most = most;
  SignalCheck signals;
  call.stop = signals.stop();
  SweepStatus status;
  {
    nb::gil_scoped_release release;
    status = model.kernels->sweep(m, memory.data(), scope.conditions, row_scale.data(), floor, call);
  }
  if (signals.raise() || scope.raise())
    throw nb::python_error();
  return nb::make_tuple(qs, vs, as, js, slack, q_last, v_last, call.t_last, int(status), call.done, call.steps,
                        call.corrections, call.crossings);
}

} // namespace

void add_model_queries(nb::class_<BoundModel> &model) {
  model.def("_self_stress", &self_stress, nb::arg("t"), nb::arg("q"), nb::arg("conditions").none())
      .def("_law_equations", &law_equations, nb::arg("element"), nb::arg("rows"))
      .def("_minimum_norm_loads", &minimum_norm_loads, nb::arg("t"), nb::arg("q"), nb::arg("conditions").none(),
           nb::arg("loads"), nb::arg("lam"))
      .def("_subtree_ends", &subtree_ends)
      .def("_sparse_mass_matrix", &sparse_mass_matrix, nb::arg("q"), nb::arg("diagonal"), nb::arg("row_end"),
           nb::arg("below"), nb::arg("values"))
      .def("_sweep", &sweep, nb::arg("times"), nb::arg("q"), nb::arg("conditions").none(), nb::arg("row_scale"),
           nb::arg("floor"), nb::arg("jerk"), nb::arg("most"));
}

} // namespace dalembert::bind
