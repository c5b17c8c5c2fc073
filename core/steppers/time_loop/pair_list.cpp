#include "steppers/time_loop/pair_list.hpp"
#include "steppers/time_loop/changes.hpp"
#include <limits>
#include <vector>

namespace dalembert::DALEMBERT_ISA {

namespace {

// The workspace for the pairs that are to be listed: state and branches stay, rates are evaluated. Branches of contacts
// are not held.
Outcome change_list(TimeLoop &loop) {
  RunWorkspace &work = loop.work;
  Run &run = loop.at.run;
  const ModelData &m = loop.at.m;
  const int others = m.switching_count - m.contact_pair_count;
  double *RunWorkspace::*const numbers[] = {&RunWorkspace::slack,  &RunWorkspace::least,   &RunWorkspace::passed,
                                            &RunWorkspace::held,   &RunWorkspace::kept,    &RunWorkspace::lowest,
                                            &RunWorkspace::highest, &RunWorkspace::strayed, &RunWorkspace::branches};
  std::vector<double> kept;
  const auto keep = [&](const double *from, int count) { kept.insert(kept.end(), from, from + count); };
  const double *x = loop.pairs.expand(work.x, ListedPairs::Use::state);
  const std::vector<double> states(x, x + loop.pairs.whole_nx());
  keep(work.q, m.nq), keep(work.v, m.nv);
  for (const auto each : numbers)
    keep(work.*each, others);
  loop.pairs.update();
  loop.place_in_memory();
  const double *from = kept.data();
  const auto take = [&](double *to, int count) {
    copy(from, count, to);
    from += count;
  };
  take(work.q, m.nq), take(work.v, m.nv);
  loop.pairs.compress(states.data(), work.x);
  for (const auto each : numbers) {
    take(work.*each, others);
    std::fill_n(work.*each + others, m.contact_pair_count,
                each == &RunWorkspace::branches ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  }
  if (!rates(loop.at, run.t, work.q, work.v, work.x, work.a, work.dx))
    return Outcome::callback_failed;
  return restart(loop);
}

} // namespace

Outcome list_touching(TimeLoop &loop) {
  RunWorkspace &work = loop.work;
  if (loop.pairs.all_touching_listed(work.motion.system.loops.ws, work.q, work.v))
    return Outcome::reached;
  return change_list(loop);
}

Outcome prove_pairs_open(TimeLoop &loop, Attempt &attempt) {
  RunWorkspace &work = loop.work;
  if (loop.pairs.stays_open(work.motion.system.loops.ws, attempt.h, work.q, work.v))
    return Outcome::reached;
  ++loop.at.run.counts.rejected;
  attempt.accepted = false;
  return change_list(loop);
}

Outcome drop_far_pairs(TimeLoop &loop) {
  RunWorkspace &work = loop.work;
  return loop.pairs.drop_far(work.motion.system.loops.ws, work.q, work.v, work.x) ? change_list(loop)
                                                                                  : Outcome::reached;
}

Outcome list_all_pairs(TimeLoop &loop) {
  if (!loop.pairs.acts())
    return Outcome::reached;
  loop.pairs.list_all();
  return change_list(loop);
}

} // namespace dalembert::DALEMBERT_ISA
