// Modes of one run of many, from each change on, with what notes on the run are made of.
#pragma once

#include "friction/friction_run.hpp"
#include <cstdint>
#include <vector>

namespace dalembert {

// side + 1 + 3 stuck + 6 locked
std::int8_t mode_code(double side, bool stuck, bool locked);

struct TimedImpact {
  double t;
  StopImpact impact;
};

struct TimedHold {
  double t;
  HoldNote hold;
};

struct ModeLog {
  std::vector<double> times;      // of changes, s
  std::vector<double> signs;      // changes x rows: signs or directions of sliding rows after each
  std::vector<std::int8_t> codes; // changes x rows: sides, stuck and locked rows after each
  std::vector<TimedImpact> impacts;
  std::vector<TimedHold> holds;
  std::vector<std::int32_t> unloaded; // rows on stops whose load was zero within rounding, with repetitions

  bool has_strong_gain = false; // a row jams, or slides with a gain of friction on its own load of one or more

  // moves the changes of a run here
  void take(FrictionRun &friction);
};

} // namespace dalembert
