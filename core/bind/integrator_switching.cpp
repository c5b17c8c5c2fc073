#include "bind/integrator.hpp"
#include <algorithm>

namespace dalembert::bind {

void Integrator::set_events(const nb::dict &given) {
  events = std::make_unique<EventRun>();
  fill_events(model->data, given, *events);
  run.events = events.get();
  model->integrators->prepare_events(model->data, run, memory.data);
}

nb::tuple Integrator::take_events() {
  const npy_intp width = model->data.nq + model->data.nv + model->data.nx;
  return events ? bind::take_log(events->log, width) : nb::make_tuple();
}

void Integrator::ignore_event(int event) {
  if (!events || event < 0 || event >= events->count())
    throw nb::value_error("there is no such event");
  events->ignored[std::size_t(event)] = 1;
  events->values[std::size_t(event)] = 1.0;
  events->noisy = -1;
}

nb::tuple Integrator::event_failure() {
  const EventFailure failure = events ? events->failure : EventFailure{};
  return nb::make_tuple(failure.event, failure.t, failure.value);
}

nb::object Integrator::event_values() {
  return events ? doubles(events->values.data(), {npy_intp(events->values.size())}) : nb::none();
}

void Integrator::set_event_values(const Doubles &values) {
  if (!events || values.size() != events->values.size())
    throw nb::value_error("the values do not fit the events");
  std::copy_n(values.data(), values.size(), events->values.begin());
}

void Integrator::set_friction(const nb::dict &given) {
  friction = std::make_unique<FrictionRun>();
  fill_friction(model->data, run, given, *friction);
  run.friction = friction.get();
  model->integrators->prepare_friction(model->data, run, memory.data);
}

void Integrator::set_contacts(const nb::dict &given) {
  contacts = std::make_unique<ContactSteps>();
  fill_contacts(model->data, given, *contacts);
  contact_scene = given["scene"];
  run.contacts = contacts.get();
}

nb::object Integrator::take_contact_log() {
  return contacts ? nb::object(bind::take_contact_log(model->data, *contacts)) : nb::none();
}

void Integrator::set_contact_memory(const nb::bytes &blob) {
  if (!contacts)
    throw nb::value_error("the run has no contacts");
  bind::set_contact_memory(*contacts, blob);
}

void Integrator::set_contact_events(const nb::dict &given) {
  contact_events = std::make_unique<ContactEvents>();
  fill_contact_events(model->data, given, *contact_events);
  contact_scene = given["scene"];
  run.contact_events = contact_events.get();
}

void Integrator::set_known_contact_modes(const Doubles &times, const nb::list &modes) {
  bind::set_known_contact_modes(events_of_contacts(), times, modes);
}

template <class F>
void Integrator::for_contact_states(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x, F &&f) {
  const ModelData &m = model->data;
  const std::size_t count = t.size();
  if (q.size() != count * std::size_t(m.nq) || v.size() != count * std::size_t(m.nv) ||
      x.size() != count * std::size_t(m.nx))
    throw nb::value_error("the arrays do not fit the times");
  ContactEvents &contacts = events_of_contacts();
  const SmoothInterval interval = run.interval;
  for (std::size_t k = 0; k < count; ++k) {
    run.interval = SmoothInterval::around(run.discontinuities, t.data()[k]);
    const bool done =
        model->integrators->contact_forces(m, run, memory.data, t.data()[k], q.data() + k * std::size_t(m.nq),
                                           v.data() + k * std::size_t(m.nv), x.data() + k * std::size_t(m.nx));
    run.interval = interval;
    if (!done)
      throw nb::python_error();
    f(contacts, k);
  }
}

nb::tuple Integrator::contact_forces(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x) {
  ContactForces forces;
  for_contact_states(t, q, v, x, [&](const ContactEvents &contacts, std::size_t k) {
    forces.add(model->data, contacts, k);
  });
  return forces.arrays();
}

nb::object Integrator::contact_rates(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x) {
  const npy_intp nv = model->data.nv, nx = model->data.nx;
  const nb::object found = new_array({npy_intp(t.size()), nv + nx});
  double *out = data_of(found);
  for_contact_states(t, q, v, x, [&](const ContactEvents &contacts, std::size_t) {
    out = std::copy_n(contacts.a.data(), nv, out);
    out = std::copy_n(contacts.dx.data(), nx, out);
  });
  return found;
}

int Integrator::start_in_contact_modes(double t, const Doubles &q, const Doubles &v, const Doubles &x,
                                       const nb::bytes &modes) {
  ContactEvents &contacts = events_of_contacts();
  bind::set_contact_modes(contacts, modes);
  refresh_points(contacts, contacts.closed);
  contacts.known_times = {t}, contacts.known_modes = {contacts.closed};
  contacts.repeats = contacts.starts_closed = true;
  const int outcome = start(t, q, v, x);
  contacts.repeats = contacts.starts_closed = false;
  return outcome;
}

nb::object Integrator::friction_values() {
  if (!friction)
    return nb::none();
  return doubles(friction->values.data(), {npy_intp(friction->values.size())});
}

void Integrator::set_friction_values(const Doubles &values) {
  if (!friction || values.size() != friction->values.size())
    throw nb::value_error("the values do not fit the switching functions");
  std::copy_n(values.data(), values.size(), friction->values.begin());
}

ContactEvents &Integrator::events_of_contacts() {
  if (!contact_events)
    throw nb::value_error("the run has no contacts by events");
  return *contact_events;
}

} // namespace dalembert::bind
