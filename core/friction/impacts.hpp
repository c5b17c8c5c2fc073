// Impacts on stops: simultaneous impulses of all closed stops.
//
//     u+ = u + A x,     0 <= x,     0 <= u+ + e u,     x (u+ + e u) = 0                                            (1)
//
// u are velocities away from the stops, e their restitutions. With one e for all, (1) has a solution, and the energy
// falls: it is the plastic impact, (u+ + e u) / (1 + e) >= 0. With different e neither is certain where rows depend on
// each other; then the least e of the rows that approach holds for all, and none if that does not do. Friction has no
// impulse: rows stuck by friction are released. A flight within the position tolerance is neglected: such a rebound is plastic, and a row that the impact of
// another row moves so slowly stays on its stop.
#pragma once

#include "friction/change.hpp"

namespace dalembert::DALEMBERT_ISA {

// Applies (1), and finds the rows at rest after it: stuck rows that the impact hardly moves are stopped, with the rows
// that stay on their stops.
void apply_impact(Change &c);

// Rows that would leave their stops by less than the position tolerance stay on them.
void stop_short_flights(Change &c);

} // namespace dalembert::DALEMBERT_ISA
