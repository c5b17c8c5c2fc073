#include "contact/listed_pairs.hpp"
#include "contact/contact_element.hpp"
#include "steppers/methods/registry.hpp"
#include "tree/kinematics.hpp"
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double path_factor = 1.5;  // (1)
constexpr double far_factor = 4.0;   // of a path: the gap at which a pair leaves the list
constexpr std::int64_t drop_each = 8; // steps
constexpr double not_seen = -1e-300;  // a speed before the first evaluation
constexpr double endless = std::numeric_limits<double>::infinity(), unknown = std::numeric_limits<double>::quiet_NaN();

} // namespace

ListedPairs::ListedPairs(const ModelData &m, std::byte *memory) : all(m) {
  if (!m.contact_pair_count)
    return;
  first_element = m.element_count - m.contact_pair_count;
  first_function = m.switching_count - m.contact_pair_count;
  first_monitored = m.monitored_count - m.contact_pair_count;
  first_input = m.monitor_inputs - contact_monitor_inputs * m.contact_pair_count;
  first_state = m.nx;
  for (int k = std::max(0, first_element); k < m.element_count; ++k)
    first_state -= m.elements[k].states;
  if (!memory)
    return;
  lay_out(memory);
  if (acts())
    point_at_view();
}

std::size_t ListedPairs::lay_out(std::byte *memory) {
  Arena arena{memory};
  const std::size_t pairs = std::size_t(all.contact_pair_count), n = 2 * pairs, nx = std::size_t(all.nx);
  header = arena.take<Header>(1);
  listed = arena.take<unsigned char>(pairs);
  wanted = arena.take<unsigned char>(pairs);
  late = arena.take<unsigned char>(n);
  ball_a = arena.take<std::int32_t>(pairs);
  ball_b = arena.take<std::int32_t>(pairs);
  balls = arena.take<Ball>(n);
  for (double **each : {&speed, &before, &path, &moved, &budget})
    *each = arena.take<double>(n);
  elements = arena.take<ElementData>(std::size_t(all.element_count));
  functions = arena.take<SwitchingFunctionData>(std::size_t(all.switching_count));
  monitored = arena.take<MonitoredElementData>(std::size_t(all.monitored_count));
  atol = arena.take<double>(2 * std::size_t(all.nv) + nx);
  sides = arena.take<double>(std::size_t(all.switching_count));
  for (double *&each : expanded)
    each = arena.take<double>(nx);
  return arena.used;
}

std::size_t ListedPairs::bytes(const ModelData &m) {
  return m.contact_pair_count ? ListedPairs(m, nullptr).lay_out(nullptr) : 0;
}

void ListedPairs::point_at_view() {
  const std::int32_t left = header->listed;
  view = all;
  view.elements = elements, view.element_count = first_element + left;
  view.switching_functions = functions, view.switching_count = first_function + left;
  view.monitored = monitored, view.monitored_count = first_monitored + left;
  view.monitor_inputs = first_input + contact_monitor_inputs * left;
  view.contact_pair_count = left;
  view.nx = first_state;
  for (int k = first_element; k < view.element_count; ++k)
    view.nx += elements[k].states;
  view.fronts.pays_kept = view.fronts.pays_fresh = 0; // they have unknowns for the states of all pairs
}

void ListedPairs::update() {
  std::copy_n(wanted, all.contact_pair_count, listed);
  std::copy_n(all.elements, first_element, elements);
  std::copy_n(all.switching_functions, first_function, functions);
  std::copy_n(all.monitored, first_monitored, monitored);
  std::int32_t count = 0, state = first_state;
  for (int pair = 0; pair < all.contact_pair_count; ++pair) {
    if (!listed[pair])
      continue;
    ElementData &e = elements[first_element + count] = element_of(pair);
    e.first_switching = first_function + count;
    if (e.states)
      e.state = state, state += e.states;
    functions[first_function + count] = all.switching_functions[first_function + pair];
    functions[first_function + count].element = first_element + count;
    MonitoredElementData &mine = monitored[first_monitored + count] = all.monitored[first_monitored + pair];
    mine.element = first_element + count;
    mine.first = first_input + contact_monitor_inputs * count;
    ++count;
  }
  header->listed = count;
  for (double *each : expanded)
    std::fill_n(each, all.nx, 0.0);
  point_at_view();
}

bool ListedPairs::can_list() const {
  if (first_element < 0 || first_function < 0 || first_monitored < 0 || first_input < 0)
    return false;
  std::int32_t state = first_state;
  for (int pair = 0; pair < all.contact_pair_count; ++pair) {
    const ElementData &e = element_of(pair);
    const MonitoredElementData &mine = all.monitored[first_monitored + pair];
    if (e.form != LawForm::contact || e.first_switching != first_function + pair ||
        mine.element != first_element + pair || mine.first != first_input + contact_monitor_inputs * pair ||
        (e.states && e.state != state))
      return false;
    state += e.states;
  }
  return std::none_of(all.inputs, all.inputs + all.law_input_count, [&](const InputData &input) {
    return input.source == Source::state && input.place >= first_state;
  });
}

void ListedPairs::begin(const Run &run, bool implicit, const double *x) {
  if (!all.contact_pair_count)
    return;
  // fronts of implicit steps have their plan for all pairs
  const bool fronts = implicit && all.fronts.pays_kept && all.fronts.cost < cost_of_dense(all.nv + 0.4 * all.nc);
  const bool can = run.lists_pairs && !fronts && !run.friction && !run.events && !run.contacts && !run.contact_events &&
                   can_list();
  header->acts = can ? yes : 0;
  if (!can)
    return;
  header->made = 1, header->steps = 0;
  find_balls();
  std::fill_n(speed, header->balls, 0.0);
  std::fill_n(before, header->balls, 0.0);
  std::fill_n(path, header->balls, 0.0);
  std::fill_n(moved, header->balls, 0.0);
  std::fill_n(budget, header->balls, 0.0);
  for (int pair = 0; pair < all.contact_pair_count; ++pair) {
    const double *z = x + element_of(pair).state;
    wanted[pair] =
        is_pinned(pair) || std::any_of(z, z + element_of(pair).states, [](double each) { return each != 0.0; });
  }
  update();
}

bool ListedPairs::is_pinned(int pair) const {
  const ElementData &e = element_of(pair);
  return all.contact_pairs[e.law].planar && all.ports[e.port].body_a;
}

void ListedPairs::find_balls() {
  std::map<std::tuple<std::int32_t, double, double, double>, std::int32_t> known;
  header->balls = 0;
  const auto ball_of = [&](std::int32_t body, const double *center) {
    if (!body)
      return std::int32_t(-1);
    const auto [found, added] = known.try_emplace({body, center[0], center[1], center[2]}, header->balls);
    if (added)
      balls[header->balls++] = {body, {center[0], center[1], center[2]}};
    return found->second;
  };
  for (int pair = 0; pair < all.contact_pair_count; ++pair) {
    const ElementData &e = element_of(pair);
    const PortData &port = all.ports[e.port];
    const ContactPairData &data = all.contact_pairs[e.law];
    ball_a[pair] = data.planar ? -1 : ball_of(port.body_a, data.center_a);
    ball_b[pair] = ball_of(port.body_b, data.center_b);
  }
}

// ---- states

void ListedPairs::compress(const double *x, double *listed_x) const {
  if (!acts()) {
    std::copy_n(x, all.nx, listed_x);
    return;
  }
  listed_x = std::copy_n(x, first_state, listed_x);
  for (int pair = 0; pair < all.contact_pair_count; ++pair)
    if (const ElementData &e = element_of(pair); listed[pair])
      listed_x = std::copy_n(x + e.state, e.states, listed_x);
}

const double *ListedPairs::expand(const double *listed_x, Use use) const {
  if (!acts())
    return listed_x;
  double *x = expanded[int(use)];
  std::copy_n(listed_x, first_state, x);
  for (int pair = 0, k = first_element; k < view.element_count; ++pair)
    if (const ElementData &e = element_of(pair); listed[pair])
      std::copy_n(listed_x + elements[k].state, e.states, x + e.state), ++k;
  return x;
}

const double *ListedPairs::expand_sides(const double *given) const {
  if (!acts() || !given)
    return given;
  std::copy_n(given, first_function, sides);
  std::fill_n(sides + first_function, all.contact_pair_count, unknown);
  return sides;
}

const double *ListedPairs::tolerances(const double *given) const {
  std::copy_n(given, 2 * all.nv, atol);
  compress(given + 2 * all.nv, atol + 2 * all.nv);
  return atol;
}

std::int32_t ListedPairs::function_of_all(std::int32_t number) const {
  if (!acts() || number <= first_function)
    return number;
  int count = number - first_function;
  for (int pair = 0; pair < all.contact_pair_count; ++pair)
    if (listed[pair] && !--count)
      return first_function + pair + 1;
  return number;
}

// ---- the list

void ListedPairs::note_speeds(const Workspace<double> &ws) {
  for (int k = 0; k < header->balls; ++k) {
    const Ball &ball = balls[k];
    const Vec3<double> u = ws.u[ball.body] + cross(ws.w[ball.body], as_vec(ball.center));
    const double square = dot(u, u);
    if (!(square <= speed[k] * speed[k]) || speed[k] < 0.0)
      speed[k] = std::sqrt(square);
  }
}

void ListedPairs::begin_attempt() {
  if (!acts())
    return;
  for (int k = 0; k < header->balls; ++k) {
    before[k] = header->made ? speed[k] : std::max(before[k], speed[k]);
    speed[k] = not_seen;
  }
  header->made = 0;
}

void ListedPairs::discard_attempt() {
  if (acts())
    std::fill_n(speed, header->balls, not_seen);
}

void ListedPairs::step_made() {
  if (!acts())
    return;
  header->made = 1;
  for (int k = 0; k < header->balls; ++k)
    moved[k] += path[k];
}

// a gap of a pair that is not listed is shared between its balls by their paths
void ListedPairs::share(int pair, double gap) {
  const int a = ball_a[pair], b = ball_b[pair];
  const double of_a = a < 0 ? 0.0 : path[a], of_b = b < 0 ? 0.0 : path[b], both = of_a + of_b;
  const double part = a < 0 ? 0.0 : b < 0 ? 1.0 : both > 0.0 ? of_a / both : 0.5;
  if (a >= 0)
    budget[a] = std::min(budget[a], moved[a] + part * gap);
  if (b >= 0)
    budget[b] = std::min(budget[b], moved[b] + (1.0 - part) * gap);
}

bool ListedPairs::stays_open(Workspace<double> &ws, double h, const double *q, const double *v) {
  if (!acts())
    return true;
  bool any = false;
  for (int k = 0; k < header->balls; ++k) {
    path[k] = speed[k] < 0.0 ? endless : path_factor * std::fabs(h) * std::max(before[k], speed[k]);
    late[k] = !(moved[k] + path[k] < budget[k]);
    any |= late[k];
  }
  if (!any)
    return true;
  for (int k = 0; k < header->balls; ++k)
    if (late[k])
      moved[k] = 0.0, budget[k] = endless;
  place_and_move(view, ws, q, v);
  bool open = true;
  for (int pair = 0; pair < all.contact_pair_count; ++pair) {
    const int a = ball_a[pair], b = ball_b[pair];
    if (wanted[pair] || !((a >= 0 && late[a]) || (b >= 0 && late[b])))
      continue;
    const ElementData &e = element_of(pair);
    const double gap = ball_gap(ws, all.ports[e.port], all.contact_pairs[e.law], 0);
    if ((a < 0 ? 0.0 : path[a]) + (b < 0 ? 0.0 : path[b]) < gap) {
      share(pair, gap);
      continue;
    }
    wanted[pair] = 1;
    open = false;
  }
  return open;
}

bool ListedPairs::all_touching_listed(Workspace<double> &ws, const double *q, const double *v) {
  if (!acts())
    return true;
  std::fill_n(budget, header->balls, 0.0); // the state may have jumped
  place_and_move(view, ws, q, v);
  bool open = true;
  for (int pair = 0; pair < all.contact_pair_count; ++pair) {
    const ElementData &e = element_of(pair);
    if (wanted[pair] || ball_gap(ws, all.ports[e.port], all.contact_pairs[e.law], 0) > 0.0)
      continue;
    wanted[pair] = 1;
    open = false;
  }
  return open;
}

bool ListedPairs::drop_far(Workspace<double> &ws, const double *q, const double *v, const double *x) {
  if (!acts() || !header->listed || ++header->steps % drop_each)
    return false;
  bool placed = false, dropped = false;
  for (int pair = 0, k = first_element; k < view.element_count; ++pair) {
    if (!listed[pair])
      continue;
    const ElementData &e = elements[k++];
    const double *z = x + e.state;
    if (is_pinned(pair) || std::any_of(z, z + e.states, [](double each) { return each != 0.0; }))
      continue;
    if (!placed)
      place_and_move(view, ws, q, v);
    placed = true;
    const double gap = ball_gap(ws, all.ports[e.port], all.contact_pairs[e.law], 0);
    const int a = ball_a[pair], b = ball_b[pair];
    if (!(gap > 0.0 && gap > far_factor * ((a < 0 ? 0.0 : path[a]) + (b < 0 ? 0.0 : path[b]))))
      continue;
    wanted[pair] = 0;
    dropped = true;
    share(pair, gap);
  }
  return dropped;
}

void ListedPairs::list_all() {
  std::fill_n(wanted, all.contact_pair_count, static_cast<unsigned char>(1));
}

} // namespace dalembert::DALEMBERT_ISA
