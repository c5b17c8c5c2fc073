// Progress of a run whose modes change: rest tolerances, holds, and the end of a run that stagnates.
//
// Where changes follow each other without progress, the rest tolerance is widened tenfold after each. If rows at rest
// still change to and fro, because their loads equal zero or a limit within rounding, they are held for a moment and
// then determined again; each hold that follows at once lasts ten times as long. A run that changes on and on ends.
#pragma once

#include "friction/friction_run.hpp"

namespace dalembert {

// space for the changes that are kept
void reserve_progress(FrictionProgress &progress, std::size_t rows);

// Factor of rest tolerances at a time t, s: one as soon as there is progress.
double rest_tol_factor(const FrictionRun &f, double t);

// Marks the rows at rest (n) that are held at a time t, s, in `held` (n), and sets the end of the hold. `note` receives a
// hold that begins. False if the longest hold has not helped: the run stagnates, see f.failure.
bool hold_undecided_rows(FrictionRun &f, double t, const std::vector<unsigned char> &resting,
                         std::vector<unsigned char> &held, HoldNote &note);

// Records a change at a time t, s, from the modes before it; sets the rest tolerance. False if the run stagnates.
bool record_progress(FrictionRun &f, double t, const FrictionModes &before, const std::vector<StopImpact> &impacts);

} // namespace dalembert
