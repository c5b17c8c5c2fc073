// One instance of an FMU, for both versions of FMI: variables by value reference, modes, continuous states, events.
//
// A value reference is kind << 20 | number:
//     0 time; 1, 2, 3 coordinates, velocities and element states; 4 parameters; 5 inputs; 6 outputs; 7 event indicators;
//     8 derivatives of the continuous states [q; v; x]
#pragma once

#include "border/run.hpp"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dalembert::fmi {

// as in FMI
enum class Status { ok, warning, discard, error, fatal };

class Instance {
public:
  // message(status, text)
  using Log = std::function<void(Status, const char *)>;

  // `resources` is a folder; null, and logged, where the model cannot be read or has another token
  static std::unique_ptr<Instance> make(const std::string &resources, const std::string &token, bool co_simulation,
                                        Log log);
  ~Instance();

  Status enter_initialization(bool has_tolerance, double tolerance, double start);
  Status exit_initialization();
  Status reset();
  Status terminate();

  Status get(const std::uint32_t *references, std::size_t count, double *values, std::size_t value_count);
  Status set(const std::uint32_t *references, std::size_t count, const double *values, std::size_t value_count);

  // co-simulation; `reached`: the time of the last step that was taken
  Status do_step(double from, double length, double &reached);

  // model exchange
  std::size_t state_count() const { return z.size(); }
  std::size_t indicator_count() const { return std::size_t(dal_count(model, DAL_EVENT)); }
  Status set_time(double t);
  Status set_states(const double *states, std::size_t count);
  Status get_states(double *states, std::size_t count);
  Status get_rates(double *rates, std::size_t count);
  Status get_indicators(double *values, std::size_t count);
  Status completed_step(bool &event);
  struct Events {
    bool states_changed = false, has_next = false;
    double next = 0.0;
  };
  Status update_events(Events &events);

  // saved states
  Status save(std::string &state);
  Status restore(const char *bytes, std::size_t size);

  Status refuse(const char *message, Status status = Status::error) {
    log(status, message);
    return status;
  }
  bool co_simulation;

private:
  enum class Phase { made, initializing, running, ended };

  dal_model *model = nullptr;
  dal_run *run = nullptr;
  Log log;
  Phase phase = Phase::made;
  double start = 0.0, t = 0.0; // t: of model exchange
  std::vector<double> z;       // [q; v; x], of model exchange
  bool moved = false;          // time or states were set since the run has them

  Status check(int code);
  Status begin();
  Status put();
  void take_states();
  Status value(std::uint32_t reference, double &value);
};

} // namespace dalembert::fmi
