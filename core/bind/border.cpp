#include "bind/border.hpp"
#include "bind/arrays.hpp"
#include "bind/batch.hpp"
#include "bind/gil.hpp"
#include "border/dalembert.h"
#include "border/model_file.hpp"
#include <cstring>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

dal_kind kind_of(int kind) {
  if (kind < 0 || kind >= border::kind_count)
    throw nb::value_error("there is no such kind");
  return dal_kind(kind);
}

// names of damaged files need not be UTF-8
nb::object text_of(const char *text) {
  return nb::steal(PyUnicode_DecodeUTF8(text, Py_ssize_t(std::strlen(text)), "replace"));
}

class FileModel {
public:
  explicit FileModel(const nb::bytes &bytes) {
    char text[512];
    const int code = dal_open(bytes.c_str(), bytes.size(), &model, text, sizeof text);
    if (code != DAL_OK)
      throw nb::value_error((std::to_string(code) + ": " + text).c_str());
  }
  FileModel(const FileModel &) = delete;
  ~FileModel() { dal_close(model); }
  dal_model *model = nullptr;
};

class FileRun {
public:
  FileRun(const FileModel &model, int method, double rtol, double atol_factor, double max_step, double fixed_step,
          std::int64_t max_steps)
      : model(model.model) {
    const dal_options options{sizeof(dal_options), method, rtol, atol_factor, max_step, fixed_step, max_steps};
    const int code = dal_run_new(model.model, &options, &run);
    if (code != DAL_OK)
      throw nb::value_error("the run cannot be made with these options");
  }
  FileRun(const FileRun &) = delete;
  ~FileRun() { dal_run_free(run); }

  // raises RuntimeError(code, message) below zero
  int check(int code) const {
    if (code < 0) {
      const nb::object error = nb::make_tuple(code, text_of(dal_message(run)));
      PyErr_SetObject(PyExc_RuntimeError, error.ptr());
      throw nb::python_error();
    }
    return code;
  }
  std::size_t count(int kind) const { return std::size_t(dal_count(model, kind_of(kind))); }

  const dal_model *model; // alive as long as the run is
  dal_run *run = nullptr;
};

nb::object new_doubles(std::size_t count) {
  std::vector<double> zeros(count, 0.0);
  return doubles(zeros.data(), {npy_intp(count)});
}

double *numbers(const nb::object &array) {
  return static_cast<double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(array.ptr())));
}

} // namespace

void add_border(nb::module_ &module) {
  module.def(
      "file_checksum", [](const nb::bytes &bytes) { return border::checksum(bytes.c_str(), bytes.size()); },
      nb::arg("bytes"));
  module.attr("file_format") = int(border::file_format);
  module.attr("fmu_isa") = DALEMBERT_FMU_SETS; // instruction sets of the library that FMUs carry
  nb::class_<FileModel>(module, "FileModel")
      .def(nb::init<const nb::bytes &>(), nb::arg("bytes"))
      .def("count", [](const FileModel &m, int kind) { return dal_count(m.model, kind_of(kind)); }, nb::arg("kind"))
      .def(
          "names",
          [](const FileModel &m, int kind) {
            nb::list all;
            for (std::int64_t k = 0; k < dal_count(m.model, kind_of(kind)); ++k)
              all.append(text_of(dal_name(m.model, dal_kind(kind), k)));
            return all;
          },
          nb::arg("kind"))
      .def(
          "units",
          [](const FileModel &m, int kind) {
            nb::list all;
            for (std::int64_t k = 0; k < dal_count(m.model, kind_of(kind)); ++k)
              all.append(text_of(dal_unit(m.model, dal_kind(kind), k)));
            return all;
          },
          nb::arg("kind"))
      .def_prop_ro("checksum", [](const FileModel &m) { return dal_checksum(m.model); })
      .def_prop_ro("start_time", [](const FileModel &m) { return dal_start_time(m.model); });
  nb::class_<FileRun>(module, "FileRun")
      .def(nb::init<const FileModel &, int, double, double, double, double, std::int64_t>(), nb::arg("model"),
           nb::arg("method") = -1, nb::arg("rtol") = 0.0, nb::arg("atol_factor") = 1.0, nb::arg("max_step") = 0.0,
           nb::arg("fixed_step") = 0.0, nb::arg("max_steps") = 0, nb::keep_alive<1, 2>())
      .def("start", [](FileRun &r, double t) { r.check(dal_start(r.run, t)); }, nb::arg("t") = 0.0)
      .def("reset", [](FileRun &r) { r.check(dal_reset(r.run)); })
      .def(
          "advance",
          [](FileRun &r, double until) {
            int code;
            {
              const Released released;
              code = dal_advance(r.run, until);
            }
            return r.check(code);
          },
          nb::arg("until"))
      .def_prop_ro("t", [](const FileRun &r) { return dal_time(r.run); })
      .def_prop_ro("method", [](const FileRun &r) { return std::string(dal_method(r.run)); })
      .def_prop_ro("counts",
                   [](const FileRun &r) {
                     dal_counts c{};
                     c.size = sizeof c;
                     dal_counts_of(r.run, &c);
                     return nb::make_tuple(c.steps, c.rejected, c.evaluations, c.jacobians, c.factorizations,
                                           c.projections);
                   })
      .def(
          "set",
          [](FileRun &r, int kind, std::int64_t index, double value) {
            r.check(dal_set(r.run, kind_of(kind), index, value));
          },
          nb::arg("kind"), nb::arg("index"), nb::arg("value"))
      .def(
          "write",
          [](FileRun &r, int kind, const Doubles &values) {
            if (values.size() != r.count(kind))
              throw nb::value_error("the values do not fit");
            r.check(dal_write(r.run, dal_kind(kind), values.data()));
          },
          nb::arg("kind"), nb::arg("values"))
      .def(
          "read",
          [](FileRun &r, int kind) {
            const nb::object all = new_doubles(r.count(kind));
            r.check(dal_read(r.run, dal_kind(kind), numbers(all)));
            return all;
          },
          nb::arg("kind"))
      .def("state",
           [](const FileRun &r) {
             std::string bytes(dal_state_bytes(r.run), '\0');
             r.check(dal_state_get(r.run, bytes.data(), bytes.size()));
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def(
          "set_state", [](FileRun &r, const nb::bytes &bytes) { r.check(dal_state_set(r.run, bytes.c_str(), bytes.size())); },
          nb::arg("state"))
      .def(
          "put",
          [](FileRun &r, double t, const Doubles &q, const Doubles &v, const Doubles &x) {
            if (q.size() != r.count(DAL_COORDINATE) || v.size() != r.count(DAL_SPEED) || x.size() != r.count(DAL_STATE))
              throw nb::value_error("the state does not fit the model");
            r.check(dal_put(r.run, t, q.data(), v.data(), x.data()));
          },
          nb::arg("t"), nb::arg("q"), nb::arg("v"), nb::arg("x"))
      .def("derivatives",
           [](FileRun &r) {
             const nb::object dq = new_doubles(r.count(DAL_COORDINATE)), a = new_doubles(r.count(DAL_SPEED)),
                              dx = new_doubles(r.count(DAL_STATE));
             r.check(dal_derivatives(r.run, numbers(dq), numbers(a), numbers(dx)));
             return nb::make_tuple(dq, a, dx);
           })
      .def("project",
           [](FileRun &r) {
             const nb::object q = new_doubles(r.count(DAL_COORDINATE)), v = new_doubles(r.count(DAL_SPEED)),
                              x = new_doubles(r.count(DAL_STATE));
             r.check(dal_project(r.run, numbers(q), numbers(v), numbers(x)));
             return nb::make_tuple(q, v, x);
           })
      .def("drift",
           [](FileRun &r) {
             double positions = 0.0, rates = 0.0;
             r.check(dal_drift(r.run, &positions, &rates));
             return nb::make_tuple(positions, rates);
           })
      .def(
          "motion_many",
          [](FileRun &r, const Doubles &q, const Doubles &v, const Doubles &tau) {
            const std::size_t nq = r.count(DAL_COORDINATE), nv = r.count(DAL_SPEED);
            const std::size_t n = nv ? v.size() / nv : 0;
            if (q.size() != n * nq || v.size() != n * nv || (tau.size() && tau.size() != n * nv))
              throw nb::value_error("the states do not fit the model");
            const nb::object a = new_doubles(n * nv);
            r.check(dal_motion_many(r.run, std::int64_t(n), q.data(), v.data(), tau.size() ? tau.data() : nullptr,
                                    numbers(a)));
            return a;
          },
          nb::arg("q"), nb::arg("v"), nb::arg("tau"));
}

} // namespace dalembert::bind
