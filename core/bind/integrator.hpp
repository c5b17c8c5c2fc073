// The bound integrator: one simulation of a model, its memory, its records; and batches of runs with its settings.
// Runs and records: integrator.cpp; many runs and gradients: integrator_batches.cpp; events, friction and contact:
// integrator_switching.cpp; methods of the Python class: integrator_class.cpp.
#pragma once

#include "bind/batch.hpp"
#include "bind/contact.hpp"
#include "bind/contact_events.hpp"
#include "bind/contact_parts.hpp"
#include "bind/events.hpp"
#include "bind/friction.hpp"
#include "bind/kernel_methods.hpp"
#include "bind/records.hpp"
#include "bind/state_reader.hpp"
#include "steppers/methods/moreau_derivatives.hpp"
#include <atomic>
#include <memory>
#include <nanobind/ndarray.h>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace dalembert::bind {

namespace nb = nanobind;

inline constexpr std::size_t live_rows = 2048;      // of a live run that are recorded before they are taken
inline constexpr std::int64_t max_live_steps = 512; // in one call of such a run

class Integrator {
public:
  Integrator(nb::object owner, nb::object conditions, int method, double rtol, const Doubles &atol, double max_step,
             double fixed_step, double spectral_radius, bool project, bool detect_stiffness);
  Integrator(const Integrator &) = delete;

  int start(double t, const Doubles &q, const Doubles &v, const Doubles &x);
  // As a new integrator with the same settings and events does, with statistics that go on; not with friction or contact.
  int start_again(double t, const Doubles &q, const Doubles &v, const Doubles &x);

  int advance(double until, std::int64_t max_steps, std::optional<Doubles> times, const Flag *flag);

  // As `advance`, for a caller that advances by short times: Ctrl-C raises, and with keep = false no step is recorded,
  // nor more than the last change of friction.
  int advance_live(double until, std::int64_t max_steps, bool keep);
  bool has_full_records() const { return records.t.size() + max_live_steps > live_rows; }

  // Sets parameters of elements from the present state on; the next `advance_live` begins under them. Returns -1, or
  // the index of the first value that is not finite or below its bound: then none is set.
  std::int64_t set_parameters(const Places &places, const Doubles &bounds, const Doubles &values);

  void set_parameter(std::int64_t place, double value);
  // (place, value) of parameters that were set and under which nothing has been evaluated yet, a row each
  nb::object new_parameters() const;
  bool has_new_parameters() const { return !set_values.empty(); }
  nb::object parameters() const { return doubles(run.conditions.parameters, {npy_intp(model->data.parameter_count)}); }
  nb::tuple take_parameter_changes() { return log.take(); }

  // numbers of the present state
  void read(StateReader &reader, const nb::ndarray<double, nb::c_contig, nb::device::cpu> &out);
  bool calls_python() const { return scope.calls_python(); }

  nb::tuple take() { return records.take(); }

  nb::object take_steps();

  // times (n,) and from each on the sides of switching functions, (n, switching_count): those at starts too
  nb::tuple take_branches();

  // the sides that switching functions have in steps that are taken again, from times on
  void set_branches(const Doubles &times, const Doubles &sides);

  // t, q, v, x, a, dx
  nb::tuple state();
  // t, q, v, x
  nb::tuple motion();

  // (q, v, x) at fractions of steps that were taken from rows of t, q, v, x to the next; `rows` in order. They end
  // where a step could not be taken again.
  nb::tuple dense(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x, const Places &rows,
                  const Doubles &fractions);

  // Runs from many states, sampled at times: (outcomes, times reached, counts, q, v, x), a row per run. Parameters of
  // elements and mapped parameters: none, or a row per run. Those that lanes can hold run in lanes; others, and those
  // that cannot go on there, one by one; both on threads. With a control, runs are in SIMD batches if one call can
  // receive many states (`together`). Once the flag is set, runs end where they are, `stopped`.
  nb::tuple batch(double begin, double until, const Doubles &times, const Doubles &q, const Doubles &v,
                  const Doubles &x, std::optional<Doubles> parameters, std::optional<Doubles> numbers, int threads,
                  std::optional<Doubles> breaks, std::optional<Places> spans, const Flag *flag,
                  nb::object batched_control, std::optional<Doubles> sequences, std::optional<Doubles> friction_rows,
                  std::optional<Places> run_numbers, std::optional<Doubles> sample_times,
                  std::optional<Doubles> effect_times, nb::object sampled_function);

  // Gradients of an output of each of many runs with fixed steps: (outcomes, by q, v and x at the begin, by the values
  // of the control, by parameters). q, v, x: states at times; q_bar, v_bar, x_bar: derivatives of the output by them,
  // those by q along `integrate`. Directions of parameters: see runs/gradients.hpp, the last `wanted` are results.
  nb::tuple gradients(const Doubles &times, const Doubles &q, const Doubles &v, const Doubles &x, const Doubles &q_bar,
                      const Doubles &v_bar, const Doubles &x_bar, std::optional<Doubles> parameters,
                      std::optional<Doubles> numbers, const Doubles &sequences, const Doubles &directions, int wanted,
                      int threads, const Flag *flag);

  // modes of friction and stops in the last batch
  nb::dict take_modes() { return bind::take_modes(modes, friction ? friction->rows.size() : 0); }

  // events of each run in the last batch: numbers of events of each, and those of all runs in sequence as `take_events`
  nb::tuple take_event_logs() { return bind::take_logs(event_logs, model->data.nq + model->data.nv + model->data.nx); }

  // joint forces of the samples of the control in the last batch, in sequence; not a number where a run has ended
  nb::object take_sampled_forces();

  // errors of the control in the last batch, by run
  nb::dict take_errors() { return std::exchange(errors, nb::dict()); }

  // Events are located here from now on; before `start`, or after `restore`.
  void set_events(const nb::dict &given);
  // events since the last call: see bind/events.hpp
  nb::tuple take_events();
  // events that occur at the time reached, and recorded ones at the same time
  nb::tuple occurring_events() { return nb::make_tuple(events->passed, events->also); }
  // an event whose output is noise, and a time; or -1
  std::pair<int, double> crowded_event() {
    return {events ? events->crowded : -1, events ? events->crowded_time : 0.0};
  }
  std::pair<int, double> noisy_event() { return {events ? events->noisy : -1, events ? events->noise_time : 0.0}; }
  void ignore_event(int event);
  // an event whose output is not finite, a time and the output; or -1
  nb::tuple event_failure();
  nb::object event_values();
  void set_event_values(const Doubles &values);

  // Modes of dry friction and stops are determined here from now on, beginning with those given; before `start`, or
  // after `restore`.
  void set_friction(const nb::dict &given);
  // Rigid contact by steps; before `start`, or after `restore`.
  void set_contacts(const nb::dict &given);
  nb::object take_contact_log();
  nb::object contact_statistics() { return contacts ? nb::object(bind::contact_statistics(*contacts)) : nb::none(); }
  nb::object contact_memory() { return contacts ? nb::object(bind::contact_memory(*contacts)) : nb::none(); }
  void set_contact_memory(const nb::bytes &blob);
  // parts of the steps since the last call, if they are kept
  nb::list take_contact_parts() { return contacts ? bind::take_contact_parts(*contacts) : nb::list(); }
  // A part of a step, of this model or of one with other numbers, under the conditions and contacts of this integrator:
  // nominal of PartSlopes; nominal, by_begin, by_end, Y, D.
  nb::object contact_part_outputs(const ContactPart &part);
  nb::tuple contact_part_slopes(const ContactPart &part);

  // Rigid contact by events; before `start`, or after `restore`.
  void set_contact_events(const nb::dict &given);
  // closed points and their modes, for a resumed run or for forces
  nb::bytes contact_modes() { return bind::contact_modes(events_of_contacts().closed); }
  void set_contact_modes(const nb::bytes &blob) { bind::set_contact_modes(events_of_contacts(), blob); }
  void set_known_contact_modes(const Doubles &times, const nb::list &modes);
  nb::list take_contact_changes() { return bind::take_contact_changes(events_of_contacts()); }
  nb::dict contact_failure() { return bind::contact_failure(events_of_contacts()); }
  // contact points that carry load at states, in the modes that are set: see bind/contact_events.hpp
  nb::tuple contact_forces(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x);
  // accelerations and rates of element states (states, nv + nx) at states, in the modes that are set
  nb::object contact_rates(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x);
  // `start` with closed points in given modes, onto which the state is put first
  int start_in_contact_modes(double t, const Doubles &q, const Doubles &v, const Doubles &x, const nb::bytes &modes);

  nb::object take_changes() { return friction ? bind::take_changes(*friction) : nb::none(); }
  nb::object friction_progress() { return friction ? nb::object(bind::friction_progress(*friction)) : nb::none(); }
  // why modes could not be determined at the last change
  nb::object friction_failure() { return friction ? nb::object(bind::friction_failure(*friction)) : nb::none(); }
  // switching functions that crossed zero there
  std::vector<std::int32_t> passed() { return friction ? friction->passed : std::vector<std::int32_t>(); }
  // values of the switching functions of friction at the time reached
  nb::object friction_values();
  void set_friction_values(const Doubles &values);

  // everything a run needs to go on as if it had not stopped
  nb::bytes checkpoint() const;
  void restore(const nb::bytes &blob);

  // where steps have to end; before the run has come to the first that was not among them
  void set_discontinuities(const Doubles &times);

  // what the garbage collector has to know
  int visit(visitproc visit, void *arg);

  Run run;
  std::atomic<std::thread::id> user{}; // the thread whose call lasts

private:
  nb::object owner, chosen; // keep model and conditions alive
  const BoundModel *model;
  Scope scope;
  Block memory;
  Records records;
  std::unique_ptr<FrictionRun> friction;
  std::unique_ptr<ContactSteps> contacts;
  std::unique_ptr<ContactEvents> contact_events;
  nb::object contact_scene;
  std::unique_ptr<EventRun> events;
  std::vector<ModeLog> modes;                  // of the runs of a batch
  std::vector<EventLog> event_logs;            // of the runs of a batch
  std::vector<double> sampled_forces;          // of the runs of a batch
  std::vector<double> tolerances;              // absolute ones
  std::vector<double> element_parameters;      // once some were set, without friction
  std::vector<ParameterLog::Value> set_values; // since the last evaluation
  ParameterLog log;
  nb::dict errors;

  ContactEvents &events_of_contacts();

  // the callbacks reads_only at a flag while this lasts
  struct CallbackFlag {
    Scope &scope;
    CallbackFlag(Scope &scope, const Flag *flag) : scope(scope) { scope.flag = flag; }
    ~CallbackFlag() { scope.flag = nullptr; }
  };
  std::vector<double> breaks;
  std::vector<double> known_times, known_sides;

  // parameters of the run that can be changed: with friction those with its modes
  double *own_parameters();

  // the run goes on under the parameters that were set
  int apply_parameters(bool keep);

  const double *sides_at(double t) const;

  template <class F>
  void for_contact_states(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x, F &&f);
  template <class F> void evaluate_part(const ContactPart &part, F &&f) {
    if (!contacts || part.q.size() != std::size_t(model->data.nq) || part.v.size() != std::size_t(model->data.nv) ||
        part.x.size() != std::size_t(model->data.nx))
      throw nb::value_error("the part of a step does not fit the contacts");
    if (guarded([&] { return f(best_contact_parts()); }) != int(Outcome::reached))
      throw nb::value_error("the part of a step cannot be evaluated");
  }

  void restart();
  static const BoundModel *checked(const nb::object &owner, const nb::object &conditions, int method);
  void check(const Doubles &q, const Doubles &v, const Doubles &x, std::size_t n) const;
  template <class F> int guarded(F &&f) {
    Outcome outcome;
    {
      const Released released;
      outcome = f();
    }
    if (scope.raise())
      throw nb::python_error();
    return int(outcome);
  }
};

void add_integrator(nb::module_ &module);

} // namespace dalembert::bind
