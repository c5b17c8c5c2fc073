#include "friction/crossings.hpp"
#include "friction/row_response.hpp"
#include "friction/switching_values.hpp"
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
constexpr int max_fine_nodes = 4096;        // where the holding efforts change fast
constexpr double interpolation_error = 0.1; // of the range in a step: allowed distance from the line through neighbours
constexpr double relevant_range = 3.0;      // ranges: functions further away from zero are not refined
constexpr double max_surprises = 0.2;       // of the points: if more are poorly predicted, points are added

struct Point {
  double s, g; // fraction, value
};

// place and value of the extremum of the parabola through three points; false if it is outside
bool vertex(const Point &a, const Point &b, const Point &c, Point &found) {
  const double first = (b.g - a.g) / (b.s - a.s), second = (c.g - b.g) / (c.s - b.s);
  const double bend = (second - first) / (c.s - a.s), slope = first + bend * (b.s - a.s);
  found = {b.s - slope / (2.0 * bend), b.g - slope * slope / (4.0 * bend)};
  return found.s > a.s && found.s < c.s;
}

bool positive(double g) { return g > 0.0; }

// A function of a stop whose slope is known: it falls, then rises.
struct Slope {
  Point at;
  double rate; // per step
};

// lowest value that a convex function through two points with their slopes can have, and where
Point lowest(const Slope &a, const Slope &b) {
  const double s = (b.at.g - a.at.g + a.rate * a.at.s - b.rate * b.at.s) / (a.rate - b.rate);
  return {s, a.at.g + a.rate * (s - a.at.s)};
}

class Search {
public:
  Search(const Stepper &stepper, const RunContext &i, FrictionRun &f, double h)
      : stepper(stepper), i(i), f(f), h(h), count(f.function_count()) {}

  Outcome run(Crossing &crossing) {
    if (!screen())
      return Outcome::callback_failed;
    bool any = false;
    for (const unsigned char suspect : suspects)
      any = any || suspect;
    if (!any) {
      std::copy_n(value(0, node_count - 1), count, f.values.begin());
      return Outcome::reached;
    }
    Outcome outcome = stepper.prepare(i, h);
    if (outcome == Outcome::reached)
      outcome = locate(crossing);
    if (outcome == Outcome::reached && !crossing.found)
      std::copy_n(value(0, node_count - 1), count, f.values.begin());
    return outcome;
  }

private:
  const Stepper &stepper;
  const RunContext &i;
  FrictionRun &f;
  const double h;
  const int count;
  std::vector<double> table;                // nodes x functions
  std::vector<double> rates;                // nodes x functions of rows: slopes of the gaps of stops, per step
  std::vector<unsigned char> suspects;      // functions that may cross
  std::vector<Point> fine;                  // of the margin, where it changes fast
  std::vector<double> displacement, values; // nv; functions
  Outcome failure = Outcome::reached;

  double *value(int function, int node) { return table.data() + node * count + function; }

  bool is_stop(int k) const {
    return k < int(f.switches.size()) && f.switches[std::size_t(k)].kind != SwitchKind::rest;
  }
  // slope of the gap of a stop at the state that was evaluated last, per step
  double gap_rate(int k) const {
    const RowSwitch &which = f.switches[std::size_t(k)];
    return h * (which.kind == SwitchKind::lower ? f.u[std::size_t(which.row)] : -f.u[std::size_t(which.row)]);
  }
  void keep_rates(int node) {
    for (int k = 0; k < count; ++k)
      if (is_stop(k))
        rates[std::size_t(node * count + k)] = gap_rate(k);
  }
  Slope slope(int k, int node) { return {point(k, node), rates[std::size_t(node * count + k)]}; }

  // whether the gap of a stop may close and open again between two nodes
  bool may_dip(int k, int node) {
    const Slope a = slope(k, node), b = slope(k, node + 1);
    return a.at.g > 0.0 && b.at.g > 0.0 && a.rate < 0.0 && b.rate > 0.0 && lowest(a, b).g <= 0.0;
  }

  // ---- by a cubic between the ends of the step

  // state at a fraction, in qs, vs, xs
  void cubic(double s) {
    const ModelData &m = i.m;
    RunWorkspace &work = i.work;
    const double move = s * s * (3.0 - 2.0 * s), first = s * (1.0 + s * (s - 2.0)), last = s * s * (s - 1.0);
    for (int k = 0; k < m.nv; ++k) {
      work.change[k] = move * displacement[std::size_t(k)] + h * (first * work.v[k] + last * work.v1[k]);
      work.vs[k] = 6.0 * s * (1.0 - s) * displacement[std::size_t(k)] / h + (1.0 + s * (3.0 * s - 4.0)) * work.v[k] +
                   s * (3.0 * s - 2.0) * work.v1[k];
    }
    integrate<double>(m, work.q, work.change, work.qs);
    copy(s < 0.5 * just_after + just_after ? work.x : work.x1, m.nx, work.xs);
  }
  bool at_cubic(double s, double *out) {
    cubic(s);
    return switching_values(i, f, i.run.t + s * h, i.work.qs, i.work.vs, i.work.xs, out);
  }

  void find_displacement() {
    const ModelData &m = i.m;
    const RunWorkspace &work = i.work;
    displacement.resize(std::size_t(m.nv));
    difference<double>(m, work.q, work.q1, displacement.data());
    double most = 1.0;
    for (int k = 0; k < m.nq; ++k)
      most = std::max(most, std::max(std::fabs(work.q[k]), std::fabs(work.q1[k])));
    for (int k = 0; k < m.nv; ++k) { // in very short steps it is rounding: there it is taken from the velocities
      const double by_velocities = 0.5 * h * (work.v[k] + work.v1[k]);
      if (std::fabs(displacement[std::size_t(k)] - by_velocities) <= 4.0 * 2.2e-16 * most)
        displacement[std::size_t(k)] = by_velocities;
    }
  }

  // values at all nodes, and the functions that may cross
  bool screen() {
    table.resize(std::size_t(node_count * count));
    suspects.assign(std::size_t(count), 0);
    rates.resize(table.size());
    find_displacement();
    const RunWorkspace &work = i.work;
    row_motion(i, f, i.run.t, work.q, work.v, f.s.data(), f.u.data());
    keep_rates(0);
    for (int node = 1; node < node_count - 1; ++node) {
      if (!at_cubic(nodes[node], value(0, node)))
        return false;
      keep_rates(node);
    }
    if (!switching_values(i, f, i.run.t + h, work.q1, work.v1, work.x1, value(0, node_count - 1)))
      return false;
    keep_rates(node_count - 1);
    std::copy_n(f.values.begin(), count, value(0, 0));
    values.resize(std::size_t(count));
    if (std::find(f.values.begin(), f.values.end(), 0.0) != f.values.end()) {
      if (!at_cubic(just_after, values.data()))
        return false;
      for (int k = 0; k < count; ++k)
        if (f.values[std::size_t(k)] == 0.0)
          *value(k, 0) = values[std::size_t(k)];
    }
    for (int k = 0; k < count; ++k)
      suspects[std::size_t(k)] = may_cross(k);
    return !f.holding.holds || refine_margin();
  }

  bool may_cross(int k) {
    const bool first = positive(*value(k, 0));
    for (int node = 1; node < node_count; ++node)
      if (positive(*value(k, node)) != first)
        return true;
    if (!first)
      return false;
    for (int node = 0; is_stop(k) && node < node_count - 1; ++node)
      if (may_dip(k, node))
        return true;
    for (int node = 1; node < node_count - 1; ++node) {
      Point found;
      if (vertex(point(k, node - 1), point(k, node), point(k, node + 1), found) && found.g < 0.25 * *value(k, node))
        return true;
    }
    return false;
  }
  Point point(int k, int node) { return {nodes[node], *value(k, node)}; }

  // points of the margin until they predict each other
  bool refine_margin() {
    const int margin = f.margin_function();
    fine.clear();
    for (int node = 0; node < node_count; ++node)
      fine.push_back(point(margin, node));
    bool refined = false;
    for (int parts = 8; poorly_predicted() && parts <= max_fine_nodes; parts *= 2) {
      refined = true;
      const Point first = fine.front(), last = fine.back();
      fine.assign(1, first);
      for (int k = 1; k < parts; ++k) { // jittered, so that no periodic function is missed
        const double jitter = 0.4 * (0.6180339887498949 * k - std::floor(0.6180339887498949 * k) - 0.5);
        fine.push_back({(k + jitter) / parts, 0.0});
        if (!at_cubic(fine.back().s, values.data()))
          return false;
        fine.back().g = values[std::size_t(margin)];
      }
      fine.push_back(last);
    }
    if (!refined) {
      fine.clear();
      return true;
    }
    for (const Point &each : fine)
      if (positive(each.g) != positive(fine.front().g))
        suspects[std::size_t(margin)] = 1;
    return true;
  }

  bool poorly_predicted() const {
    double low = fine.front().g, high = low, least = std::fabs(low), most = least;
    for (const Point &each : fine) {
      low = std::min(low, each.g), high = std::max(high, each.g);
      least = std::min(least, std::fabs(each.g)), most = std::max(most, std::fabs(each.g));
    }
    const double range = high - low;
    if (!(least < relevant_range * range) || !(range > 1e-12 * most))
      return false;
    int surprises = 0;
    for (std::size_t k = 1; k + 1 < fine.size(); ++k) {
      const Point &a = fine[k - 1], &b = fine[k], &c = fine[k + 1];
      const double weight = (b.s - a.s) / (c.s - a.s);
      surprises += std::fabs(b.g - (1.0 - weight) * a.g - weight * c.g) > interpolation_error * range;
    }
    return surprises > max_surprises * double(fine.size() - 2);
  }

  // ---- by dense output

  bool at_dense(double s, double *out) {
    failure = interpolate(stepper, i, h, s);
    if (failure != Outcome::reached)
      return false;
    if (switching_values(i, f, i.run.t + s * h, i.work.qs, i.work.vs, i.work.xs, out))
      return true;
    failure = Outcome::callback_failed;
    return false;
  }
  double dense_value(int k, double s) {
    return at_dense(s, values.data()) ? values[std::size_t(k)] : std::numeric_limits<double>::quiet_NaN();
  }

  Outcome locate(Crossing &crossing) {
    for (int node = 1; node < node_count - 1; ++node) {
      if (!at_dense(nodes[node], value(0, node)))
        return failure;
      keep_rates(node);
    }
    double begin = 0.0;
    if (std::find(f.values.begin(), f.values.end(), 0.0) != f.values.end()) {
      begin = just_after;
      if (!at_dense(just_after, values.data()))
        return failure;
      for (int k = 0; k < count; ++k)
        if (f.values[std::size_t(k)] == 0.0)
          *value(k, 0) = values[std::size_t(k)];
    }
    std::vector<double> roots(std::size_t(count), 2.0);
    double first = 2.0;
    for (int k = 0; k < count; ++k) {
      if (!suspects[std::size_t(k)])
        continue;
      roots[std::size_t(k)] = first_root(k, f.values[std::size_t(k)] == 0.0 ? begin : 0.0);
      if (failure != Outcome::reached)
        return failure;
      first = std::min(first, roots[std::size_t(k)]);
    }
    if (first > 1.0)
      return Outcome::reached;
    crossing.found = true;
    const double end = std::fabs(i.run.t + h);
    if (first > 1.0 - std::max(simultaneous, 4.0 * 2.2e-16 * end / h))
      first = 1.0; // at the end of the step
    crossing.fraction = first;
    f.passed.clear();
    for (int k = 0; k < count; ++k)
      if (roots[std::size_t(k)] <= first + simultaneous)
        f.passed.push_back(k);
    return first < 1.0 ? interpolate(stepper, i, h, first) : Outcome::reached;
  }

  // first fraction at which a function falls below zero; 2: none
  double first_root(int k, double begin) {
    std::vector<Point> points;
    if (k == f.margin_function() && !fine.empty()) {
      points = fine;
      for (std::size_t j = 1; j + 1 < points.size(); ++j)
        points[j].g = dense_value(k, points[j].s);
      points.front().g = *value(k, 0);
    } else {
      for (int node = 0; node < node_count; ++node)
        points.push_back(point(k, node));
    }
    points.front().s = begin;
    if (is_stop(k))
      add_closings(k, points);
    add_dips(k, points);
    for (std::size_t j = 0; j + 1 < points.size() && failure == Outcome::reached; ++j)
      if (points[j].g > 0.0 && points[j + 1].g <= 0.0)
        return root(k, points[j], points[j + 1]);
    return 2.0;
  }

  // points at which the gap of a stop is closed between two nodes at which it is open
  void add_closings(int k, std::vector<Point> &points) {
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
          points.insert(points.begin() + node + 1, next.at);
          break;
        }
        (next.rate < 0.0 ? a : b) = next;
      }
    }
  }

  // points near extrema at which a function of constant sign comes close to zero
  void add_dips(int k, std::vector<Point> &points) {
    int added = 0;
    for (std::size_t j = 1; j + 1 < points.size() && failure == Outcome::reached;) {
      Point found;
      const bool dips = points[j - 1].g > 0.0 && points[j].g > 0.0 && points[j + 1].g > 0.0 &&
                        vertex(points[j - 1], points[j], points[j + 1], found) && found.g < 0.25 * points[j].g;
      bool fresh = dips && added < max_dips;
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

  // Zero between two points by inverse quadratic interpolation with bisection (Chandrupatla 1997); the value there is
  // not positive.
  double root(int k, Point above, Point below) {
    if (below.g == 0.0)
      return below.s;
    Point a = below, b = above, c = above;
    double part = a.g / (a.g - b.g);
    for (int round = 0; round < max_root_iterations && below.s - above.s > same_root; ++round) {
      double s = a.s + part * (b.s - a.s);
      if (!(s > above.s && s < below.s))
        s = 0.5 * (above.s + below.s);
      if (!(s > above.s && s < below.s))
        break;
      const Point next{s, dense_value(k, s)};
      if (failure != Outcome::reached)
        return 2.0;
      if (positive(next.g) == positive(a.g))
        c = a;
      else
        c = b, b = a;
      a = next;
      (positive(next.g) ? above : below) = next;
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
    return below.s;
  }
};

} // namespace

Outcome find_crossing(const Stepper &stepper, const RunContext &i, FrictionRun &f, double h, Crossing &crossing) {
  return Search(stepper, i, f, h).run(crossing);
}

} // namespace dalembert::DALEMBERT_ISA
