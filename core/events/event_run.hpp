// Events of one run: functions of its state that pass zero, their actions, and what was found. A copy, for another run,
// refers to the programs and points of the original.
//
// An event function is an output less the value of the event: a channel, or a formula of channels. Channels are parts
// of the state, coordinates of cut joints, motions of points, and parts of a report.
#pragma once

#include "model/tables.hpp"
#include "runs/memory_pool.hpp"
#include "steppers/switching/crossing_workspace.hpp"
#include <cstdint>
#include <memory>
#include <vector>

namespace dalembert {

enum class ChannelKind : std::int32_t {
  time,
  position,       // q
  velocity,       // v
  state,          // x
  cut_position,   // coordinate of a cut joint
  cut_velocity,   // its rate
  point_position, // of a point: component of its position, world axes
  point_velocity, // of a point: component of [angular velocity; velocity], world axes
  // of a report (system/report.hpp)
  acceleration,
  effort,     // tau
  multiplier, // lambda
  load,       // of connections
  signal,
  element_force, // of elements, by measure
  energy,        // kinetic, potential, stored
};
constexpr int channel_kind_count = int(ChannelKind::energy) + 1;

struct EventChannel {
  ChannelKind kind;
  std::int32_t index, component; // component: of points
};

struct EventFunction {
  std::int32_t channel;   // -1: a program
  std::int32_t program;   // of all channels
  std::int32_t direction; // +1 rising, -1 falling, 0 both
  bool active;            // it may change the run; others are recorded
  bool turn;              // an angle known up to whole turns
  double value;
  std::int32_t action, actions; // places among EventRun::actions
  bool acts_here;               // false: its action is outside
  bool ends;                    // the run ends after its actions here
};

enum class ActionKind : std::int32_t {
  bounce_coordinate, // the velocity `index` is multiplied by -value
  bounce_point,      // the velocity of a point along `normal`, if it approaches, is multiplied by -value
  lock,              // velocities from `index` to `end`; they become zero by an impulse
  release,
  set,   // parameter `index` of the elements
  open,  // loop constraint `index`
  close, // its velocities are satisfied by an impulse
};
constexpr int max_actions = 8; // of an event
constexpr int action_kind_count = int(ActionKind::close) + 1;

// An action on the state and the conditions of the run (events/event_actions.hpp).
struct EventAction {
  ActionKind kind;
  std::int32_t index, end;
  double value, normal[3];
};

struct EventPoint {
  PointsData data{};
  std::vector<double> frames, nodes;
};

// Crossings in order of time.
struct EventLog {
  std::vector<std::int32_t> event;
  std::vector<double> t, states;          // states q, v, x before actions
  std::vector<double> energy, dissipated; // J: gain of the total energy, and what impulses dissipate
  std::vector<unsigned char> acted;       // bits of its actions here that have changed state or conditions

  void add(int nq, int nv, int nx, std::int32_t number, double at, const double *q, const double *v, const double *x) {
    event.push_back(number);
    energy.push_back(0.0), dissipated.push_back(0.0), acted.push_back(0);
    t.push_back(at);
    states.insert(states.end(), q, q + nq);
    states.insert(states.end(), v, v + nv);
    states.insert(states.end(), x, x + nx);
  }
  void resize(std::size_t n, int width) { // fewer
    event.resize(n), t.resize(n), states.resize(n * std::size_t(width));
    energy.resize(n), dissipated.resize(n), acted.resize(n);
  }
  void clear() { resize(0, 0); }
};

struct EventFailure {
  std::int32_t event = -1; // whose output is not finite
  double t = 0.0, value = 0.0;
};

struct EventRun {
  // ---- description
  std::vector<EventChannel> channels;
  std::vector<EventFunction> functions;
  std::vector<EventPoint> points;
  ProgramRows rows;
  ProgramTable programs{};
  std::vector<EventAction> actions;
  double soon = 0.0; // s: the run pauses where an event comes again and again within this time

  // ---- state
  std::vector<double> values;             // of the functions at the state of the run
  std::vector<unsigned char> ignored;     // events whose outputs are noise
  std::vector<std::int32_t> passed;       // active events at the last crossing
  std::vector<RecordedCrossing> recorded; // of other events in the last step, up to it
  std::vector<double> recent; // of events: the last `recent_count` times of their actions here, the latest first
  std::vector<unsigned char> prescribed[3], constraint_active; // marks that actions change: nv each; loop constraints
  std::vector<double> parameters;                              // of the elements
  std::vector<std::int32_t> also;                              // of these, events at the time of the last crossing

  // ---- reported
  EventLog log;
  EventFailure failure;
  std::int32_t noisy = -1; // an event that jumps to and fro within a step as noise does
  double noise_time = 0.0;
  std::int32_t crowded = -1; // an event whose formula crosses zero more often in a step than is looked for
  double crowded_time = 0.0; // where the search ended
  bool ended = false;      // an event has ended the run
  bool came_again = false; // an event came again and again within a short time

  // ---- workspace
  CrossingWorkspace search;
  std::vector<double> inputs, numbers, point_motion; // of programs; of points, 18 each
  std::vector<double> cut_q, cut_v, a, tau, lambda, loads, signals, forces, energy;
  bool needs[channel_kind_count] = {};
  std::vector<double> before, row, response, matrix; // of actions: state q, v, x; nv; 6 x nv; 6 x 6
  OwnMemory report_memory;

  static constexpr int recent_count = 4;

  int count() const { return int(functions.size()); }
  bool needs_report() const {
    for (int k = int(ChannelKind::acceleration); k < channel_kind_count; ++k)
      if (needs[k])
        return true;
    return false;
  }
};

} // namespace dalembert
