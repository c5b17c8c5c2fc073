// What ends a step or follows it: discontinuities in time, switching functions of laws, changes of modes of friction,
// stops and contacts, and events.
#pragma once

#include "steppers/switching/crossing_search.hpp"
#include "steppers/time_loop/time_loop.hpp"

namespace dalembert::DALEMBERT_ISA {

// at a state from which the method begins afresh
Outcome restart(TimeLoop &loop);

// At a state that a change has led to: the state put onto drives and loops, modes of contacts, its rates, and the
// functions that are searched for crossings.
Outcome begin_after_change(TimeLoop &loop);

// At a state at which modes of friction and stops change, or at which sliding rows jam: the modes, the state and its
// rates after it.
Outcome change_friction_modes(TimeLoop &loop, bool jams = false);

// reports the branches that are held from a time on
void report_branches(const TimeLoop &loop, const Recorder &recorder, double t);

// at a discontinuity: the state and its rates after it
Outcome pass_discontinuity(TimeLoop &loop, const Recorder &recorder);

// at a switching function: the branches and rates after it
Outcome pass_switch(TimeLoop &loop, const Recorder &recorder);

// After an accepted step: the step ends where a branch that is held does, and passes no change of sign unseen.
Outcome pass_switching_functions(TimeLoop &loop, Attempt &attempt, const Recorder &recorder);

// Adds events of the step just made that do not change the run to their log.
Outcome log_recorded_events(TimeLoop &loop, const Attempt &attempt);

// Ends the step where an event occurs, or modes of friction and stops change: the state before, the state and the modes
// after it.
Outcome pass_crossing(TimeLoop &loop, const Attempt &attempt, const Crossing &crossing, Samples &samples,
                      const Recorder &recorder);

// Where a mode of a contact ends in the step just made, it has to end there.
Outcome watch_contacts(TimeLoop &loop, Attempt &attempt);

// By contacts in steps: the step is taken again, so that it ends at the event found in it.
Outcome shorten_to_event(TimeLoop &loop, Attempt &attempt, Crossing &crossing);

// After a step at whose end modes of contacts change: the state and its rates after it.
Outcome pass_contact_change(TimeLoop &loop, Samples &samples, const Recorder &recorder);

// After a step that failed: rows that jam are stopped. Returns the failure if none does.
Outcome pass_jam(TimeLoop &loop, Outcome failure, double until, Samples &samples, const Recorder &recorder);

} // namespace dalembert::DALEMBERT_ISA
