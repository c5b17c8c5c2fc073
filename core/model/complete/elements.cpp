#include "contact/pair_points.hpp"
#include "model/complete/parts.hpp"
#include <algorithm>
#include <bit>

namespace dalembert {

void complete_laws(Tables &t, ModelData &m) {
  for (LawData &law : t.laws) {
    require(within(std::int32_t(law.kind), 0, std::int32_t(LawKind::callback) + 1), "a law is of no kind");
    if (law.kind == LawKind::callback)
      law.first = m.callback_law_count++;
    else
      require(within(law.first, 0, count_of(t.law_values.size())), "the numbers of a law are out of range");
  }
  m.laws = pointer(t.laws);
  m.law_values = pointer(t.law_values);
  const std::int32_t laws = count_of(t.laws.size());
  for (const DriveData &drive : t.drives)
    require(within(drive.row, -1, m.nc) && within(drive.dof, -1, m.nv) && within(drive.coordinate, -1, m.nq) &&
                within(drive.law, 0, laws) && within(drive.level, 0, 3) &&
                (drive.turns == 0 || drive.turns == 3 || drive.turns == 4) && (drive.moves == 0 || drive.moves == 3) &&
                drive.law + drive.turns + drive.moves <= laws + (drive.turns == 0) && within(drive.axes[0], 0, 3) &&
                within(drive.axes[1], 0, 3) && within(drive.axes[2], 0, 3) &&
                (!drive.turns || (drive.row < 0 && drive.dof + 3 + drive.moves <= m.nv &&
                                  drive.coordinate + 4 + drive.moves <= m.nq && drive.level == 0)),
            "a drive refers to something out of range");
  m.drives = pointer(t.drives);
  m.drive_count = count_of(t.drives.size());
  m.parameter_count = count_of(t.parameters.size());
}

void complete_tables(Tables &t, ModelData &m) {
  for (const TableData &table : t.tables) {
    require(within(table.variables, 1, 4) && within(table.degree, 1, 4) &&
                within(std::int32_t(table.extrapolation), 0, 4),
            "a table is out of range");
    std::int64_t size = 1, knots = 0;
    for (int j = 0; j < table.variables; ++j) {
      require(within(table.cells[j], 1, 1 << 24), "a table is out of range");
      size *= std::int64_t(table.cells[j]) * (table.degree + 1);
      knots += table.cells[j] + 1;
    }
    require(table.first >= 0 && table.first + knots + size <= std::int64_t(t.table_values.size()),
            "a table is out of range");
  }
  find_table_breaks(t, m);
  m.tables = pointer(t.tables);
  m.table_values = pointer(t.table_values);
}

static int measures_of(Measure measure) {
  return measure == Measure::joint || measure == Measure::distance ? 1 : measure == Measure::place ? 3 : 6;
}

static void complete_ports(const Tables &t, ModelData &m) {
  for (const PortData &port : t.ports) {
    const bool known = within(std::int32_t(port.measure), 0, std::int32_t(Measure::load_body) + 1) &&
                       within(port.body_a, 0, m.nb + 1) && within(port.body_b, 0, m.nb + 1) &&
                       within(port.coordinate, -1, m.nq) && within(port.constraint, -1, m.loop_constraint_count);
    const bool joint =
        port.measure != Measure::joint ||
        (known && (port.constraint < 0 ? within(port.dof, 0, m.nv)
                                       : within(port.part, 0, t.loop_constraints[std::size_t(port.constraint)].nv)));
    require(known && joint, "a port refers to something out of range");
    require(within(port.actuator, 0, count_of(t.actuators.size()) + 1), "a port refers to something out of range");
    m.needs_body_motion |= port.measure != Measure::joint || port.constraint >= 0;
  }
  for (const ActuatorData &actuator : t.actuators)
    require(within(actuator.port, 0, count_of(t.ports.size())) &&
                t.ports[std::size_t(actuator.port)].measure == Measure::joint && actuator.bound >= 0.0,
            "an actuator needs a port at a joint");
  m.actuators = pointer(t.actuators);
  m.actuator_count = count_of(t.actuators.size());
  m.ports = pointer(t.ports);
  m.port_count = count_of(t.ports.size());
}

static void complete_contact_pairs(Tables &t, ModelData &m) {
  t.contact_solids.clear();
  for (const std::shared_ptr<const void> &solid : t.solids)
    t.contact_solids.push_back(solid.get());
  const std::int32_t solids = count_of(t.contact_solids.size());
  for (const ElementData &e : t.elements) {
    if (e.form != LawForm::contact)
      continue;
    require(within(e.law, 0, count_of(t.contact_pairs.size())) && e.ports == 1 && within(e.port, 0, m.port_count),
            "a contact refers to something out of range");
    ContactPairData &pair = t.contact_pairs[std::size_t(e.law)];
    const PortData &port = t.ports[std::size_t(e.port)];
    require(within(pair.first, 0, solids) && within(pair.second, 0, solids) && port.measure == Measure::pose,
            "a contact refers to something out of range");
    const void *first = t.contact_solids[std::size_t(pair.first)], *second = t.contact_solids[std::size_t(pair.second)];
    const SolidBound a = bound_of_solid(first), b = bound_of_solid(second);
    require(!b.is_half_space, "the second solid of a contact is no half space");
    pair.slots = bristle_count(first, second), pair.planar = a.is_half_space;
    pair.reach_a = a.reach, pair.reach_b = b.reach, pair.extent_b = b.extent;
    if (b.is_sphere && b.extent <= b.reach * (1.0 + 1e-12))
      pair.extent_b = 0.0;
    for (int i = 0; i < 3; ++i) {
      pair.own_a[i] = a.center[i], pair.own_b[i] = b.center[i];
      pair.center_a[i] = port.p_FA[i], pair.center_b[i] = port.p_FB[i];
      for (int j = 0; j < 3; ++j) {
        pair.center_a[i] += port.R_FA[3 * i + j] * a.center[j];
        pair.center_b[i] += port.R_FB[3 * i + j] * b.center[j];
      }
    }
    require(e.parameters == contact_parameters && (!e.states || e.states == pair.slots * (pair.planar ? 2 : 3)),
            "a contact has five parameters, and as many states as bristles");
  }
  m.contact_pairs = pointer(t.contact_pairs);
  m.contact_solids = pointer(t.contact_solids);
  m.contact_pair_count = count_of(t.contact_pairs.size());
}

static void complete_element(const Tables &t, const ModelData &m, ElementData &e) {
  const std::int32_t ports = m.port_count, inputs = count_of(t.inputs.size()),
                     programs = count_of(t.laws_of_elements.programs.size());
  require(within(e.ports, 0, max_ports + 1) && e.port >= 0 && e.port + e.ports <= ports,
          "an element's ports are out of range");
  require(e.state >= 0 && e.states >= 0 && e.state + e.states <= m.nx && e.input >= 0 && e.inputs >= 0 &&
              e.input + e.inputs <= inputs && e.parameter >= 0 && e.parameters >= 0 &&
              e.parameter + e.parameters <= m.parameter_count && within(e.unknowns, 0, max_unknowns + 1) &&
              within(std::int32_t(e.form), 0, std::int32_t(LawForm::contact) + 1) && e.law >= 0 &&
              (e.form != LawForm::program || e.law < programs),
          "an element refers to something out of range");
  e.measures = 0;
  for (std::int32_t j = e.port; j < e.port + e.ports; ++j)
    e.measures += measures_of(t.ports[std::size_t(j)].measure);
  const std::int32_t takes = 1 + 2 * e.measures + e.states + e.parameters + e.inputs + e.unknowns,
                     gives = e.measures + e.states + 1 + e.signals;
  require(takes <= max_law_inputs && gives <= max_law_outputs, "a law takes or gives too many numbers");
  require(e.form != LawForm::linear || (e.measures == 1 && e.parameters == 3),
          "a linear law has one measure and three parameters");
  require(e.form != LawForm::limits || (e.measures == 1 && e.parameters == 4),
          "limits have one measure and four parameters");
  require(e.form != LawForm::dry_friction ||
              (within(e.measures, 1, max_ports + 1) && e.parameters == 2 * e.measures + 2 &&
               (!e.inputs || e.inputs == e.measures)),
          "dry friction has two parameters for each measure and two more, and a load for each or none");
  require(e.form != LawForm::bushing ||
              (e.measures == 6 && e.parameters == std::popcount(std::uint32_t(e.law) & 0xfffu)),
          "a bushing has six measures and as many parameters as bits");
  require(e.form != LawForm::inputs || e.inputs == e.measures, "forces that are given need an input each");
  const std::int32_t results = e.unknowns ? gives + e.unknowns * (e.unknowns + 2) : gives;
  require(e.form != LawForm::program || t.laws_of_elements.programs[std::size_t(e.law)].outputs >= results,
          "the program of an element gives too little");
}

static void complete_programs_of_laws(Tables &t, ModelData &m) {
  std::vector<LawShape> shapes;
  for (const ElementData &e : t.elements)
    if (e.form == LawForm::program)
      shapes.push_back({e.law, e.measures, e.states, e.signals, 1 + 2 * e.measures + e.states + e.parameters + e.inputs,
                        e.unknowns});
  m.programs = complete_programs(t.laws_of_elements, max_law_inputs, t.tables, shapes);
  for (const ElementData &e : t.elements)
    for (std::int32_t k = 0, first = 1; k < e.ports; ++k) {
      PortData &port = t.ports[std::size_t(e.port + k)];
      port.turns |= e.form != LawForm::program && e.form != LawForm::contact;
      if (e.form == LawForm::contact)
        continue;
      for (std::int32_t i = first + 3; port.measure == Measure::pose && i < first + 6; ++i)
        port.turns =
            port.turns || takes(t.laws_of_elements, t.tables, t.laws_of_elements.programs[std::size_t(e.law)], i);
      first += measures_of(port.measure);
    }
}

void complete_elements(Tables &t, ModelData &m) {
  complete_ports(t, m);
  complete_contact_pairs(t, m);
  for (const ElementData &e : t.elements)
    m.nx += e.states, m.signal_count += e.signals;
  m.bristle_states = 0;
  for (std::size_t k = t.elements.size(); k-- > 0 && t.elements[k].form == LawForm::contact;)
    if (const ElementData &e = t.elements[k]; e.states) {
      if (e.state + e.states + m.bristle_states != m.nx)
        break;
      m.bristle_states += e.states;
    }
  const std::int32_t connections = connection_count(m);
  for (const FeedbackData &feedback : t.feedbacks)
    require(within(feedback.connection, 0, connections) && within(feedback.part, 0, 6),
            "a transmitted load is out of range");
  m.feedbacks = pointer(t.feedbacks);
  m.feedback_count = count_of(t.feedbacks.size());
  const std::int32_t limits[] = {count_of(t.laws.size()), m.port_count, m.nx, m.signal_count, m.feedback_count};
  for (InputData &input : t.inputs) {
    require(within(std::int32_t(input.source), 0, std::int32_t(Source::feedback) + 1) &&
                within(input.place, 0, limits[std::int32_t(input.source)]) && within(input.part, 0, 12),
            "an input refers to something out of range");
    if (input.source == Source::law)
      input.part = m.input_count++;
  }
  m.inputs = pointer(t.inputs);
  m.law_input_count = count_of(t.inputs.size());
  std::int32_t signals = 0;
  for (ElementData &e : t.elements) {
    complete_element(t, m, e);
    e.signal = signals;
    signals += e.signals;
    e.measured = m.measure_count;
    m.measure_count += e.measures;
  }
  complete_programs_of_laws(t, m);
  find_switching_functions(t, m);
  find_watched(t, m);
  m.elements = pointer(t.elements);
  m.element_count = count_of(t.elements.size());
}

} // namespace dalembert
