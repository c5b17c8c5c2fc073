// What the parts of the time loop share: a simulation with its memory in place, and the step that is being tried.
#pragma once

#include "contact/contact_blocks.hpp"
#include "contact/contact_events.hpp"
#include "steppers/methods/registry.hpp"

#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

// a simulation with its memory in place
struct TimeLoop {
  RunWorkspace work;
  const Stepper &stepper;
  const bool adaptive; // it chooses its steps
  RunContext at;

  TimeLoop(const ModelData &m, Run &run, std::byte *memory)
      : stepper(*steppers[run.method]), adaptive(stepper.adaptive && !(run.fixed_step > 0.0)),
        at{m, run, work, memory + lay_out(m, memory, work)} {
    run.conditions.law_branches = m.switching_count && adaptive && stepper.holds_branches ? work.branches : nullptr;
    if (run.contact_events && run.contact_events->rows.block_start.empty())
      find_blocks(m, run.contact_events->rows);
  }
  TimeLoop(const TimeLoop &) = delete;
};

// A step that is being tried.
struct Attempt {
  double goal;             // time of the next discontinuity, or the end of the run
  double shortest;         // a step of this length is lost in the rounding of time
  double h;                // length
  double error = 0.0;      // in units of the tolerance
  bool last = false;       // ends at `goal`
  bool to_switch = false;  // ends at a switching function, which was located in a longer step
  bool to_contact = false; // ends where modes of contacts do, which was located in a longer step
  bool accepted = true;    // false: it has to be tried again, at another length
  bool switches = false;   // branches change at its end
  bool monitored = false;  // inputs of switching functions are known at its end
  bool branches = false;   // held branches are other ones at its end

  double end(double t) const { return last ? goal : std::min(goal, t + h); }
};

} // namespace dalembert::DALEMBERT_ISA
