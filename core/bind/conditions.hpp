// Conditions as Python holds them, and the callbacks among them.
#pragma once

#include "bind/signals.hpp"
#include "system/conditions.hpp"
#include "system/delayed_inputs.hpp"
#include <memory>
#include <mutex>
#include <nanobind/nanobind.h>
#include <utility>
#include <vector>

namespace dalembert::bind {

namespace nb = nanobind;

struct BoundModel;

// Functions that laws are, and the callbacks: constant, shared by all calls.
struct PythonCallbacks {
  struct Function {
    nb::object callable;                               // or none:
    void (*plain)(const double *, double *) = nullptr; // compiled elsewhere
    int inputs = 0, outputs = 0;
  };
  std::vector<Function> functions;
  nb::object callback; // function(t, q, v, x, laws, tau, loads) fills the last three
  bool gives_forces = false, depends_on_state = false;
  // a control that is compiled elsewhere, with its numbers; the object in Python keeps both alive and makes its errors
  nb::object compiled_control;
  ControlFunction control = nullptr;
  const double *control_data = nullptr;
  std::int64_t run = 0; // which it is told
  nb::object delays;    // DelayedInputs in place of the callback, which are all of its laws
  DelayedInputs *delayed = nullptr;

  // whether anything is evaluated in Python
  bool any() const { return callback.is_valid() || has_python_laws(); }
  bool has_python_laws() const {
    for (const Function &f : functions)
      if (!f.plain)
        return true;
    return false;
  }
  void take_functions(const nb::list &list, const nb::object &sizes);
  int visit(visitproc visit, void *arg) const;
  void clear();
};

// joint forces that are held, as they come
struct BoundSampledForces {
  std::size_t nv;
  std::vector<double> times, tau;
  SampledForces plain{};

  void add(double t, const double *forces) {
    times.push_back(t);
    tau.insert(tau.end(), forces, forces + nv);
    plain = {times.data(), tau.data(), std::ptrdiff_t(times.size())};
  }
};

// loads on bodies that are held
struct BoundSampledLoads {
  std::vector<double> times, loads, efforts;
  SampledLoads plain{};
};

// a control sequence that owns its numbers
struct BoundSequence {
  std::vector<double> times, values;
  std::vector<std::int32_t> force, input, parameter;
  ControlSequence plain{};
};

struct BoundConditions {
  std::vector<double> parameters;
  PrescribedDofs prescribed;
  std::vector<unsigned char> active; // empty: all
  PythonCallbacks code;
  nb::object sampled_forces; // a BoundSampledForces, or none
  nb::object sampled_loads;  // a BoundSampledLoads, or none
  nb::object sequence;       // a BoundSequence, or none
  // of switching functions: 0 where the motion slides, a branch or mixture that is held, or not a number; empty: none
  std::vector<double> sides;
  double stabilization[2] = {0.0, 0.0};
  const BoundModel *owner = nullptr; // the model that they belong to
  Conditions plain;                  // what kernels take, without any code in Python

  // fills `plain`; after the last change
  void update_plain();
  // whether anything is evaluated outside the core, compiled elsewhere or in Python
  bool has_callbacks() const {
    return !code.functions.empty() || code.callback.is_valid() || code.control || code.delayed;
  }
};

// Conditions for one call, or one simulation: functions and callbacks with a place for the first error that Python
// raises.
class Scope {
public:
  // persistent: a law that has failed is called again, because a shorter step may succeed
  Scope(const ModelData &m, const BoundConditions &bound, bool persistent = false);
  ~Scope();
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

  Conditions conditions;
  const Flag *flag = nullptr; // once it is set, callbacks are not called any more

  // raises in Python what a function or the callback has raised; false if nothing was
  bool raise();
  // The same with the GIL, where a run of many has failed by it: what it has raised, unless it is none that a run can
  // have.
  nb::object take_error();
  // where a compiled control has given numbers that are not finite
  struct ControlFailure {
    std::int64_t run;
    double t;
  };
  std::vector<ControlFailure> take_failures() { return std::exchange(failures, {}); }
  nb::object error_of(const ControlFailure &failure) const {
    return code.compiled_control.attr("error")(failure.t, failure.run);
  }
  // joint forces of the compiled control; false, and kept as a failure of the run, if they are not finite
  bool control_forces(std::int64_t run, double t, const double *q, const double *v, const double *x, double *tau);
  bool has_compiled_control() const { return code.control; }
  bool failed() const { return raised; }
  bool calls_python() const { return code.any(); }
  // keeps the first error that Python raised, for when the core has returned
  void keep_error();

private:
  struct PythonLaw {
    Scope *scope;
    const PythonCallbacks::Function *function;
  };
  static void call(void *self, const double *in, double *out);
  static bool call_python(void *self, std::int64_t run, double t, const double *q, const double *v, const double *x,
                          double *laws, double *tau, double *loads);
  static bool call_control(void *self, std::int64_t run, double t, const double *q, const double *v, const double *x,
                           double *laws, double *tau, double *loads);

  const ModelData &model;
  const PythonCallbacks &code;
  const bool persistent;
  Callbacks callbacks{};
  std::vector<PythonLaw> python_laws;
  std::vector<void (*)(void *, const double *, double *)> calls;
  std::vector<void *> selves;
  nb::object laws, tau, loads; // what the callback fills
  PyObject *raised = nullptr;
  std::mutex failing; // of the next
  std::vector<ControlFailure> failures;
};

void add_conditions(nb::module_ &module);

} // namespace dalembert::bind
