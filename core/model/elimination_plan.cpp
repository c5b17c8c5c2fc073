#include "model/elimination_plan.hpp"
#include "joints/registry.hpp"
#include "model/tables.hpp"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

namespace dalembert {

namespace {

using Int = std::int32_t;

Int count_of(std::size_t n) { return Int(n); }
template <class T> const T *pointer(const std::vector<T> &v) { return v.empty() ? nullptr : v.data(); }

struct Planner {
  const ModelData &m;
  Tables::Fronts &out;
  std::vector<Int> next;                            // front after that of each body
  std::vector<Int> body_of;                         // degrees of freedom
  std::vector<Int> port_label, signals_of;          // of ports and of elements; -1
  std::vector<Int> owner_of_state, owner_of_signal; // elements
  std::map<std::pair<Int, Int>, Int> tap_at, link_at;
  std::vector<std::set<Int>> touched; // labels at each body
  std::set<Int> independent;          // rows that are not redundant within their loop
  std::vector<Int> anchor;            // of labels: where what touches them has met; -1: nothing does

  Int add_label(LabelKind kind, Int owner, Int size) {
    out.labels.push_back({kind, owner, size, 0, -1});
    return count_of(out.labels.size()) - 1;
  }
  Int tap(Int label, Int body) {
    if (!body)
      return -1;
    const auto [at, fresh] = tap_at.try_emplace({label, body}, count_of(out.taps.size()));
    if (fresh) {
      out.taps.push_back({body, label, 0, 0});
      touched[std::size_t(body)].insert(label);
    }
    return at->second;
  }
  Int link(Int row, Int column) {
    const auto [at, fresh] = link_at.try_emplace({row, column}, count_of(out.links.size()));
    if (fresh)
      out.links.push_back({row, column, 0, 0, 0, 0});
    return at->second;
  }
  Int label_of_dof(Int f) const { return out.label_of[std::size_t(body_of[std::size_t(f)])]; }

  Int meet(Int a, Int b) const {
    if (a < 0 || b < 0)
      return std::max(a, b);
    while (a != b)
      (a > b ? a : b) = next[std::size_t(a > b ? a : b)];
    return a;
  }

  Int root_of(Int body) const {
    while (m.bodies[body].parent)
      body = m.bodies[body].parent;
    return body;
  }

  // ---- labels

  void label_dofs() {
    out.label_of.assign(std::size_t(m.nb) + 1, -1);
    out.own_tap = out.own_link = out.label_of;
    body_of.resize(std::size_t(m.nv));
    for (Int i = 1; i <= m.nb; ++i) {
      const BodyData &b = m.bodies[i];
      Int &label = out.label_of[std::size_t(i)];
      if (b.nv)
        label = add_label(LabelKind::dofs, i, b.nv);
      else if (b.form == JointForm::node && b.moves)
        label = out.label_of[std::size_t(b.parent)];
      if (label >= 0)
        touched[std::size_t(i)].insert(label);
      for (Int f = 0; f < b.nv; ++f)
        body_of[std::size_t(b.v + f)] = i;
      if (b.form == JointForm::modal)
        out.own_tap[std::size_t(i)] = tap(label, i);
      if (b.form == JointForm::modal || (b.nv && b.armature))
        out.own_link[std::size_t(i)] = link(label, label);
    }
  }

  static bool at_joint(const PortData &port) { return port.measure == Measure::joint && port.constraint < 0; }
  std::pair<Int, Int> ends(const PortData &port) const {
    if (port.measure != Measure::joint)
      return {port.body_a, port.body_b};
    return {m.loop_constraints[port.constraint].body_a, m.loop_constraints[port.constraint].body_b};
  }

  void label_elements() {
    port_label.assign(std::size_t(m.port_count), -1);
    signals_of.assign(std::size_t(m.element_count), -1);
    out.states_of = signals_of;
    owner_of_state.assign(std::size_t(m.nx), 0);
    owner_of_signal.assign(std::size_t(m.signal_count), 0);
    for (Int k = 0; k < m.element_count; ++k) {
      const ElementData &e = m.elements[k];
      std::fill_n(owner_of_state.begin() + e.state, e.states, k);
      std::fill_n(owner_of_signal.begin() + e.signal, e.signals, k);
      if (e.states)
        out.states_of[std::size_t(k)] = add_label(LabelKind::states, k, e.states);
      if (e.signals && !e.report_only)
        signals_of[std::size_t(k)] = add_label(LabelKind::signals, k, e.signals);
    }
    for (Int k = 0; k < m.element_count; ++k)
      plan_element(k);
  }

  // What the law of an element depends on: bodies that its ports are on, and dofs, states and signals.
  struct Dependences {
    std::set<Int> bodies;
    std::set<std::pair<Int, Int>> scalars; // kind and index
  };

  Dependences dependences_of(const ElementData &e) const {
    Dependences found;
    const auto add_port = [&](const PortData &port) {
      if (at_joint(port)) {
        found.scalars.insert({Int(ElementDependence::dof), port.dof});
        return;
      }
      const auto [a, b] = ends(port);
      found.bodies.insert(a), found.bodies.insert(b);
    };
    for (Int p = e.port; p < e.port + e.ports; ++p)
      add_port(m.ports[p]);
    for (Int s = 0; s < e.states; ++s)
      found.scalars.insert({Int(ElementDependence::state), e.state + s});
    for (Int i = e.input; i < e.input + e.inputs; ++i) {
      const InputData &input = m.inputs[i];
      if (input.source == Source::port)
        add_port(m.ports[input.place]);
      else if (input.source == Source::state)
        found.scalars.insert({Int(ElementDependence::state), input.place});
      else if (input.source == Source::signal)
        found.scalars.insert({Int(ElementDependence::signal), input.place});
    }
    found.bodies.erase(0);
    return found;
  }

  // adds the scalars that a law depends on; returns their labels
  std::vector<Int> add_sources(const std::set<std::pair<Int, Int>> &scalars) {
    std::vector<Int> labels;
    for (const auto &[number, index] : scalars) {
      const ElementDependence kind = static_cast<ElementDependence>(number);
      Int label, column;
      if (kind == ElementDependence::dof)
        label = label_of_dof(index), column = index - m.bodies[body_of[std::size_t(index)]].v;
      else if (kind == ElementDependence::state)
        label = out.states_of[std::size_t(owner_of_state[std::size_t(index)])],
        column = index - m.elements[owner_of_state[std::size_t(index)]].state;
      else
        label = signals_of[std::size_t(owner_of_signal[std::size_t(index)])],
        column = index - m.elements[owner_of_signal[std::size_t(index)]].signal;
      out.sources.push_back({kind, index, column});
      labels.push_back(label);
    }
    return labels;
  }

  // adds the equations that an element contributes to; returns their labels
  std::vector<Int> add_equations(Int k, bool alone) {
    const ElementData &e = m.elements[k];
    std::vector<Int> labels;
    const auto add = [&](LabelKind kind, Int port, Int row, Int label) {
      out.acted.push_back({kind, port, row});
      labels.push_back(label);
    };
    for (Int p = 0; p < e.ports; ++p) {
      const PortData &port = m.ports[e.port + p];
      if (at_joint(port)) {
        add(LabelKind::dofs, p, port.dof - m.bodies[body_of[std::size_t(port.dof)]].v, label_of_dof(port.dof));
        continue;
      }
      const auto [a, b] = ends(port);
      if (!a && !b)
        continue;
      Int label = -1;
      if (!alone) {
        label = port_label[std::size_t(e.port + p)] = add_label(LabelKind::port, e.port + p, 6);
        tap(label, a), tap(label, b);
      }
      add(LabelKind::port, p, 0, label);
    }
    if (e.states)
      add(LabelKind::states, 0, 0, out.states_of[std::size_t(k)]);
    if (signals_of[std::size_t(k)] >= 0)
      add(LabelKind::signals, 0, 0, signals_of[std::size_t(k)]);
    return labels;
  }

  void plan_element(Int k) {
    if (m.elements[k].report_only)
      return;
    const Dependences seen = dependences_of(m.elements[k]);
    ElementAssembly plan{k,
                         0,
                         count_of(out.bodies.size()),
                         count_of(seen.bodies.size()),
                         count_of(out.sources.size()),
                         count_of(seen.scalars.size()),
                         count_of(out.acted.size()),
                         0,
                         count_of(out.entries.size())};
    plan.alone = seen.bodies.size() <= 1 && seen.scalars.empty() && signals_of[std::size_t(k)] < 0;
    out.bodies.insert(out.bodies.end(), seen.bodies.begin(), seen.bodies.end());
    const std::vector<Int> columns = add_sources(seen.scalars), rows = add_equations(k, plan.alone);
    plan.rows = count_of(rows.size());
    for (const Int row : rows)
      for (const Int body : seen.bodies)
        out.entries.push_back(plan.alone ? -1 : tap(row, body));
    for (const Int row : rows)
      for (const Int column : columns)
        out.entries.push_back(link(row, column));
    out.stamps.push_back(plan);
  }

  // How many of the first rows of a joint are all that closes its loop, if these are of a point: 2 or 3; else 0.
  Int point_rows(const LoopConstraintData &constraint) const {
    if (constraint.form != LoopConstraintForm::joint || constraint.held || constraint.kept)
      return 0;
    bool is_point = false;
    DALEMBERT_ISA::JointLibrary::visit(constraint.kind, [&](auto joint) {
      using Joint = decltype(joint);
      is_point = std::is_same_v<Joint, DALEMBERT_ISA::Revolute> ||
                 std::is_same_v<Joint, DALEMBERT_ISA::Spherical<false>> ||
                 std::is_same_v<Joint, DALEMBERT_ISA::Spherical<true>>;
    });
    Int count = 0;
    for (Int j = 0; j < constraint.rows; ++j)
      if (independent.count(constraint.row + j)) {
        if (j != count)
          return 0;
        ++count;
      }
    return is_point && (count == 2 || count == 3) ? count : 0;
  }

  void label_loop_constraints() {
    independent.insert(m.independent_rows.row, m.independent_rows.row + m.independent_rows.count);
    for (Int k = 0; k < m.loop_constraint_count; ++k) {
      const LoopConstraintData &constraint = m.loop_constraints[k];
      LoopConstraintAssembly stamp{{-1, -1}, {-1, -1}, -1, count_of(out.entries.size())};
      const Int of_point = point_rows(constraint), size = of_point ? of_point : constraint.rows;
      const Int rows = size ? add_label(LabelKind::multipliers, k, size) : -1;
      out.multipliers_of.push_back(rows);
      if (rows >= 0 && constraint.form == LoopConstraintForm::coupling) {
        const auto label = [&](Int s) { return label_of_dof(m.support[constraint.support + s]); };
        for (Int s = 0; s < constraint.supports; ++s)
          out.entries.push_back(link(label(s), rows));
        for (Int s = 0; s < constraint.supports; ++s)
          out.entries.push_back(link(rows, label(s)));
        for (Int s = 0; s < constraint.supports; ++s)
          for (Int r = 0; r < constraint.supports; ++r)
            out.entries.push_back(constraint.program < 0 ? -1 : link(label(s), label(r)));
      } else if (rows >= 0) {
        const Int body[2] = {constraint.body_a, constraint.body_b};
        const Int load = of_point ? -1 : add_label(LabelKind::constraint, k, 6);
        for (int end = 0; end < 2; ++end) {
          stamp.rows[end] = tap(rows, body[end]);
          if (load >= 0)
            stamp.load[end] = tap(load, body[end]);
        }
        if (load >= 0)
          stamp.link = link(load, rows);
        if (!constraint.body_a || !constraint.body_b) // its loop closes where the tree begins
          for (const Int label : {load, rows})
            if (label >= 0)
              touched[std::size_t(root_of(std::max(constraint.body_a, constraint.body_b)))].insert(label);
      }
      out.loop_constraints.push_back(stamp);
    }
  }

  // ---- where they leave

  void find_homes() {
    anchor.assign(out.labels.size(), -1);
    for (Int i = 1; i <= m.nb; ++i)
      for (const Int label : touched[std::size_t(i)])
        anchor[std::size_t(label)] = meet(anchor[std::size_t(label)], i);
    for (bool again = true; again;) { // labels that nothing touches go where what they are linked with has met
      again = false;
      std::vector<Int> found = anchor;
      for (const LabelLinkData &l : out.links)
        for (const auto &[a, b] : {std::pair{l.row, l.column}, std::pair{l.column, l.row}})
          if (anchor[std::size_t(a)] < 0 && anchor[std::size_t(b)] >= 0) {
            found[std::size_t(a)] = meet(found[std::size_t(a)], anchor[std::size_t(b)]);
            again = true;
          }
      anchor = found;
    }
    for (std::size_t l = 0; l < out.labels.size(); ++l) {
      anchor[l] = std::max(anchor[l], 0);
      touched[std::size_t(anchor[l])].insert(count_of(l));
      out.labels[l].home = anchor[l];
    }
    for (const LabelLinkData &l : out.links) {
      const Int met = meet(anchor[std::size_t(l.row)], anchor[std::size_t(l.column)]);
      for (const Int label : {l.row, l.column})
        out.labels[std::size_t(label)].home = meet(out.labels[std::size_t(label)].home, met);
    }
    for (LabelLinkData &l : out.links)
      l.front = std::max(out.labels[std::size_t(l.row)].home, out.labels[std::size_t(l.column)].home);
  }

  // ---- fronts

  std::vector<std::map<Int, Int>> offsets; // of the labels in each front
  Int columns = 0;

  // False: too many stay open for this to be of use.
  bool make_fronts() {
    Int first = 0;
    for (LabelData &label : out.labels)
      label.first = first, first += label.size;
    std::vector<std::set<Int>> &open = touched;
    const std::size_t most = 10000 + 50 * (out.labels.size() + std::size_t(m.nb));
    std::size_t carried = 0;
    for (Int i = m.nb; i > 0; --i)
      for (const Int label : open[std::size_t(i)])
        if (out.labels[std::size_t(label)].home != i) {
          open[std::size_t(next[std::size_t(i)])].insert(label);
          if (++carried > most)
            return false;
        }
    out.fronts.resize(std::size_t(m.nb) + 1);
    offsets.resize(std::size_t(m.nb) + 1);
    for (Int i = 0; i <= m.nb; ++i) {
      FrontData &front = out.fronts[std::size_t(i)];
      front = {};
      front.next = next[std::size_t(i)];
      front.unknown = count_of(out.unknowns.size());
      front.label = count_of(out.leaving.size());
      Int at = 0;
      const auto take = [&](Int label) {
        const LabelData &l = out.labels[std::size_t(label)];
        offsets[std::size_t(i)][label] = at;
        for (Int k = 0; k < l.size; ++k, ++at)
          out.unknowns.push_back(l.first + k);
      };
      for (const bool multipliers : {false, true}) {
        front.multipliers = at;
        for (const Int label : open[std::size_t(i)])
          if (const LabelData &l = out.labels[std::size_t(label)];
              l.home == i && (l.kind == LabelKind::multipliers) == multipliers)
            take(label), out.leaving.push_back(label);
      }
      front.multipliers = at - front.multipliers;
      front.labels = count_of(out.leaving.size()) - front.label;
      front.leaving = at;
      for (const Int label : open[std::size_t(i)])
        if (out.labels[std::size_t(label)].home != i)
          take(label);
      front.open = at - front.leaving;
      front.into = count_of(out.into.size());
      for (const Int label : open[std::size_t(i)])
        if (i && out.labels[std::size_t(label)].home != i)
          for (Int k = 0; k < out.labels[std::size_t(label)].size; ++k)
            out.into.push_back(offsets[std::size_t(front.next)].at(label) + k);
      const Int own = out.label_of[std::size_t(i)];
      front.own = own < 0 ? -1 : offsets[std::size_t(i)].at(own);
      const BodyData &b = m.bodies[i];
      front.moves = own < 0 ? 0 : b.form == JointForm::node || b.form == JointForm::modal ? b.moves : b.nv;
      front.column = columns;
      columns += front.moves;
    }
    return true;
  }

  // taps and links in the order of their fronts; what refers to them follows
  void sort_stamps() {
    const auto order = [](std::size_t n, auto front_of) {
      std::vector<Int> sorted(n), place(n);
      for (std::size_t k = 0; k < n; ++k)
        sorted[k] = count_of(k);
      std::stable_sort(sorted.begin(), sorted.end(), [&](Int a, Int b) { return front_of(a) < front_of(b); });
      for (std::size_t k = 0; k < n; ++k)
        place[std::size_t(sorted[k])] = count_of(k);
      return std::pair{sorted, place};
    };
    const auto [taps, tap_place] = order(out.taps.size(), [&](Int k) { return out.taps[std::size_t(k)].body; });
    const auto [links, link_place] = order(out.links.size(), [&](Int k) { return out.links[std::size_t(k)].front; });
    const auto move = [](Int &index, const std::vector<Int> &place) {
      index = index < 0 ? -1 : place[std::size_t(index)];
    };
    std::vector<LabelAtBodyData> old_taps = out.taps;
    std::vector<LabelLinkData> old_links = out.links;
    for (std::size_t k = 0; k < taps.size(); ++k)
      out.taps[k] = old_taps[std::size_t(taps[k])];
    for (std::size_t k = 0; k < links.size(); ++k)
      out.links[k] = old_links[std::size_t(links[k])];
    for (std::size_t i = 0; i < out.own_tap.size(); ++i)
      move(out.own_tap[i], tap_place), move(out.own_link[i], link_place);
    for (const ElementAssembly &s : out.stamps)
      for (Int k = 0; k < s.rows * (s.bodies + s.sources); ++k)
        move(out.entries[std::size_t(s.entry + k)], k < s.rows * s.bodies ? tap_place : link_place);
    for (std::size_t k = 0; k < out.loop_constraints.size(); ++k) {
      LoopConstraintAssembly &s = out.loop_constraints[k];
      for (int end = 0; end < 2; ++end)
        move(s.load[end], tap_place), move(s.rows[end], tap_place);
      move(s.link, link_place);
      const Int n = m.loop_constraints[k].supports;
      for (Int j = 0;
           m.loop_constraints[k].form == LoopConstraintForm::coupling && m.loop_constraints[k].rows && j < n * (n + 2);
           ++j)
        move(out.entries[std::size_t(s.entry + j)], link_place);
    }
  }

  void place_numbers(FrontTables &tables) {
    for (std::size_t k = 0; k < out.taps.size(); ++k) {
      LabelAtBodyData &t = out.taps[k];
      FrontData &front = out.fronts[std::size_t(t.body)];
      if (!front.taps++)
        front.tap = count_of(k);
      t.offset = offsets[std::size_t(t.body)].at(t.label);
      t.numbers = tables.tap_numbers;
      tables.tap_numbers += 36 * out.labels[std::size_t(t.label)].size;
    }
    for (std::size_t k = 0; k < out.links.size(); ++k) {
      LabelLinkData &l = out.links[k];
      FrontData &front = out.fronts[std::size_t(l.front)];
      if (!front.links++)
        front.link = count_of(k);
      l.row_offset = offsets[std::size_t(l.front)].at(l.row);
      l.column_offset = offsets[std::size_t(l.front)].at(l.column);
      l.numbers = tables.link_numbers;
      tables.link_numbers +=
          3 * std::int64_t(out.labels[std::size_t(l.row)].size) * out.labels[std::size_t(l.column)].size;
    }
    for (FrontData &front : out.fronts) {
      const std::int64_t n = front.leaving + front.open, numbers = (n + 6) * (n + 18);
      front.matrix = tables.matrix_numbers;
      tables.matrix_numbers += numbers;
      tables.max_numbers = std::max(tables.max_numbers, numbers);
    }
  }
};

// What a factorisation costs, about, in multiplications; with it its share of the derivatives.
double cost_of_fronts(const ModelData &m, const FrontTables &tables) {
  double cost = 0.0;
  for (Int i = 0; i <= m.nb; ++i) {
    const FrontData &f = tables.fronts[i];
    const double rows = f.leaving + f.open + 6.0, columns = rows + 12.0;
    cost += 300.0 + (f.leaving + 1.0) * rows * columns;
  }
  return cost;
}

} // namespace

double cost_of_dense(double unknowns) { return unknowns * unknowns * unknowns / 3.0 + 7.0 * unknowns * unknowns; }

namespace {

// The numbers are such that both ways take the same time where they were found to (bench/implicit.py): radau for 32
// rigid links, 5 beams of 6 modes, 32 four-bars in a row; generalised alpha for 5 links, 1 beam, 5 four-bars.
void choose(const ModelData &m, FrontTables &tables) {
  if (m.feedback_count)
    return;
  if (const char *asked = std::getenv("DALEMBERT_NEWTON")) {
    tables.pays_kept = tables.pays_fresh = std::strcmp(asked, "dense") != 0;
    return;
  }
  const double cost = cost_of_fronts(m, tables), kept = m.nv + m.nx + 0.4 * m.nc, fresh = m.nv + m.nc;
  tables.cost = cost;
  tables.pays_kept = cost < cost_of_dense(kept);
  tables.pays_fresh = cost < fresh * fresh * fresh / 3.0 + 110.0 * fresh * m.nv;
}

} // namespace

void complete_fronts(Tables &t, ModelData &m) {
  Tables::Fronts &out = t.fronts;
  FrontTables tables{};
  Planner plan{m, out, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, 0};
  plan.touched.resize(std::size_t(m.nb) + 1);
  plan.next.resize(std::size_t(m.nb) + 1);
  for (Int i = 1, root = 0; i <= m.nb; ++i) {
    plan.next[std::size_t(i)] = m.bodies[i].parent ? m.bodies[i].parent : root;
    root = m.bodies[i].parent ? root : i;
  }
  plan.label_dofs();
  plan.label_elements();
  plan.label_loop_constraints();
  plan.find_homes();
  if (!plan.make_fronts())
    return;
  plan.sort_stamps();
  plan.place_numbers(tables);
  tables.column_count = plan.columns;
  tables.label_count = count_of(out.labels.size());
  tables.tap_count = count_of(out.taps.size());
  tables.link_count = count_of(out.links.size());
  tables.stamp_count = count_of(out.stamps.size());
  for (const LabelData &label : out.labels)
    tables.unknown_count += label.size;
  tables.labels = pointer(out.labels);
  tables.taps = pointer(out.taps);
  tables.links = pointer(out.links);
  tables.fronts = pointer(out.fronts);
  tables.unknowns = pointer(out.unknowns);
  tables.into = pointer(out.into);
  tables.leaving = pointer(out.leaving);
  tables.bodies = pointer(out.bodies);
  tables.entries = pointer(out.entries);
  tables.sources = pointer(out.sources);
  tables.acted = pointer(out.acted);
  tables.stamps = pointer(out.stamps);
  tables.loop_constraints = pointer(out.loop_constraints);
  tables.label_of = pointer(out.label_of);
  tables.own_tap = pointer(out.own_tap);
  tables.own_link = pointer(out.own_link);
  tables.states_of = pointer(out.states_of);
  tables.multipliers_of = pointer(out.multipliers_of);
  choose(m, tables);
  m.fronts = tables;
}

} // namespace dalembert
