// Pairs of compliant contact that join the list of a run or leave it (contact/listed_pairs.hpp).
#pragma once

#include "steppers/time_loop/time_loop.hpp"

namespace dalembert::DALEMBERT_ISA {

// At a state that may have jumped: pairs that touch there join the list.
Outcome list_touching(TimeLoop &loop);

// After a step that was accepted: it has to be tried again if pairs that are not listed might have touched.
Outcome prove_pairs_open(TimeLoop &loop, Attempt &attempt);

// After a step: pairs that are far away leave the list.
Outcome drop_far_pairs(TimeLoop &loop);

// All pairs join the list.
Outcome list_all_pairs(TimeLoop &loop);

} // namespace dalembert::DALEMBERT_ISA
