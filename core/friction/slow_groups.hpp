// Vector groups nearly at rest, such as rows of a ball joint, whose direction of slip turns the faster the slower they
// are.
//
// A group that its own friction can stop is stopped. One that drives move on keeps the slowest velocity that its
// friction allows: with friction f and velocities u + A x after impulses x along the rows, A symmetric,
//
//     min over x of |f (u + A x)|  =>  A f f (u + A x) = 0                                                          (1)
//
// The second form means that its friction, which acts along f f u, accelerates nothing any more. At such speeds friction
// reaches that state in less time than steps resolve.
#pragma once

#include "friction/change.hpp"

namespace dalembert::DALEMBERT_ISA {

bool was_sliding(const Change &c, int row);

// Slow groups whose speed grows, as at the onset of slip, are not at rest: under the modes before the change.
void find_starting_groups(Change &c);

// Rows at rest, with those of slow groups.
void mark_slow_rows(Change &c);

// Stops groups at rest, and those in c.w.marks, together.
void stop_slow_groups(Change &c);

} // namespace dalembert::DALEMBERT_ISA
