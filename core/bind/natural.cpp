#include "bind/natural.hpp"
#include "bind/arrays.hpp"
#include "bind/signals.hpp"
#include "natural/sweep.hpp"
#include <nanobind/ndarray.h>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int32_t, nb::c_contig, nb::device::cpu>;
using natural::Kind;
using natural::Rows;
using natural::Scratch;
using natural::Term;

// how far a term reaches from each of its places
int reach(const Term &term) {
  switch (term.kind) {
  case Kind::dot:
    return term.part;
  case Kind::cross:
    return term.part == 2 ? 2 : 3;
  case Kind::triple:
    return 3;
  default:
    return 1;
  }
}
int places_of(const Term &term) {
  switch (term.kind) {
  case Kind::constant:
    return 0;
  case Kind::dot:
  case Kind::cross:
    return 4;
  case Kind::triple:
    return 6;
  default:
    return 1;
  }
}

// base: (N,) X with fixed coordinates; column: (N,) what each place is (rows.hpp); terms: (k, 9) row, kind, part, six
// places; factors: (k,); rows come in order
void make_rows(Rows *self, int count, const Doubles &base, const Places &column, const Places &terms,
               const Doubles &factors) {
  if (count < 0 || base.ndim() != 1 || column.size() != base.size() || terms.ndim() != 2 || terms.shape(1) != 9 ||
      factors.size() != terms.shape(0))
    throw nb::value_error("the terms do not fit");
  Rows rows;
  rows.count = count;
  rows.base.assign(base.data(), base.data() + base.size());
  rows.column.assign(column.data(), column.data() + column.size());
  rows.base.insert(rows.base.end(), 3, 0.0);
  rows.column.insert(rows.column.end(), 3, -1);
  for (std::int32_t c : rows.column)
    rows.n += c >= 0, rows.driven += c < -1;
  rows.places.assign(std::size_t(rows.n + rows.driven), -1);
  for (std::int32_t place = 0; place < rows.size(); ++place) {
    const std::int32_t c = rows.column[place], k = c >= 0 ? c : rows.n - 2 - c;
    if (c == -1)
      continue;
    if (k >= rows.n + rows.driven || (c >= 0 && k >= rows.n) || rows.places[k] >= 0)
      throw nb::value_error("the columns do not fit");
    rows.places[k] = place;
  }
  rows.first.assign(std::size_t(count) + 1, 0);
  const std::int32_t *data = terms.data();
  std::int32_t last = 0;
  for (std::size_t k = 0; k < terms.shape(0); ++k, data += 9) {
    Term term{Kind(data[1]), data[2], {}, factors.data()[k]};
    std::copy_n(data + 3, 6, term.at);
    bool fits = data[0] >= last && data[0] < count && data[1] >= 0 && data[1] <= int(Kind::sine) && data[2] >= 0 &&
                data[2] <= 3;
    for (int i = 0; fits && i < places_of(term); ++i)
      fits = term.at[i] >= 0 && term.at[i] + reach(term) <= rows.size();
    if (!fits)
      throw nb::value_error("a term does not fit");
    last = data[0];
    rows.terms.push_back(term);
    ++rows.first[std::size_t(last) + 1];
  }
  for (int row = 0; row < count; ++row)
    rows.first[row + 1] += rows.first[row];
  new (self) Rows(std::move(rows));
}

void fit(const Rows &rows, std::initializer_list<const Doubles *> vectors, const Doubles &known) {
  for (const Doubles *x : vectors)
    if (x->ndim() != 1 || x->shape(0) != std::size_t(rows.n))
      throw nb::value_error("a vector has the wrong size");
  if (known.size() != 4 * std::size_t(rows.driven))
    throw nb::value_error("the driven coordinates do not fit");
}

nb::object residual(const Rows &rows, const Doubles &q, const Doubles &known) {
  fit(rows, {&q}, known);
  Scratch scratch(rows);
  nb::object result = new_array({rows.count});
  natural::residual(rows, scratch, q.data(), known.data(), data_of(result));
  return result;
}

nb::object jacobian(const Rows &rows, const Doubles &q, const Doubles &known) {
  fit(rows, {&q}, known);
  Scratch scratch(rows);
  nb::object result = new_array({rows.count, rows.n});
  natural::jacobian(rows, scratch, q.data(), known.data(), data_of(result));
  return result;
}

nb::object velocity_terms(const Rows &rows, const Doubles &q, const Doubles &known) {
  fit(rows, {&q}, known);
  Scratch scratch(rows);
  nb::object result = new_array({rows.count});
  natural::velocity_terms(rows, scratch, q.data(), known.data(), data_of(result));
  return result;
}

nb::object acceleration_terms(const Rows &rows, const Doubles &q, const Doubles &v, const Doubles &known) {
  fit(rows, {&q, &v}, known);
  Scratch scratch(rows);
  nb::object result = new_array({rows.count});
  natural::acceleration_terms(rows, scratch, q.data(), v.data(), known.data(), data_of(result));
  return result;
}

nb::object jerk_terms(const Rows &rows, const Doubles &q, const Doubles &v, const Doubles &a, const Doubles &known) {
  fit(rows, {&q, &v, &a}, known);
  Scratch scratch(rows);
  nb::object result = new_array({rows.count});
  natural::jerk_terms(rows, scratch, q.data(), v.data(), a.data(), known.data(), data_of(result));
  return result;
}

// Kinematic motion at times (k,) from q (n,): driven (k, 4, driven). Returns what Model._sweep does.
nb::tuple sweep(const Rows &rows, const Doubles &times, const Doubles &q, const Doubles &driven,
                const Doubles &row_scale, const Doubles &column_scale, double floor, bool jerk, std::int64_t most) {
  const npy_intp k = npy_intp(times.size()), n = rows.n;
  if (!k || q.size() != std::size_t(n) || driven.size() != std::size_t(4 * k * rows.driven) ||
      row_scale.size() != std::size_t(rows.count) || column_scale.size() != std::size_t(n))
    throw nb::value_error("the arrays do not fit the rows");
  nb::object qs = new_array({k, n}), vs = new_array({k, n}), as = new_array({k, n}), slack = new_array({k});
  nb::object js = jerk ? new_array({k, n}) : nb::none(), q_last = new_array({n}), v_last = new_array({n});
  std::copy_n(q.data(), n, data_of(qs));
  std::copy_n(q.data(), n, data_of(q_last));
  std::fill_n(data_of(v_last), n, 0.0);
  SweepCall call{};
  call.times = times.data(), call.count = k, call.placed = false;
  call.q = data_of(qs), call.v = data_of(vs), call.a = data_of(as), call.jerk = jerk ? data_of(js) : nullptr,
  call.slack = data_of(slack);
  call.q_last = data_of(q_last), call.v_last = data_of(v_last), call.t_last = times.data()[0];
  call.most = most;
  SignalCheck signals;
  call.stop = signals.stop();
  SweepStatus status;
  {
    nb::gil_scoped_release release;
    status = natural::sweep_rows(rows, driven.data(), row_scale.data(), column_scale.data(), floor, call);
  }
  if (signals.raise())
    throw nb::python_error();
  return nb::make_tuple(qs, vs, as, js, slack, q_last, v_last, call.t_last, int(status), call.done, call.steps,
                        call.corrections, call.crossings);
}

} // namespace

void add_natural(nb::module_ &module) {
  nb::class_<Rows>(module, "NaturalRows")
      .def("__init__", &make_rows, nb::arg("count"), nb::arg("base"), nb::arg("column"), nb::arg("terms"),
           nb::arg("factors"))
      .def("residual", &residual, nb::arg("q"), nb::arg("known"))
      .def("jacobian", &jacobian, nb::arg("q"), nb::arg("known"))
      .def("velocity_terms", &velocity_terms, nb::arg("q"), nb::arg("known"))
      .def("acceleration_terms", &acceleration_terms, nb::arg("q"), nb::arg("v"), nb::arg("known"))
      .def("jerk_terms", &jerk_terms, nb::arg("q"), nb::arg("v"), nb::arg("a"), nb::arg("known"))
      .def("sweep", &sweep, nb::arg("times"), nb::arg("q"), nb::arg("driven"), nb::arg("row_scale"),
           nb::arg("column_scale"), nb::arg("floor"), nb::arg("jerk"), nb::arg("most"));
}

} // namespace dalembert::bind
