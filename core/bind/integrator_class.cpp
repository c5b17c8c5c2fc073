#include "bind/integrator.hpp"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>

namespace dalembert::bind {

namespace {

// An integrator belongs to one call at a time. Others are refused, for they would work in the same memory; from a
// callback in Python, the thread of the call may read it.
class ExclusiveUse {
public:
  ExclusiveUse(Integrator &integrator, bool reads_only) : user(integrator.user) {
    std::thread::id found{};
    mine = user.compare_exchange_strong(found, std::this_thread::get_id(), std::memory_order_acq_rel);
    if (!mine && !(reads_only && found == std::this_thread::get_id()))
      throw std::runtime_error("the integrator is at work in another call; every thread needs one of its own");
  }
  ~ExclusiveUse() {
    if (mine)
      user.store({}, std::memory_order_release);
  }
  ExclusiveUse(const ExclusiveUse &) = delete;

private:
  std::atomic<std::thread::id> &user;
  bool mine;
};

template <auto method, bool reads_only, class R, class... A>
R call_exclusively(Integrator &integrator, A... arguments) {
  const ExclusiveUse use(integrator, reads_only);
  return (integrator.*method)(static_cast<A &&>(arguments)...);
}
// a method for one call at a time, as a function that can be bound
template <auto method, bool reads_only = false> struct Exclusive {
  template <class R, class... A> static constexpr auto of(R (Integrator::*)(A...)) {
    return &call_exclusively<method, reads_only, R, A...>;
  }
  template <class R, class... A> static constexpr auto of(R (Integrator::*)(A...) const) {
    return &call_exclusively<method, reads_only, R, A...>;
  }
  static constexpr auto call = of(method);
};

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Integrator>(self)->visit(visit, arg) : 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {0, nullptr},
};

} // namespace

void add_integrator(nb::module_ &module) {
  nb::class_<Flag>(module, "Flag")
      .def(nb::init<>())
      .def_prop_rw(
          "set", [](const Flag &flag) { return flag.set.load(); }, [](Flag &flag, bool set) { flag.set.store(set); });
  nb::class_<Integrator>(module, "Integrator", nb::type_slots(slots))
      .def(nb::init<nb::object, nb::object, int, double, const Doubles &, double, double, double, bool, bool>(),
           nb::arg("model"), nb::arg("conditions"), nb::arg("method"), nb::arg("rtol"), nb::arg("atol"),
           nb::arg("max_step"), nb::arg("fixed_step"), nb::arg("spectral_radius"), nb::arg("project"),
           nb::arg("detect_stiffness"))
      .def("start", Exclusive<&Integrator::start>::call, nb::arg("t"), nb::arg("q"), nb::arg("v"), nb::arg("x"))
      .def("start_again", Exclusive<&Integrator::start_again>::call, nb::arg("t"), nb::arg("q"), nb::arg("v"),
           nb::arg("x"))
      .def("advance", Exclusive<&Integrator::advance>::call, nb::arg("until"), nb::arg("max_steps"),
           nb::arg("times") = nb::none(), nb::arg("flag") = nb::none())
      .def("advance_live", Exclusive<&Integrator::advance_live>::call, nb::arg("until"), nb::arg("max_steps"),
           nb::arg("keep"))
      .def_prop_ro("has_full_records", [](const Integrator &i) { return i.has_full_records(); })
      .def("set_parameters", Exclusive<&Integrator::set_parameters>::call, nb::arg("places"), nb::arg("bounds"),
           nb::arg("values"))
      .def("set_parameter", Exclusive<&Integrator::set_parameter>::call, nb::arg("place"), nb::arg("value"))
      .def_prop_ro("new_parameters", [](const Integrator &i) { return i.new_parameters(); })
      .def_prop_ro("has_new_parameters", [](const Integrator &i) { return i.has_new_parameters(); })
      .def_prop_ro("parameters", [](const Integrator &i) { return i.parameters(); })
      .def("take_parameter_changes", Exclusive<&Integrator::take_parameter_changes>::call)
      .def("read", Exclusive<&Integrator::read, true>::call, nb::arg("reader"), nb::arg("out"))
      .def_prop_ro("calls_python", [](const Integrator &i) { return i.calls_python(); })
      .def("take_records", Exclusive<&Integrator::take, true>::call)
      .def("take_steps", Exclusive<&Integrator::take_steps, true>::call)
      .def("take_branches", Exclusive<&Integrator::take_branches, true>::call)
      .def("set_branches", Exclusive<&Integrator::set_branches>::call, nb::arg("times"), nb::arg("branches"))
      .def("state", Exclusive<&Integrator::state, true>::call)
      .def("motion", Exclusive<&Integrator::motion, true>::call)
      .def("dense_output", Exclusive<&Integrator::dense>::call, nb::arg("t"), nb::arg("q"), nb::arg("v"), nb::arg("x"),
           nb::arg("rows"), nb::arg("fractions"))
      .def("run_batch", Exclusive<&Integrator::batch>::call, nb::arg("begin"), nb::arg("until"), nb::arg("times"),
           nb::arg("q"), nb::arg("v"), nb::arg("x"), nb::arg("parameters").none(), nb::arg("mapped_parameters").none(),
           nb::arg("threads"), nb::arg("discontinuities") = nb::none(), nb::arg("discontinuity_offsets") = nb::none(),
           nb::arg("flag") = nb::none(), nb::arg("batched_control") = nb::none(), nb::arg("sequences") = nb::none(),
           nb::arg("friction") = nb::none(), nb::arg("run_numbers") = nb::none(), nb::arg("sample_times") = nb::none(),
           nb::arg("effect_times") = nb::none(), nb::arg("sampled_function") = nb::none())
      .def("gradients", Exclusive<&Integrator::gradients>::call, nb::arg("times"), nb::arg("q"), nb::arg("v"),
           nb::arg("x"), nb::arg("q_bar"), nb::arg("v_bar"), nb::arg("x_bar"), nb::arg("parameters").none(),
           nb::arg("mapped_parameters").none(), nb::arg("sequences"), nb::arg("directions"), nb::arg("wanted"),
           nb::arg("threads"), nb::arg("flag") = nb::none())
      .def("take_modes", Exclusive<&Integrator::take_modes, true>::call)
      .def("take_event_logs", Exclusive<&Integrator::take_event_logs, true>::call)
      .def("take_sampled_forces", Exclusive<&Integrator::take_sampled_forces, true>::call)
      .def("take_errors", Exclusive<&Integrator::take_errors, true>::call)
      .def("set_discontinuities", Exclusive<&Integrator::set_discontinuities>::call, nb::arg("times"))
      .def("set_events", Exclusive<&Integrator::set_events>::call, nb::arg("given"))
      .def("take_events", Exclusive<&Integrator::take_events, true>::call)
      .def("occurring_events", Exclusive<&Integrator::occurring_events, true>::call)
      .def("noisy_event", Exclusive<&Integrator::noisy_event, true>::call)
      .def("crowded_event", Exclusive<&Integrator::crowded_event, true>::call)
      .def("ignore_event", Exclusive<&Integrator::ignore_event>::call, nb::arg("event"))
      .def("event_failure", Exclusive<&Integrator::event_failure, true>::call)
      .def_prop_rw(
          "event_values", [](Integrator &i) { return i.event_values(); },
          [](Integrator &i, const Doubles &values) { i.set_event_values(values); })
      .def("set_friction", Exclusive<&Integrator::set_friction>::call, nb::arg("given"))
      .def("set_contacts", Exclusive<&Integrator::set_contacts>::call, nb::arg("given"))
      .def("take_contact_log", Exclusive<&Integrator::take_contact_log, true>::call)
      .def("contact_statistics", Exclusive<&Integrator::contact_statistics, true>::call)
      .def("contact_memory", Exclusive<&Integrator::contact_memory, true>::call)
      .def("take_contact_parts", Exclusive<&Integrator::take_contact_parts, true>::call)
      .def("contact_part_outputs", Exclusive<&Integrator::contact_part_outputs>::call, nb::arg("part"))
      .def("contact_part_slopes", Exclusive<&Integrator::contact_part_slopes>::call, nb::arg("part"))
      .def("set_contact_events", Exclusive<&Integrator::set_contact_events>::call, nb::arg("given"))
      .def("contact_modes", Exclusive<&Integrator::contact_modes, true>::call)
      .def("set_contact_modes", Exclusive<&Integrator::set_contact_modes>::call, nb::arg("modes"))
      .def("set_known_contact_modes", Exclusive<&Integrator::set_known_contact_modes>::call, nb::arg("times"),
           nb::arg("modes"))
      .def("take_contact_changes", Exclusive<&Integrator::take_contact_changes, true>::call)
      .def("contact_failure", Exclusive<&Integrator::contact_failure, true>::call)
      .def("contact_forces", Exclusive<&Integrator::contact_forces>::call, nb::arg("t"), nb::arg("q"), nb::arg("v"),
           nb::arg("x"))
      .def("contact_rates", Exclusive<&Integrator::contact_rates>::call, nb::arg("t"), nb::arg("q"), nb::arg("v"),
           nb::arg("x"))
      .def("start_in_contact_modes", Exclusive<&Integrator::start_in_contact_modes>::call, nb::arg("t"), nb::arg("q"),
           nb::arg("v"), nb::arg("x"), nb::arg("modes"))
      .def("set_contact_memory", Exclusive<&Integrator::set_contact_memory>::call, nb::arg("memory"))
      .def("take_changes", Exclusive<&Integrator::take_changes, true>::call)
      .def("passed", Exclusive<&Integrator::passed, true>::call)
      .def("friction_progress", Exclusive<&Integrator::friction_progress, true>::call)
      .def("friction_failure", Exclusive<&Integrator::friction_failure, true>::call)
      .def_prop_rw(
          "friction_values", [](Integrator &i) { return i.friction_values(); },
          [](Integrator &i, const Doubles &values) { i.set_friction_values(values); })
      .def("checkpoint", Exclusive<&Integrator::checkpoint, true>::call)
      .def("restore", Exclusive<&Integrator::restore>::call, nb::arg("blob"))
      .def_prop_ro("t", [](const Integrator &i) { return i.run.t; })
      .def_prop_ro("step", [](const Integrator &i) { return i.run.step; })
      .def(
          "set_first_step",
          [](Integrator &i, double step) { i.run.step = step, i.run.old_error = 1e-4, i.run.started = 1; },
          nb::arg("step"))
      .def_prop_rw(
          "usual_min_pivot", [](const Integrator &i) { return i.run.usual_min_pivot; },
          [](Integrator &i, double slack) { i.run.usual_min_pivot = slack; })
      .def_prop_ro("worst_error", [](const Integrator &i) { return std::make_pair(i.run.worst_dof, i.run.worst); })
      .def_prop_ro("counts",
                   [](const Integrator &i) {
                     const Counts &c = i.run.counts;
                     return nb::make_tuple(c.steps, c.rejected, c.evaluations, c.jacobians, c.factorizations,
                                           c.projections, c.noisy, c.missed);
                   })
      .def_prop_ro("missed_crossing",
                   [](const Integrator &i) { return std::make_pair(i.run.missed_time, i.run.missed_function); })
      .def_prop_ro("release",
                   [](const Integrator &i) { return std::make_pair(i.run.release_time, i.run.released_function - 1); });
  module.attr("max_live_steps") = max_live_steps;
  nb::list methods;
  for (int k = 0; const char *name = best_integrators().name(k); ++k)
    methods.append(name);
  module.attr("methods") = nb::tuple(methods);
  nb::dict outcomes;
  for (const auto &[name, outcome] : {std::pair{"reached", Outcome::reached},
                                      {"paused", Outcome::paused},
                                      {"step_underflow", Outcome::underflow},
                                      {"not_finite", Outcome::not_finite},
                                      {"callback_failed", Outcome::callback_failed},
                                      {"loops_open", Outcome::loops_open},
                                      {"stiff", Outcome::stiff},
                                      {"stopped", Outcome::stopped},
                                      {"newton_failed", Outcome::newton_failed},
                                      {"stagnated", Outcome::stagnated},
                                      {"undecided", Outcome::undecided},
                                      {"event", Outcome::event},
                                      {"contact_failed", Outcome::contact_failed}})
    outcomes[name] = int(outcome);
  module.attr("outcomes") = outcomes;
}

} // namespace dalembert::bind
