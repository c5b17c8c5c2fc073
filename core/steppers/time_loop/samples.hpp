// States that are recorded: samples within a step by its dense output, and both sides of a change.
#pragma once

#include "steppers/time_loop/time_loop.hpp"
#include <vector>

namespace dalembert::DALEMBERT_ISA {

// samples that lie in the step just made, before it is moved on from
Outcome sample(TimeLoop &loop, double h, double t1, Samples &samples, const Recorder &recorder);

// Dense output of the step of length h from the state of the run to q1, v1, x1, which has been taken before: stages are
// evaluated once more where the stepper needs them.
Outcome prepare_dense(TimeLoop &loop, double h, const double *q1, const double *v1, const double *x1);

// Samples in a step that ends at t1 because modes change there, in the state `end` (q, v, x): as dense output of the
// recorded states gives them.
Outcome sample_before_change(TimeLoop &loop, double t1, const std::vector<double> &end, Samples &samples,
                             const Recorder &recorder);

// Records a state on a side of a change of modes: as a step, or as the samples at its time that are left.
bool record_at_change(const TimeLoop &loop, bool after, Samples &samples, const Recorder &recorder);

} // namespace dalembert::DALEMBERT_ISA
