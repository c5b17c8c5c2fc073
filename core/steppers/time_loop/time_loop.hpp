// What the parts of the time loop share: a simulation with its memory in place, and the step that is being tried.
#pragma once

#include "contact/contact_blocks.hpp"
#include "contact/contact_events.hpp"
#include "contact/listed_pairs.hpp"
#include "steppers/methods/registry.hpp"

#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

// a simulation with its memory in place
struct TimeLoop {
  ListedPairs pairs;
  std::byte *memory; // behind that of the list of pairs
  RunWorkspace work;
  const Stepper &stepper;
  const bool adaptive; // it chooses its steps
  const double *atol;  // for all element states
  RunContext at;

  TimeLoop(const ModelData &m, Run &run, std::byte *whole)
      : pairs(m, whole), memory(whole + ListedPairs::bytes(m)), stepper(*steppers[run.method]),
        adaptive(stepper.adaptive && !(run.fixed_step > 0.0)), atol(run.atol),
        at{pairs.model(), run, work, nullptr, pairs.acts() ? &pairs : nullptr} {
    place_in_memory();
    if (run.contact_events && run.contact_events->rows.block_start.empty())
      find_blocks(m, run.contact_events->rows);
  }
  TimeLoop(const TimeLoop &) = delete;
  ~TimeLoop() {
    at.run.atol = atol;
    at.run.conditions.all_states = nullptr, at.run.conditions.states_of = nullptr;
  }

  // the workspace for the pairs that are listed
  void place_in_memory() {
    Run &run = at.run;
    at.own = memory + lay_out(at.m, memory, work);
    run.conditions.law_branches = at.m.switching_count && adaptive && stepper.holds_branches ? work.branches : nullptr;
    if (!pairs.acts())
      return;
    run.atol = pairs.tolerances(atol);
    run.conditions.states_of = &pairs;
    run.conditions.all_states = [](const void *self, const double *x) {
      return static_cast<const ListedPairs *>(self)->expand(x, ListedPairs::Use::callback);
    };
  }
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
