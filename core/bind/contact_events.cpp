#include "bind/contact_events.hpp"
#include "bind/arrays.hpp"
#include "bind/contact.hpp"
#include "bind/records.hpp"
#include <cmath>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

nb::object points_of(const std::vector<ClosedPoint> &closed) {
  std::vector<double> rows;
  for (const ClosedPoint &p : closed)
    for (const double each :
         {double(p.contact), double(p.shapes[0]), double(p.shapes[1]), double(p.stop), double(std::int32_t(p.mode)),
          double(p.features[0]), double(p.features[1]), double(p.joint), p.joint >= 0 ? p.direction[0] : 0.0})
      rows.push_back(each);
  return doubles(rows.data(), {npy_intp(closed.size()), 9});
}

} // namespace

void fill_contact_events(const ModelData &m, const nb::dict &given, ContactEvents &e) {
  const auto number = [&](const char *name) { return nb::cast<double>(given[name]); };
  fill_scene_and_joints(m, given, e.rows);
  e.closed_gap = number("closed_gap"), e.overlap = number("overlap"), e.hop_height = number("hop_height");
  e.rest_tol = number("rest_tol"), e.relative_rest_tol = number("relative_rest_tol");
  e.max_points = nb::cast<int>(given["max_points"]), e.max_rate = number("max_rate");
  e.impact_law = ImpactLaw(nb::cast<int>(given["impact_law"]));
}

nb::bytes contact_modes(const std::vector<ClosedPoint> &closed) { return bytes_of(closed); }

void set_contact_modes(ContactEvents &e, const nb::bytes &blob) {
  set_from_bytes(blob, "the modes of contacts", e.closed);
}

void refresh_points(ContactEvents &e, std::vector<ClosedPoint> &closed) {
  for (ClosedPoint &p : closed) {
    if (p.joint >= 0) {
      const JointFriction &joint = e.rows.friction[std::size_t(p.joint)];
      p.friction = joint.sliding, p.static_friction = joint.at_rest;
    } else if (p.stop >= 0) {
      p.restitution = e.rows.stops[std::size_t(p.stop)].restitution;
    } else {
      const ContactMaterial &material = e.rows.scene->materials()[std::size_t(p.material)];
      p.friction = material.friction, p.static_friction = material.static_friction;
      p.restitution = material.restitution;
      p.first = e.rows.scene->feature(p.shapes[0], p.features[0]);
      p.second = e.rows.scene->feature(p.shapes[1], p.features[1]);
    }
  }
}

void set_known_contact_modes(ContactEvents &e, const Doubles &times, const nb::list &modes) {
  if (times.size() != nb::len(modes))
    throw nb::value_error("the modes of contacts do not fit the times");
  e.repeats = true;
  e.known_times.assign(times.data(), times.data() + times.size());
  e.known_modes.clear();
  for (const nb::handle blob : modes) {
    set_contact_modes(e, nb::cast<nb::bytes>(blob));
    refresh_points(e, e.closed);
    e.known_modes.push_back(e.closed);
  }
}

nb::list take_contact_changes(ContactEvents &e) {
  nb::list all;
  for (const ContactChange &change : e.changes) {
    nb::dict one;
    one["t"] = change.t, one["energy"] = change.energy, one["restitution_part"] = change.restitution_part;
    one["reverses"] = change.reverses, one["jams"] = change.jams, one["two_solutions"] = change.two_solutions,
    one["modes"] = contact_modes(change.after), one["points"] = points_of(change.after);
    std::vector<double> impacts;
    for (const ImpactPoint &p : change.impacts) {
      for (const double each : {double(p.contact), double(p.shapes[0]), double(p.shapes[1]), double(p.stop)})
        impacts.push_back(each);
      for (const double *three : {p.place, p.normal, p.impulse})
        impacts.insert(impacts.end(), three, three + 3);
      for (const double each : {p.before, p.after, p.normal_work, p.friction_work})
        impacts.push_back(each);
    }
    one["impacts"] = doubles(impacts.data(), {npy_intp(change.impacts.size()), 17});
    all.append(one);
  }
  e.changes.clear();
  return all;
}

nb::dict contact_failure(const ContactEvents &e) {
  constexpr const char *names[] = {"none", "undecided", "crowded", "frequent", "stagnated"};
  nb::dict found;
  found["kind"] = names[int(e.failure)], found["time"] = e.failure_time, found["points"] = points_of(e.failed);
  found["redundant"] = e.redundant;
  return found;
}

void ContactForces::add(const ModelData &m, const ContactEvents &e, std::size_t state) {
  efforts.insert(efforts.end(), e.joint_efforts.begin(), e.joint_efforts.end());
  loads.insert(loads.end(), e.joint_loads.begin(), e.joint_loads.end());
  rows = m.nv + m.cut_nv, users = m.users;
  for (std::size_t k = 0; k < e.closed.size(); ++k) {
    const ClosedPoint &p = e.closed[k];
    if (!p.touches())
      continue;
    const ScenePoint &at = e.points[k];
    const double *lam = e.lam.data() + 3 * k, *axes = e.rows.rows[k].axes, *u = e.u.data() + 3 * k;
    for (const double each :
         {double(state), double(p.contact), double(p.shapes[0]), double(p.shapes[1]), double(std::int32_t(p.mode))})
      names.push_back(each);
    for (int x = 0; x < 3; ++x)
      numbers.push_back(0.5 * (at.on_first[x] + at.on_second[x]));
    numbers.insert(numbers.end(), at.normal, at.normal + 3);
    for (int x = 0; x < 3; ++x)
      numbers.push_back(axes[x] * lam[0] + axes[3 + x] * lam[1] + axes[6 + x] * lam[2]);
    numbers.push_back(at.gap), numbers.push_back(p.mode == ContactMode::sticks ? 0.0 : std::hypot(u[0], u[1]));
  }
}

nb::tuple ContactForces::arrays() const {
  const npy_intp n = npy_intp(names.size() / 5), states = rows ? npy_intp(efforts.size()) / rows : 0;
  return nb::make_tuple(doubles(names.data(), {n, 5}), doubles(numbers.data(), {n, 11}),
                        doubles(efforts.data(), {states, rows}), doubles(loads.data(), {states, users, 6}));
}

} // namespace dalembert::bind
