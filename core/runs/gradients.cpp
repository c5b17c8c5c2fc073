#include "runs/gradients.hpp"
#include "runs/memory_pool.hpp"
#include "runs/run_variant.hpp"
#include "runs/thread_pool.hpp"
#include <algorithm>
#include <atomic>
#include <cstring>

namespace dalembert {

namespace {

struct Gradients {
  const AdjointSet &adjoints;
  const ModelData &m, &described;
  const Run &run;
  const GradientRequest &request;
  const GradientResults &to;

  Outcome make(const Block &memory, std::size_t k) const {
    const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv), nx = std::size_t(m.nx),
                      first = k * std::size_t(request.samples.count);
    RunVariant own;
    const ModelData &mine =
        request.numbers ? own.made(described, request.numbers + k * std::size_t(m.parameter_maps.count)) : m;
    Run one = run;
    if (request.parameters)
      one.conditions.parameters = request.parameters + k * std::size_t(m.parameter_count);
    ControlSequence sequence{};
    std::size_t width = 0;
    if (run.conditions.sequence) {
      sequence = *run.conditions.sequence;
      width = std::size_t(sequence.rows()) * std::size_t(sequence.channels);
      sequence.values = request.sequences ? request.sequences + k * width : sequence.values;
      one.conditions.sequence = &sequence;
    }
    const AdjointRun of{.q = request.q + first * nq,
                        .v = request.v + first * nv,
                        .x = request.x + first * nx,
                        .q_bar = request.q_bar + first * nv,
                        .v_bar = request.v_bar + first * nv,
                        .x_bar = request.x_bar + first * nx,
                        .q_grad = to.q + k * nv,
                        .v_grad = to.v + k * nv,
                        .x_grad = to.x + k * nx,
                        .control = to.control + k * width,
                        .parameters = to.parameters + k * to.wanted};
    memory.open();
    std::memset(memory.data, 0, memory.size);
    return adjoints.run(mine, one, memory.data, request.samples, request.directions, of);
  }
};

} // namespace

void run_gradients(const AdjointSet &adjoints, const ModelData &m, const ModelData &described, const Run &run,
                   const GradientRequest &request, const GradientResults &to) {
  const Gradients all{adjoints, m, described, run, request, to};
  const std::size_t bytes = adjoints.bytes(m, request.directions.count);
  std::atomic<std::size_t> next{0};
  const auto part = [&](int) {
    const Block memory(bytes);
    for (std::size_t k = next++; k < request.count; k = next++)
      to.outcomes[k] = double(request.stop() ? Outcome::stopped : all.make(memory, k));
  };
  const int parts = int(std::min<std::size_t>(std::size_t(std::max(request.threads, 1)), request.count));
  ThreadPool::run(parts, part, request.stop);
}

} // namespace dalembert
