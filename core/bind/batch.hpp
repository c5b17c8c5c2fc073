// Many runs of a model, sampled at times: in lanes where these can hold them, else one by one; both on threads.
#pragma once

#include "bind/bound_model.hpp"
#include <nanobind/ndarray.h>
#include <optional>
#include <utility>
#include <vector>

namespace dalembert::bind {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

nb::object doubles(const double *data, std::initializer_list<npy_intp> shape);
inline const double *row_of(const Doubles &array, std::size_t row, std::int32_t width) { return array.data() + row * std::size_t(width); }

// what is asked
struct BatchRequest {
  double begin, until;
  const Doubles &times, &q, &v, &x;
  const std::optional<Doubles> &parameters; // none, or a row per run
  const std::optional<Doubles> &numbers;    // own ones: none, or a row per run
  const std::optional<Doubles> &breaks;     // none: those of the integrator; or of one run after another, with
  const std::optional<Places> &spans;       // where those of each begin, and the last end
  int threads;
  nb::handle batched_control;                      // control(t, q, v, x, runs, tau) of many states at once, or none
  SignalCheck &attention;

  DiscontinuityTimes breaks_of(std::size_t run, const DiscontinuityTimes &all) const {
    if (!breaks)
      return all;
    const std::int64_t *span = spans->data() + run;
    return {breaks->data() + span[0], std::ptrdiff_t(span[1] - span[0])};
  }
};

// a model with other own numbers, for a run
struct RunVariant {
  VariantTables tables;
  ModelData data;
  const ModelData &made(const ModelData &described, const double *numbers) { return data = with_parameters(described, numbers, tables); }
};

class Batch {
public:
  Batch(const BoundModel &model, const Run &run, Scope &scope, const BatchRequest &task);
  Batch(const Batch &) = delete;

  // without the GIL
  void make();
  // with it: (outcomes, times reached, counts, q, v, x), a row per run
  nb::tuple take() const;
  // errors of the control by run: those that ended it
  std::vector<std::pair<std::size_t, nb::object>> errors;

private:
  void run_simd();
  void run_with_batched_control();
  bool ask(std::ptrdiff_t rows, const std::ptrdiff_t *runs, const double *t, const double *q, const double *v, const double *x, double *tau,
           unsigned char *failed);
  void run_sequentially(const std::vector<std::size_t> &which);
  void run_scalar(Block &work, std::size_t k);
  void report(std::size_t k, Outcome outcome, double t, const Counts &c);
  bool record(std::size_t k, std::size_t sample, const double *q, const double *v, const double *x);
  // not a number, where it will not get to; by the thread that takes it up
  void clear(std::size_t k);
  int method_called(const char *wanted) const;
  // the model as described, which others of its family differ from in own numbers
  const ModelData &described() const { return model.family.is_valid() ? bound(model.family.ptr())->data : model.data; }
  int workers(std::size_t parts) const { return int(std::min<std::size_t>(std::size_t(std::max(task.threads, 1)), parts)); }

  const BoundModel &model;
  const Run &run;
  Scope &scope;
  const BatchRequest &task;
  const ModelData &m;
  const Samples samples;
  const std::size_t n, nq, nv, nx;
  nb::object q_array, v_array, x_array, outcomes_array, reached_array, counts_array; // what is handed over,
  double *const q, *const v, *const x, *const outcomes, *const reached, *const counts; // and where their numbers are
  std::vector<unsigned char> begun;

  // runs from one number to another, one after the other, to lanes
  struct Feed {
    Batch &batch;
    std::atomic<std::size_t> &next;
    std::size_t last;
    RunVariant own{};
    RunQueue plain();
  };
  // writes samples of one run to its place
  struct Row {
    Batch &batch;
    std::size_t run, next;
  };
};

} // namespace dalembert::bind
