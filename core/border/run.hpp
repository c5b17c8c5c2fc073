// Behind the C border: a model read from a file, and a run of it.
#pragma once

#include "border/dalembert.h"
#include "border/model_file.hpp"
#include "runs/memory_pool.hpp"
#include "runs/state_reader.hpp"
#include "steppers/run.hpp"
#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct dal_model {
  dalembert::border::ModelFile file;
  dalembert::ModelData data{};
  dalembert::PrescribedDofs prescribed;
  std::unordered_map<std::string, std::int64_t> index[dalembert::border::kind_count];
  std::atomic<std::int64_t> users{1};

  // throws FileError, std::invalid_argument
  dal_model(const void *bytes, std::size_t size);
  void release() {
    if (users.fetch_sub(1) == 1)
      delete this;
  }
  const std::vector<dalembert::border::NameRow> &names(dal_kind kind) const { return file.names[int(kind)]; }
};

namespace dalembert::border {

// a failure of a call, with its code
struct CallError {
  int code;
  std::string message;
};

} // namespace dalembert::border

struct dal_run {
  dal_run(dal_model *model, const dal_options &options);
  ~dal_run() { model->release(); }
  dal_run(const dal_run &) = delete;

  // All of these throw CallError.
  void reset();
  void set(dal_kind kind, std::int64_t index, double value);
  double get(dal_kind kind, std::int64_t index);
  void read(dal_kind kind, double *values);
  void start(double t);
  int advance(double until);
  void put(double t, const double *q, const double *v, const double *x);
  void derivatives(double *dq, double *a, double *dx);
  void project(double *q, double *v, double *x);
  void drift(double &positions, double &rates);
  void motion_many(std::int64_t n, const double *q, const double *v, const double *tau, double *a);
  // back to before the start: values may be set again that start it
  int unstart();
  // relative tolerance; absolute ones change by the same factor
  void set_tolerance(double rtol);
  std::string saved() const;
  void restore(const char *bytes, std::size_t size);

  double time() const { return !started ? model->file.settings.t : is_put ? put_time : run.t; }
  const char *method_name() const { return integrators.name(run.method); }

  dal_model *const model;
  dal_options options;
  std::string message;
  bool started = false, failed = false;
  dalembert::Run run{};

private:
  using State = dalembert::StateReader::State;

  void use_parameters();
  void set_conditions();
  void begin(int method, double t, const double *q, const double *v, const double *x);
  void make_friction();
  double &slot(const dalembert::border::NameRow &name, dal_kind kind);
  double stored(const dalembert::border::NameRow &name, dal_kind kind, double value) const;
  State state();
  void refresh_outputs();
  void check_started() const;
  [[noreturn]] void fail(dalembert::Outcome outcome);
  void check(dalembert::Outcome outcome) {
    if (outcome != dalembert::Outcome::reached)
      fail(outcome);
  }
  bool apply_changes();
  unsigned evaluate(const dalembert::Call &call) {
    dalembert::BlockLease block(pool, kernels.bytes_one(data, call));
    return kernels.evaluate_state(data, block.data(), call, 0);
  }

  const dalembert::KernelSet &kernels;
  const dalembert::IntegratorSet &integrators;
  dalembert::ModelData data{};     // with the mapped parameters of the run
  dalembert::VariantTables own;    // of it
  dalembert::Conditions conditions{};
  std::vector<double> parameters, mapped; // of elements; of bodies, joints and so on
  std::vector<double> efforts;            // of inputs, nv
  dalembert::SampledForces forces{};
  double forces_from = 0.0;
  std::vector<double> q, v, x; // at the start, or those of `put`
  std::vector<double> q_set, v_set, x_set; // as they were set for the start
  double put_time = 0.0;
  bool is_put = false, changed = false, outputs_known = false;
  int chosen_method;
  std::vector<double> tolerances;
  std::unique_ptr<dalembert::Block> memory;
  std::unique_ptr<dalembert::FrictionRun> friction;
  dalembert::StateReader reader;
  std::vector<double> outputs;
  dalembert::BlockPool pool;
};
