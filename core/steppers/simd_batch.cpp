#include "steppers/simd_batch.hpp"
#include "steppers/simd_runs.hpp"
#include <algorithm>
#include <limits>
#include <new>

namespace dalembert::DALEMBERT_ISA {

namespace {

// the states of all registers at which rates are requested, a row for each, and the forces of a control
struct Rows {
  std::ptrdiff_t count = 0;
  std::ptrdiff_t *runs;
  double *t, *q, *v, *x, *tau;
  unsigned char *failed;
};

struct LaneMemory {
  SimdRuns *packs;
  Rows rows;
  Pack *control; // nv, of one pack
};

// the workspace of each pack goes to `put`
template <class Put> std::size_t lay_out(const ModelData &m, int packs, std::byte *base, LaneMemory &memory, Put put) {
  Arena arena{base};
  const std::size_t most = std::size_t(packs) * std::size_t(W);
  memory.packs = arena.take<SimdRuns>(std::size_t(packs));
  memory.control = arena.take<Pack>(std::size_t(m.nv));
  memory.rows.runs = arena.take<std::ptrdiff_t>(most);
  memory.rows.t = arena.take<double>(most);
  memory.rows.q = arena.take<double>(most * std::size_t(m.nq));
  memory.rows.v = arena.take<double>(most * std::size_t(m.nv));
  memory.rows.x = arena.take<double>(most * std::size_t(m.nx));
  memory.rows.tau = arena.take<double>(most * std::size_t(m.nv));
  memory.rows.failed = arena.take<unsigned char>(most);
  SimdRunWorkspace work{};
  arena.skip(lay_out_shared(m, arena.here(), work));
  for (int k = 0; k < packs; ++k) {
    arena.skip(lay_out_pack(m, arena.here(), work));
    put(memory.packs + k, work);
  }
  return arena.used;
}

// Lanes whose states a control receives: not those where a step went so far that there is no state. It is shortened
// then.
unsigned with_states(const ModelData &m, const SimdRuns &pack) {
  Pack zero(0.0);
  for (int k = 0; k < m.nq; ++k)
    zero = zero + 0.0 * pack.at_q[k];
  for (int f = 0; f < m.nv; ++f)
    zero = zero + 0.0 * pack.at_v[f];
  for (int k = 0; k < m.nx; ++k)
    zero = zero + 0.0 * pack.at_x[k];
  unsigned lanes = 0;
  for (int lane = 0; lane < W; ++lane)
    lanes |= zero[lane] == 0.0 ? 1u << lane : 0u;
  return lanes & pack.requested;
}

// the states of one pack join the rows
void gather(const ModelData &m, SimdRuns &pack, Rows &rows) {
  pack.asked = with_states(m, pack);
  for (int lane = 0; lane < W; ++lane) {
    if (!(pack.asked >> lane & 1u))
      continue;
    const std::ptrdiff_t row = rows.count++;
    rows.runs[row] = pack.runs[lane].number;
    rows.t[row] = pack.at_t[lane];
    rows.failed[row] = 0;
    for (int k = 0; k < m.nq; ++k)
      rows.q[row * m.nq + k] = pack.at_q[k][lane];
    for (int f = 0; f < m.nv; ++f)
      rows.v[row * m.nv + f] = pack.at_v[f][lane];
    for (int k = 0; k < m.nx; ++k)
      rows.x[row * m.nx + k] = pack.at_x[k][lane];
  }
}

// joint forces of one register, from its rows; runs end where the control failed
void scatter(const ModelData &m, SimdRuns &pack, const Rows &rows, std::ptrdiff_t &row, Pack *control) {
  for (int f = 0; f < m.nv; ++f)
    control[f] = Pack(std::numeric_limits<double>::quiet_NaN());
  unsigned failed = 0;
  for (int lane = 0; lane < W; ++lane) {
    if (!(pack.asked >> lane & 1u))
      continue;
    for (int f = 0; f < m.nv; ++f)
      control[f].set(lane, rows.tau[row * m.nv + f]);
    failed |= rows.failed[row++] ? 1u << lane : 0u;
  }
  pack.leave_batch(failed, Outcome::callback_failed);
}

void run_together(const ModelData &m, LaneMemory &memory, int packs, const BatchedControl &control) {
  SimdRuns *first = memory.packs, *last = first + packs;
  Rows &rows = memory.rows;
  const auto is_running = [](const SimdRuns &pack) { return pack.request_now != SimdRuns::RunRequest::nothing; };
  for (SimdRuns *pack = first; pack != last; ++pack)
    pack->begin();
  while (std::any_of(first, last, is_running)) {
    rows.count = 0;
    for (SimdRuns *pack = first; pack != last; ++pack)
      if (is_running(*pack))
        gather(m, *pack, rows);
    if (rows.count &&
        !control.evaluate(control.self, rows.count, rows.runs, rows.t, rows.q, rows.v, rows.x, rows.tau, rows.failed)) {
      for (SimdRuns *pack = first; pack != last; ++pack)
        pack->leave_batch(every_lane, Outcome::stopped);
      return;
    }
    std::ptrdiff_t row = 0;
    for (SimdRuns *pack = first; pack != last; ++pack)
      if (is_running(*pack)) {
        scatter(m, *pack, rows, row, memory.control);
        pack->evaluate(memory.control);
        pack->continue_run();
      }
  }
}

} // namespace

bool supports_simd_batch(const ModelData &m, const Run &run, bool own) {
  // rows that are searched for lane by lane know the tables alone
  const bool searched =
      std::any_of(m.loop_constraints, m.loop_constraints + m.loop_constraint_count,
                  [](const LoopConstraintData &c) { return c.form == LoopConstraintForm::chain || c.curve >= 0; });
  const bool callback_laws =
      run.conditions.callbacks && m.callback_law_count; // only a control may receive many states at once
  return !m.feedback_count && !callback_laws && !run.conditions.sampled_forces && !run.conditions.sampled_loads &&
         !run.conditions.constraint_active && !(own && searched);
}

std::size_t simd_batch_bytes(const ModelData &m, int packs) {
  LaneMemory memory;
  return lay_out(m, packs, nullptr, memory, [](SimdRuns *, const SimdRunWorkspace &) {});
}

void run_simd_batch(const ModelData &m, const Run &run, std::byte *memory, double begin, double until,
                    const Samples &samples, const RunQueue &feed, int packs, const BatchedControl *control) {
  LaneMemory laid;
  lay_out(m, packs, memory, laid, [&](SimdRuns *pack, const SimdRunWorkspace &work) {
    new (pack) SimdRuns(m, run, work, begin, until, samples, feed);
  });
  if (control)
    return run_together(m, laid, packs, *control);
  SimdRuns &pack = *laid.packs;
  for (pack.begin(); pack.request_now != SimdRuns::RunRequest::nothing; pack.continue_run())
    pack.evaluate(nullptr);
}

} // namespace dalembert::DALEMBERT_ISA
