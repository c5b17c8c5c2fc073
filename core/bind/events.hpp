// Events at the border: outputs come in as channels and programs, occurrences go out as arrays.
#pragma once

#include "bind/batch.hpp"
#include "events/event_run.hpp"

namespace dalembert::bind {

// Events of a run from arrays by name (see `EventRun`): `channels` (n, 3) of kind, index, component; `functions` (k, 5)
// of channel or -1, program, direction, active, turn; `thresholds` (k,); `ends` (k,); `points`, a list of Points; programs of all
// channels: `programs` (p,) numbers of instructions, `instructions` (j, 5), `constants`, `outputs` (p,); and actions:
// `action_counts` (k,) or -1 for those outside, `actions` (a, 3) of kind, index, end, `action_numbers` (a, 4) of value and
// normal, `soon`.
void fill_events(const ModelData &m, const nanobind::dict &given, EventRun &events);

// the occurrences since the last call: numbers (n,), times (n,), states (n, width), energies, dissipated energies, and
// bits of actions that have changed something (n,)
nanobind::tuple take_log(EventLog &log, npy_intp width);

// numbers of occurrences in each log, and all occurrences in sequence as `take_log`; the logs become empty
nanobind::tuple take_logs(std::vector<EventLog> &logs, npy_intp width);

} // namespace dalembert::bind
