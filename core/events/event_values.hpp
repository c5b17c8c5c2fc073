// Event functions of a run at a state.
#pragma once

#include "events/event_run.hpp"
#include "steppers/run_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// sizes of the workspace
void prepare_events(const RunContext &i, EventRun &e);

// Outputs less the values of events, at a state; angles known up to whole turns within +-pi. False if a callback has
// failed, or an output is not finite (EventRun::failure).
bool event_values(const RunContext &i, EventRun &e, double t, const double *q, const double *v, const double *x,
                  double *values);

} // namespace dalembert::DALEMBERT_ISA
