// Rigid contact by events of a run: its settings, modes, changes and forces for Python.
#pragma once

#include "bind/batch.hpp"
#include "contact/contact_events.hpp"
#include "model/model_data.hpp"
#include <nanobind/nanobind.h>

namespace dalembert::bind {

// From a dict of Python: scene, stops, tolerances and limits. The scene stays alive with `given`.
void fill_contact_events(const ModelData &m, const nanobind::dict &given, ContactEvents &e);

// closed points as bytes, and back
nanobind::bytes contact_modes(const std::vector<ClosedPoint> &closed);
void set_contact_modes(ContactEvents &e, const nanobind::bytes &blob);

// Features and materials of closed points as those of this scene and of the joints of the run: those of other numbers of
// the model may differ.
void refresh_points(ContactEvents &e, std::vector<ClosedPoint> &closed);

// modes from times on, of a run whose steps are repeated
void set_known_contact_modes(ContactEvents &e, const Doubles &times, const nanobind::list &modes);

// Changes since the last call: t, energy, restitution_part, reverses, jams, two_solutions, modes (bytes), impacts (k, 17: contact, two
// shapes, stop, place, normal, impulse, normal velocities before and after, works of normal force and friction), points
// (n, 9: contact, two shapes, stop, mode, two features, joint with dry friction, sign of its sliding).
nanobind::list take_contact_changes(ContactEvents &e);

// kind ("none", "undecided", "crowded", "frequent", "stagnated"), time, points as above; flags of shares
nanobind::dict contact_failure(const ContactEvents &e);

// Points that carry load at many states: names (n, 5: number of the state, contact, two shapes, mode), numbers (n, 11:
// place, normal, force on the second shape, gap, slip velocity), efforts of stops and dry friction of joints (states,
// nv + cut_nv), loads of those of cut joints on the bodies (states, users, 6).
struct ContactForces {
  std::vector<double> names, numbers, efforts, loads;
  int rows = 0, users = 0;
  void add(const ModelData &m, const ContactEvents &e, std::size_t state);
  nanobind::tuple arrays() const;
};

} // namespace dalembert::bind
