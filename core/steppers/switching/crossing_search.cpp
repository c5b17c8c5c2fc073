#include "steppers/switching/crossing_search.hpp"
#include "events/event_values.hpp"
#include "friction/row_response.hpp"
#include "friction/switching_values.hpp"
#include "steppers/methods/hermite.hpp"
#include "steppers/switching/formula_search.hpp"
#include "tree/manifold.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int node_count = 5;
constexpr double nodes[node_count] = {0.0, 0.23, 0.5, 0.79, 1.0}; // fractions of the step
constexpr double just_after = 1e-6;    // fraction of the step that gives the sign of a function that starts at zero
constexpr double simultaneous = 1e-12; // fraction of the step: closer crossings are one change
constexpr double same_root = 2e-16;    // fraction of the step: closer points are one
constexpr int max_root_iterations = 100;
constexpr int max_dips = 8;                 // points added where a function nearly touches zero
constexpr int max_fine_nodes = 4096;        // where functions change fast
constexpr double estimate_error = 0.02;     // of the change between neighbours: of values that are not of dense output
constexpr double interpolation_error = 0.1; // of the range in a step: allowed distance from the line through neighbours
constexpr double relevant_range = 3.0;      // ranges: functions further away from zero are not refined
constexpr double max_surprises = 0.2;       // of the points: if more are poorly predicted, points are added
constexpr int max_jumps = 200;     // of a function from one side of zero to the other in a step; more are noise
constexpr double jump_size = 1e-6; // of the range in a step: a larger change across a root is a jump
constexpr double overload = -1e-3; // margin of stuck rows: clearly beyond their limits
constexpr double pi = 3.141592653589793;

using Point = CrossingPoint;

std::size_t at(int k) { return std::size_t(k); }

double sign_of(double g) { return double(g > 0.0) - double(g < 0.0); }

// place and value of the extremum of the parabola through three points; false if it is outside
bool vertex(const Point &a, const Point &b, const Point &c, Point &found) {
  const double first = (b.g - a.g) / (b.s - a.s), second = (c.g - b.g) / (c.s - b.s);
  const double bend = (second - first) / (c.s - a.s), slope = first + bend * (b.s - a.s);
  found = {b.s - slope / (2.0 * bend), b.g - slope * slope / (4.0 * bend)};
  return found.s > a.s && found.s < c.s;
}

// whether a function of one sign at three points nearly touches zero between them, by their parabola
bool nearly_touches(const Point &a, const Point &b, const Point &c, Point &found) {
  return vertex(a, b, c, found) && sign_of(b.g) * found.g < 0.25 * std::fabs(b.g);
}

// whether the lowest of three points is so close to zero that the error of the estimate may hide a crossing
bool comes_close(const Point &a, const Point &b, const Point &c) {
  const double sign = sign_of(b.g), left = sign * (a.g - b.g), right = sign * (c.g - b.g);
  return left >= 0.0 && right >= 0.0 && std::fabs(b.g) < estimate_error * std::max(left, right);
}

// whether values before and after are a crossing that counts
bool passes(const CrossingFunction &function, double before, double after) {
  if (function.turn && std::fabs(after - before) > pi)
    return false;
  return (before < 0.0 && after >= 0.0 && function.direction >= 0) ||
         (before > 0.0 && after <= 0.0 && function.direction <= 0);
}

// A convex function whose slope is known.
struct Slope {
  Point at;
  double rate; // per step
};

// lowest value that a convex function through two points with their slopes can have, and where
Point lowest(const Slope &a, const Slope &b) {
  const double s = (b.at.g - a.at.g + a.rate * a.at.s - b.rate * b.at.s) / (a.rate - b.rate);
  return {s, a.at.g + a.rate * (s - a.at.s)};
}

// Functions whose values are wanted; others may be left as they are.
struct WantedFunctions {
  bool friction = true;
  Margin margin = Margin::evaluated;
  bool events = true;
};

// values of friction and of events at a state
Outcome evaluate_functions(const RunContext &i, double t, const double *q, const double *v, const double *x,
                           double *of_friction, double *of_events, WantedFunctions wanted = {}) {
  FrictionRun *friction = wanted.friction ? i.run.friction : nullptr;
  if (friction && !switching_values(i, *friction, t, q, v, x, of_friction, wanted.margin))
    return Outcome::callback_failed;
  if (friction && std::isnan(of_friction[friction->margin_function()]))
    return Outcome::not_finite;
  EventRun *events = wanted.events ? i.run.events : nullptr;
  return !events || event_values(i, *events, t, q, v, x, of_events) ? Outcome::reached : Outcome::callback_failed;
}

class Search {
public:
  Search(const Stepper &stepper, const RunContext &i, double h)
      : stepper(stepper), i(i), f(i.run.friction), e(i.run.events), w(f ? f->search : e->search), h(h),
        of_friction(f ? f->function_count() : 0), count(of_friction + (e ? e->count() : 0)) {
    describe();
  }

  Outcome run(Crossing &crossing) {
    if (!screen())
      return failure;
    Outcome outcome = Outcome::reached;
    if (std::find(w.suspects.begin(), w.suspects.end(), 1) != w.suspects.end()) {
      outcome = stepper.prepare(i, h);
      if (outcome == Outcome::reached)
        outcome = locate(crossing);
    }
    if (outcome == Outcome::reached && !crossing.found) {
      const double *last = value(0, node_count - 1);
      if (f)
        std::copy_n(last, of_friction, f->values.begin());
      if (e)
        std::copy_n(last + of_friction, e->count(), e->values.begin());
    }
    return outcome;
  }

private:
  const Stepper &stepper;
  const RunContext &i;
  FrictionRun *const f;
  EventRun *const e;
  CrossingWorkspace &w;
  const double h;
  const int of_friction, count;
  bool has_formulas = false;
  double explored = 1.0; // of the step, by the last search for crossings of a formula
  Outcome failure = Outcome::reached;
  bool noisy = false;

  void describe() {
    w.functions.assign(at(count), {});
    for (int k = 0; k < of_friction; ++k) {
      CrossingFunction &function = w.functions[at(k)];
      function.from_above = true;
      function.convex = k < int(f->switches.size()) && f->switches[at(k)].kind != SwitchKind::rest;
      function.refined = k == f->margin_function() && f->holding.holds;
    }
    for (int k = of_friction; k < count; ++k) {
      const EventFunction &event = e->functions[at(k - of_friction)];
      CrossingFunction &function = w.functions[at(k)];
      function.direction = event.direction;
      function.changes_run = event.active;
      function.turn = event.turn;
      function.formula = event.channel < 0 && !event.turn && !e->ignored[at(k - of_friction)];
      function.refined = !function.formula;
      has_formulas = has_formulas || function.formula;
    }
    w.before.resize(at(count));
    if (f)
      std::copy_n(f->values.begin(), of_friction, w.before.begin());
    if (e) {
      std::copy_n(e->values.begin(), e->count(), w.before.begin() + of_friction);
      e->recorded.clear(), e->passed.clear(), e->also.clear();
    }
    w.table.resize(at(node_count * count));
    w.rates.resize(w.table.size());
    w.inputs.resize(has_formulas ? at(node_count + 1) * e->inputs.size() : 0);
    w.suspects.assign(at(count), 0);
    w.is_fine.assign(at(count), 0);
    w.values.resize(at(count));
    w.roots.assign(at(count), 2.0);
  }

  // values of functions at a state; false: `failure` says why
  bool evaluate(double t, const double *q, const double *v, const double *x, double *out, WantedFunctions wanted = {}) {
    failure = evaluate_functions(i, t, q, v, x, out, out + of_friction, wanted);
    return failure == Outcome::reached;
  }
  // functions for which a test holds
  template <class Test> WantedFunctions where(Test &&test) const {
    WantedFunctions wanted{f != nullptr, f && test(f->margin_function()) ? Margin::evaluated : Margin::none, false};
    for (int k = of_friction; k < count; ++k)
      wanted.events = wanted.events || test(k);
    return wanted;
  }
  WantedFunctions suspects() const {
    return where([&](int k) { return w.suspects[at(k)] != 0; });
  }
  WantedFunctions at_zero() const {
    return where([&](int k) { return w.before[at(k)] == 0.0; });
  }

  double *value(int function, int node) { return w.table.data() + node * count + function; }
  Point point(int k, int node) { return {nodes[node], *value(k, node)}; }

  // slope of the gap of a stop at the state that was evaluated last, per step
  double gap_rate(int k) const {
    const RowSwitch &which = f->switches[at(k)];
    return h * (which.kind == SwitchKind::lower ? f->u[at(which.row)] : -f->u[at(which.row)]);
  }
  void keep_rates(int node) {
    for (int k = 0; k < of_friction; ++k)
      if (w.functions[at(k)].convex)
        w.rates[at(node * count + k)] = gap_rate(k);
  }
  void keep_inputs(int node) {
    if (has_formulas)
      std::copy(e->inputs.begin(), e->inputs.end(), w.inputs.begin() + std::ptrdiff_t(at(node) * e->inputs.size()));
  }
  Slope slope(int k, int node) { return {point(k, node), w.rates[at(node * count + k)]}; }

  // whether the gap of a stop may close and open again between two nodes
  bool may_dip(int k, int node) {
    const Slope a = slope(k, node), b = slope(k, node + 1);
    return a.at.g > 0.0 && b.at.g > 0.0 && a.rate < 0.0 && b.rate > 0.0 && lowest(a, b).g <= 0.0;
  }

  // ---- by a polynomial between the ends of the step
  //
  // Of explicit methods by positions, velocities and accelerations, as dense output is for most of them. Accelerations
  // at the ends of implicit steps amplify errors of stiff systems: there by positions and velocities.

  bool by_accelerations() const { return stepper.tableau != nullptr; }

  bool estimate() {
    if (by_accelerations())
      failure = prepare_hermite(i, h);
    else
      find_displacement();
    return failure == Outcome::reached;
  }

  void find_displacement() {
    const ModelData &m = i.m;
    const RunWorkspace &work = i.work;
    w.displacement.resize(at(m.nv));
    difference<double>(m, work.q, work.q1, w.displacement.data());
    double most = 1.0;
    for (int k = 0; k < m.nq; ++k)
      most = std::max(most, std::max(std::fabs(work.q[k]), std::fabs(work.q1[k])));
    for (int k = 0; k < m.nv; ++k) { // in very short steps it is rounding: there it is taken from the velocities
      const double by_velocities = 0.5 * h * (work.v[k] + work.v1[k]);
      if (std::fabs(w.displacement[at(k)] - by_velocities) <= 4.0 * 2.2e-16 * most)
        w.displacement[at(k)] = by_velocities;
    }
  }

  // increments of the cubic
  void cubic(double s, double *z) const {
    const ModelData &m = i.m;
    const RunWorkspace &work = i.work;
    const double move = s * s * (3.0 - 2.0 * s), first = s * (1.0 + s * (s - 2.0)), last = s * s * (s - 1.0);
    for (int k = 0; k < m.nv; ++k) {
      z[k] = move * w.displacement[at(k)] + h * (first * work.v[k] + last * work.v1[k]);
      z[m.nv + k] = 6.0 * s * (1.0 - s) * w.displacement[at(k)] / h + s * (3.0 * s - 4.0) * work.v[k] +
                    s * (3.0 * s - 2.0) * work.v1[k];
    }
    for (int k = 0; k < m.nx; ++k)
      z[2 * m.nv + k] = s * (work.x1[k] - work.x[k]);
  }

  // functions at a fraction of the step
  bool at_estimate(double s, double *out, WantedFunctions wanted = {}) {
    const RunWorkspace &work = i.work;
    const double t = i.run.t + s * h;
    if (by_accelerations())
      hermite_at(i, h, s, work.z);
    else
      cubic(s, work.z);
    if (!displaced(i, t, work.z, work.qs, work.vs, work.xs)) {
      failure = Outcome::callback_failed;
      return false;
    }
    return evaluate(t, work.qs, work.vs, work.xs, out, wanted);
  }

  bool starts_at_zero() const { return std::find(w.before.begin(), w.before.end(), 0.0) != w.before.end(); }
  // values just after the beginning in place of those that are zero there
  void take_values_just_after() {
    for (int k = 0; k < count; ++k)
      if (w.before[at(k)] == 0.0)
        *value(k, 0) = w.values[at(k)];
  }

  // values at all nodes, and the functions that may cross
  bool screen() {
    if (!estimate())
      return false;
    const RunWorkspace &work = i.work;
    if (f) {
      row_motion(i, *f, i.run.t, work.q, work.v, f->s.data(), f->u.data());
      keep_rates(0);
    }
    WantedFunctions at_end; // the rates there were the last that an explicit step has taken
    if (f && stepper.tableau && found_with_accelerations(i, *f))
      at_end.margin = Margin::of_last_rates;
    if (has_formulas) {
      if (!evaluate(i.run.t, work.q, work.v, work.x, w.values.data(), {false, Margin::none, true}))
        return false;
      keep_inputs(0);
    }
    if (!evaluate(i.run.t + h, work.q1, work.v1, work.x1, value(0, node_count - 1), at_end))
      return false;
    keep_rates(node_count - 1);
    keep_inputs(node_count - 1);
    for (int node = 1; node < node_count - 1; ++node) {
      if (!at_estimate(nodes[node], value(0, node)))
        return false;
      keep_rates(node);
      keep_inputs(node);
    }
    std::copy_n(w.before.begin(), count, value(0, 0));
    if (starts_at_zero()) {
      if (!at_estimate(just_after, w.values.data(), at_zero()))
        return false;
      take_values_just_after();
      keep_inputs(node_count);
    }
    for (int k = 0; k < count; ++k) {
      w.suspects[at(k)] = may_cross(k);
      if (w.functions[at(k)].formula && !w.suspects[at(k)] && !search_formula(k, w.suspects[at(k)]))
        return false;
    }
    return refine();
  }

  // Whether stuck rows are beyond their limits at both ends of the step, by more than rounding: their modes are
  // determined again at its end.
  bool stays_overloaded(int k) {
    return f && k == f->margin_function() && *value(k, 0) < overload && *value(k, node_count - 1) < overload;
  }

  // points at which a formula is searched for crossings, at nodes and between them
  FormulaPoint formula_point(int k, int node) {
    const bool just = node == 0 && w.before[at(k)] == 0.0;
    return {just ? just_after : nodes[node], *value(k, node),
            w.inputs.data() + at(just ? node_count : node) * e->inputs.size()};
  }
  // Appends points between which a formula changes its sign once at most to w.points, up to crossing number `enough` of
  // those that count. values_at(s): values of events, and their inputs. Returns its crossings; -1: it has failed.
  template <class Look> double add_formula_points(int k, Look &&values_at, int enough) {
    const auto look = [&](double s, double *inputs, double &g) {
      if (!values_at(s))
        return false;
      std::copy(e->inputs.begin(), e->inputs.end(), inputs);
      g = w.values[at(k)];
      return true;
    };
    const auto counts = [&](double before, double after) { return passes(w.functions[at(k)], before, after); };
    FormulaSearch search(i.m, *e, k - of_friction, w.formulas, look, counts);
    for (int node = 0; node + 2 < node_count && !search.is_done(); node += 2)
      if (!search.search(formula_point(k, node), formula_point(k, node + 1), formula_point(k, node + 2), enough,
                         w.points))
        return -1.0;
    explored = search.explored;
    return search.found / std::max(explored, same_root);
  }
  // a formula whose crossings before a fraction of the step may not all be known
  void note_crowded(int k, double searched, double end) {
    if (searched < end && e && e->crowded < 0)
      e->crowded = k - of_friction, e->crowded_time = i.run.t + searched * h;
  }
  bool search_formula(int k, unsigned char &crosses) {
    w.points.clear();
    constexpr WantedFunctions wanted{false, Margin::none, true};
    crosses = add_formula_points(k, [&](double s) { return at_estimate(s, w.values.data(), wanted); }, 1) > 0.0;
    if (!crosses)
      note_crowded(k, explored, 1.0);
    return failure == Outcome::reached;
  }

  bool may_cross(int k) {
    const CrossingFunction &function = w.functions[at(k)];
    const double first = sign_of(*value(k, 0));
    for (int node = 1; node < node_count; ++node) {
      const double other = sign_of(*value(k, node));
      if (function.from_above ? (other > 0.0) != (first > 0.0) : other != first)
        return true;
    }
    if (first == 0.0)
      return !function.from_above;
    if (first < 0.0 && function.from_above)
      return stays_overloaded(k);
    for (int node = 0; function.convex && node < node_count - 1; ++node)
      if (may_dip(k, node))
        return true;
    Point found;
    for (int node = 1; node < node_count - 1; ++node) {
      const Point a = point(k, node - 1), b = point(k, node), c = point(k, node + 1);
      if (nearly_touches(a, b, c, found) || (by_accelerations() && comes_close(a, b, c)))
        return true;
    }
    return false;
  }

  // Takes points of functions that change fast until they predict each other; all are evaluated at the same points.
  bool refine() {
    for (int parts = 8; parts <= max_fine_nodes && any_poorly_predicted(); parts *= 2) {
      w.fine_fractions.assign(1, 0.0);
      w.fine.assign(value(0, 0), value(0, 0) + count);
      for (int k = 1; k < parts; ++k) { // jittered, so that no periodic function is missed
        const double jitter = 0.4 * (0.6180339887498949 * k - std::floor(0.6180339887498949 * k) - 0.5);
        w.fine_fractions.push_back((k + jitter) / parts);
        if (!at_estimate(w.fine_fractions.back(), w.values.data()))
          return false;
        w.fine.insert(w.fine.end(), w.values.begin(), w.values.end());
      }
      w.fine_fractions.push_back(1.0);
      w.fine.insert(w.fine.end(), value(0, node_count - 1), value(0, node_count - 1) + count);
    }
    for (int k = 0; k < count; ++k) {
      if (!w.is_fine[at(k)])
        continue;
      const double first = sign_of(w.fine[at(k)]);
      for (std::size_t j = 1; j < w.fine_fractions.size(); ++j)
        if (sign_of(w.fine[j * at(count) + at(k)]) != first)
          w.suspects[at(k)] = 1;
    }
    return true;
  }

  bool any_poorly_predicted() {
    bool any = false;
    for (int k = 0; k < count; ++k) {
      if (!w.functions[at(k)].refined)
        continue;
      list_known_points(k);
      if (poorly_predicted(w.functions[at(k)].turn)) {
        any = true;
        w.is_fine[at(k)] = 1;
      }
    }
    return any;
  }
  // Points between which a function changes its sign once at most. Returns how often a formula crosses zero.
  double list_points(int k, double begin) {
    const CrossingFunction &function = w.functions[at(k)];
    if (function.formula) {
      w.points.assign(1, {begin, *value(k, 0)});
      constexpr WantedFunctions wanted{false, Margin::none, true};
      return add_formula_points(
          k, [&](double s) { return at_dense(s, w.values.data(), wanted); }, function.changes_run ? max_jumps + 1 : 0);
    }
    list_known_points(k);
    w.points.front().s = begin;
    if (function.convex)
      add_closings(k);
    if (!function.turn)
      add_dips(k);
    return 0.0;
  }
  // points of a function at the finest nodes at which it is known
  void list_known_points(int k) {
    w.points.clear();
    if (w.is_fine[at(k)])
      for (std::size_t j = 0; j < w.fine_fractions.size(); ++j)
        w.points.push_back({w.fine_fractions[j], w.fine[j * at(count) + at(k)]});
    else
      for (int node = 0; node < node_count; ++node)
        w.points.push_back(point(k, node));
  }

  bool poorly_predicted(bool turn) {
    std::vector<Point> &points = w.points;
    for (std::size_t k = 1; turn && k < points.size(); ++k)
      points[k].g -= 2.0 * pi * std::floor((points[k].g - points[k - 1].g) / (2.0 * pi) + 0.5);
    double low = points.front().g, high = low, least = std::fabs(low), most = least;
    for (const Point &each : points) {
      low = std::min(low, each.g), high = std::max(high, each.g);
      least = std::min(least, std::fabs(each.g)), most = std::max(most, std::fabs(each.g));
    }
    const double range = high - low;
    if (!(least < relevant_range * range) || !(range > 1e-12 * most))
      return false;
    int surprises = 0;
    for (std::size_t k = 1; k + 1 < points.size(); ++k) {
      const Point &a = points[k - 1], &b = points[k], &c = points[k + 1];
      const double weight = (b.s - a.s) / (c.s - a.s);
      surprises += std::fabs(b.g - (1.0 - weight) * a.g - weight * c.g) > interpolation_error * range;
    }
    return surprises > max_surprises * double(points.size() - 2);
  }

  // ---- by dense output

  bool at_dense(double s, double *out, WantedFunctions wanted) {
    failure = interpolate(stepper, i, h, s);
    if (failure != Outcome::reached)
      return false;
    return evaluate(i.run.t + s * h, i.work.qs, i.work.vs, i.work.xs, out, wanted);
  }
  double dense_value(int k, double s) {
    const bool margin = f && k == f->margin_function();
    const WantedFunctions wanted{k < of_friction, margin ? Margin::evaluated : Margin::none, k >= of_friction};
    return at_dense(s, w.values.data(), wanted) ? w.values[at(k)] : std::numeric_limits<double>::quiet_NaN();
  }

  Outcome locate(Crossing &crossing) {
    for (int node = 1; node < node_count - 1; ++node) {
      if (!at_dense(nodes[node], value(0, node), suspects()))
        return failure;
      keep_rates(node);
      if (suspects().events)
        keep_inputs(node);
    }
    double begin = 0.0;
    if (starts_at_zero()) {
      begin = just_after;
      if (!at_dense(just_after, w.values.data(), at_zero()))
        return failure;
      take_values_just_after();
      keep_inputs(node_count);
    }
    if (std::find(w.is_fine.begin(), w.is_fine.end(), 1) != w.is_fine.end() && !refine_dense())
      return failure;
    const double end = std::fabs(i.run.t + h), close = std::max(simultaneous, 4.0 * 2.2e-16 * end / h);
    const auto rounded = [&](double s) { return s > 1.0 - close ? 1.0 : s; }; // at the end of the step
    double first = 2.0;
    for (int k = 0; k < count; ++k) {
      if (!w.suspects[at(k)] || !w.functions[at(k)].changes_run)
        continue;
      find_roots(k, w.before[at(k)] == 0.0 ? begin : 0.0, 2.0);
      if (failure != Outcome::reached || noisy)
        return failure;
      first = std::min(first, w.roots[at(k)]);
    }
    if (first > 1.0 && f && stays_overloaded(f->margin_function()))
      first = w.roots[at(f->margin_function())] = 1.0;
    for (int k = of_friction; k < count; ++k) {
      if (!w.suspects[at(k)] || w.functions[at(k)].changes_run)
        continue;
      find_roots(k, w.before[at(k)] == 0.0 ? begin : 0.0, first + simultaneous);
      if (failure != Outcome::reached || noisy)
        return failure;
    }
    crossing.found = first <= 1.0;
    crossing.fraction = rounded(std::min(first, 1.0));
    report(crossing, first);
    for (int k = 0; e && k < int(e->recorded.size()); ++k)
      e->recorded[at(k)].fraction = rounded(e->recorded[at(k)].fraction);
    return Outcome::reached;
  }

  // lists the functions that cross at the first crossing, and orders recorded ones
  void report(const Crossing &crossing, double first) {
    if (e)
      std::stable_sort(e->recorded.begin(), e->recorded.end(),
                       [](const RecordedCrossing &a, const RecordedCrossing &b) { return a.fraction < b.fraction; });
    if (!crossing.found)
      return;
    if (f) {
      f->passed.clear();
      for (int k = 0; k < of_friction; ++k)
        if (w.roots[at(k)] <= first + simultaneous)
          f->passed.push_back(k);
    }
    for (int k = of_friction; k < count; ++k)
      if (w.functions[at(k)].changes_run && w.roots[at(k)] <= first + simultaneous)
        e->passed.push_back(k - of_friction);
    for (int k = 0; e && k < int(e->recorded.size()); ++k)
      if (e->recorded[at(k)].fraction >= first)
        e->also.push_back(e->recorded[at(k)].function);
  }

  // fine points on dense output
  bool refine_dense() {
    for (std::size_t j = 1; j + 1 < w.fine_fractions.size(); ++j) {
      if (!at_dense(w.fine_fractions[j], w.values.data(), suspects()))
        return false;
      std::copy(w.values.begin(), w.values.end(), w.fine.begin() + std::ptrdiff_t(j * at(count)));
    }
    std::copy_n(value(0, 0), count, w.fine.begin());
    return true;
  }

  // The first crossing of a function that changes the run, in w.roots; of others all up to a limit, in e->recorded.
  void find_roots(int k, double begin, double limit) {
    const CrossingFunction &function = w.functions[at(k)];
    explored = 1.0;
    double passings = list_points(k, begin);
    if (failure != Outcome::reached)
      return;
    const double searched = explored;
    double low = w.points.front().g, high = low;
    for (const Point &each : w.points)
      low = std::min(low, each.g), high = std::max(high, each.g);
    int jumps = 0;
    const bool ends = function.changes_run || function.formula; // points do not count all of its jumps
    for (std::size_t j = 0; j + 1 < w.points.size() && !function.formula; ++j)
      passings += passes(function, w.points[j].g, w.points[j + 1].g);
    for (std::size_t j = 0; j + 1 < w.points.size() && failure == Outcome::reached; ++j) {
      const Point a = w.points[j], b = w.points[j + 1];
      if (!passes(function, a.g, b.g) || a.s > limit)
        continue;
      bool jump = false;
      const double s = root(k, a, b, jump_size * (high - low), jump);
      jumps += jump;
      if (k >= of_friction && (jumps > max_jumps || (jump && ends && passings > max_jumps))) {
        noisy = true;
        e->noisy = k - of_friction, e->noise_time = i.run.t + s * h;
        return;
      }
      if (function.changes_run) {
        w.roots[at(k)] = s;
        note_crowded(k, searched, s);
        return;
      }
      if (s <= limit)
        e->recorded.push_back({k - of_friction, s});
    }
    note_crowded(k, searched, std::min(limit, 1.0));
  }

  // points at which the gap of a stop is closed between two nodes at which it is open
  void add_closings(int k) {
    for (int node = node_count - 2; node >= 0; --node) {
      if (!may_dip(k, node))
        continue;
      Slope a = slope(k, node), b = slope(k, node + 1);
      for (int round = 0; round < max_root_iterations; ++round) {
        const Point guess = lowest(a, b);
        if (guess.g > 0.0 || !(guess.s > a.at.s && guess.s < b.at.s) || b.at.s - a.at.s <= same_root)
          break;
        const Slope next{{guess.s, dense_value(k, guess.s)}, gap_rate(k)};
        if (failure != Outcome::reached)
          return;
        if (next.at.g <= 0.0) {
          w.points.insert(w.points.begin() + node + 1, next.at);
          break;
        }
        (next.rate < 0.0 ? a : b) = next;
      }
    }
  }

  // points near extrema at which a function of constant sign comes close to zero
  void add_dips(int k) {
    std::vector<Point> &points = w.points;
    int added = 0;
    for (std::size_t j = 1; j + 1 < points.size() && failure == Outcome::reached;) {
      Point found{};
      const double sign = sign_of(points[j].g);
      const bool same = sign != 0.0 && sign_of(points[j - 1].g) == sign && sign_of(points[j + 1].g) == sign &&
                        !(sign < 0.0 && w.functions[at(k)].from_above);
      bool fresh = same && added < max_dips && nearly_touches(points[j - 1], points[j], points[j + 1], found);
      for (std::size_t l = j - 1; l <= j + 1 && fresh; ++l)
        fresh = std::fabs(found.s - points[l].s) > 1e-9;
      if (!fresh) {
        ++j;
        continue;
      }
      found.g = dense_value(k, found.s);
      const std::size_t place = found.s < points[j].s ? j : j + 1;
      points.insert(points.begin() + std::ptrdiff_t(place), found);
      ++added;
      j = std::max<std::size_t>(1, place - 1);
    }
  }

  // Zero between two points by inverse quadratic interpolation with bisection (Chandrupatla 1997): of friction not
  // before the crossing, of events nearest to zero. jump: the function changes by more than `large` there.
  double root(int k, Point before, Point after, double large, bool &jump) {
    if (after.g == 0.0)
      return after.s;
    const double sign = sign_of(before.g), close = w.functions[at(k)].from_above ? same_root : 0.0;
    Point a = after, b = before, c = before;
    double part = a.g / (a.g - b.g);
    for (int round = 0; round < max_root_iterations && after.s - before.s > close; ++round) {
      double s = a.s + part * (b.s - a.s);
      if (!(s > before.s && s < after.s))
        s = 0.5 * (before.s + after.s);
      if (!(s > before.s && s < after.s))
        break;
      const Point next{s, dense_value(k, s)};
      if (failure != Outcome::reached)
        return 2.0;
      if ((sign * next.g > 0.0) == (sign * a.g > 0.0))
        c = a;
      else
        c = b, b = a;
      a = next;
      (sign * next.g > 0.0 ? before : after) = next;
      if (next.g == 0.0)
        return next.s;
      const double xi = (a.s - b.s) / (c.s - b.s), phi = (a.g - b.g) / (c.g - b.g);
      const double least = same_root / std::fabs(b.s - a.s);
      part = phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi
                 ? a.g / (b.g - a.g) * c.g / (b.g - c.g) +
                       (c.s - a.s) / (b.s - a.s) * a.g / (c.g - a.g) * b.g / (c.g - b.g)
                 : 0.5;
      part = std::min(1.0 - least, std::max(least, part));
    }
    jump = after.s - before.s < 1e-9 && std::fabs(after.g - before.g) > large;
    return close == 0.0 && std::fabs(before.g) < std::fabs(after.g) ? before.s : after.s;
  }
};

} // namespace

Outcome evaluate_crossing_functions(const RunContext &i, double t, const double *q, const double *v, const double *x) {
  FrictionRun *friction = i.run.friction;
  EventRun *events = i.run.events;
  return evaluate_functions(i, t, q, v, x, friction ? friction->values.data() : nullptr,
                            events ? events->values.data() : nullptr);
}

Outcome find_crossing(const Stepper &stepper, const RunContext &i, double h, Crossing &crossing) {
  return Search(stepper, i, h).run(crossing);
}

} // namespace dalembert::DALEMBERT_ISA
