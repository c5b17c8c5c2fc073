#include "bind/contact_parts.hpp"
#include "bind/arrays.hpp"
#include "bind/integrator.hpp"
#include "steppers/methods/moreau_derivatives.hpp"

namespace dalembert::bind {

namespace {

template <class F> nb::object of_rows(const ContactPart &part, npy_intp width, F &&write) {
  const nb::object array = new_array({npy_intp(part.rows.size()), width});
  double *out = data_of(array);
  for (const ContactRow &row : part.rows)
    write(row, out), out += width;
  return array;
}

// contact, two shapes, stop, joint with dry friction; -1: none
nb::object names_of(const ContactPart &part) {
  return of_rows(part, 5, [&](const ContactRow &row, double *out) {
    const ScenePoint *p = row.point >= 0 ? &part.points[std::size_t(row.point)] : nullptr;
    out[0] = p ? p->contact : -1, out[1] = p ? p->shapes[0] : -1, out[2] = p ? p->shapes[1] : -1;
    out[3] = row.stop, out[4] = row.friction;
  });
}

nb::object column(const std::vector<double> &values) { return doubles(values.data(), {npy_intp(values.size())}); }

} // namespace

nb::list take_contact_parts(ContactSteps &c) {
  nb::list found;
  for (ContactPart &part : c.parts)
    found.append(nb::cast(std::move(part)));
  c.parts.clear();
  return found;
}

nb::object Integrator::contact_part_outputs(const ContactPart &part) {
  PartSlopes found;
  evaluate_part(part, [&](const ContactPartSet &set) { return set.outputs(model->data, run, memory.data, part, found); });
  return column(found.nominal);
}

nb::tuple Integrator::contact_part_slopes(const ContactPart &part) {
  PartSlopes found;
  evaluate_part(part, [&](const ContactPartSet &set) { return set.slopes(model->data, run, memory.data, part, found); });
  const ModelData &m = model->data;
  const npy_intp states = 2 * m.nv + m.nx, rows = npy_intp(found.nominal.size()), n = npy_intp(3 * part.rows.size());
  found.Y.resize(std::size_t(n * m.nv)), found.D.resize(std::size_t(n * n));
  return nb::make_tuple(column(found.nominal), doubles(found.by_begin.data(), {rows, states + 2}),
                        doubles(found.by_end.data(), {states, 2 * m.nv}), doubles(found.Y.data(), {n, m.nv}),
                        doubles(found.D.data(), {n, n}));
}

void add_contact_parts(nb::module_ &module) {
  nb::class_<ContactPart>(module, "ContactPart")
      .def_ro("step", &ContactPart::step)
      .def_ro("t", &ContactPart::t)
      .def_ro("h", &ContactPart::h)
      .def_ro("lowered", &ContactPart::lowered)
      .def_ro("swept", &ContactPart::swept)
      .def_prop_ro("q", [](const ContactPart &part) { return column(part.q); })
      .def_prop_ro("v", [](const ContactPart &part) { return column(part.v); })
      .def_prop_ro("x", [](const ContactPart &part) { return column(part.x); })
      .def_prop_ro("names", &names_of)
      .def_prop_ro("lam", [](const ContactPart &part) { return column(part.lam); })
      .def_prop_ro("separation", [](const ContactPart &part) { return column(part.separation); })
      .def_prop_ro("bound", [](const ContactPart &part) { return column(part.bound); })
      .def_prop_ro("kind",
                   [](const ContactPart &part) {
                     const std::vector<double> kind(part.kind.begin(), part.kind.end());
                     return column(kind);
                   })
      // friction, sliding friction, static friction, restitution
      .def_prop_ro("materials", [](const ContactPart &part) {
        return of_rows(part, 4, [](const ContactRow &row, double *out) {
          out[0] = row.mu, out[1] = row.sliding_friction, out[2] = row.static_friction, out[3] = row.restitution;
        });
      });
}

} // namespace dalembert::bind
