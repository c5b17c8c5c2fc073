// Actions of events on the state and the conditions of a run.
//
// An impulse along a row J, with d = M^-1 J' less what loops and held velocities take out, at one configuration:
//
//     bounce      v+ = v - (1 + e) (J v) / (J d) d                                                                   (1)
//     lock        v+ = v - D' (J D')^-1 v_S,  J the rows of the locked velocities S, D their responses               (2)
//     closing     v+ = v - M^-1 P' (P M^-1 P')^-1 P v                           (system/projection.hpp)               (3)
//
// Drives and rows that depend on time would do work in an impulse: with them, actions that need one are left to the
// caller, as are those whose impulses are not determined.
#pragma once

#include "events/event_run.hpp"
#include "steppers/run_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// copies of the conditions that actions change, and sizes of the workspace
void prepare_actions(const RunContext &i, EventRun &e);

enum class ActionOutcome {
  made,
  outside, // not here: state and conditions are those before
  callback_failed,
};

// Not with friction or stops. Applies the actions of the events that have passed (EventRun::passed), in order, at the state of the run, and adds
// them to the log.
ActionOutcome apply_actions(const RunContext &i, EventRun &e);

// Whether all events that have passed end the run here, without further actions; they are added to the log.
bool ends_without_actions(const RunContext &i, EventRun &e);

// Whether an event has come so often in a short time that the caller should look at it; takes note of those that passed.
bool comes_again_soon(const RunContext &i, EventRun &e);

} // namespace dalembert::DALEMBERT_ISA
