// The bound model: owns the constants, lends out workspaces, runs kernels on one state or on many.
#pragma once

#include "bind/conditions.hpp"
#include "kernels/kernels.hpp"
#include "model/tables.hpp"
#include "runs/evaluate_states.hpp"
#include "steppers/run.hpp"
#include <memory>

namespace dalembert::bind {

struct BoundModel {
  Tables tables;
  VariantTables own;       // of a model with other mapped parameters than described
  nanobind::object family; // the model as described, which it shares all else with; none: itself
  ModelData data{};
  ModelData bare{};                           // without elements and drives
  std::vector<double> starts;                 // of element states
  std::unique_ptr<BoundConditions> described; // conditions as described
  const KernelSet *kernels = &best_kernels();
  const IntegratorSet *integrators = &best_integrators();
  std::shared_ptr<BlockPool> singles_pool, packs_pool; // of all models of one family
  BlockPool &singles, &packs;

  BoundModel() : BoundModel(std::make_shared<BlockPool>(), std::make_shared<BlockPool>()) {}
  BoundModel(std::shared_ptr<BlockPool> one, std::shared_ptr<BlockPool> many)
      : singles_pool(std::move(one)), packs_pool(std::move(many)), singles(*singles_pool), packs(*packs_pool) {}

  unsigned run_one(const ModelData &m, const Call &call) const {
    BlockLease memory(singles, kernels->bytes_one(m, call));
    return kernels->evaluate_state(m, memory.data(), call, 0);
  }

  unsigned run_batch(const ModelData &m, const Call &call, std::ptrdiff_t count, int threads,
                     SignalCheck &signals) const {
    return evaluate_states(*kernels, m, call, count, threads, {singles, packs}, signals.stop());
  }
};

// the C++ object behind a Python model
BoundModel *bound(PyObject *self);

// whether two models differ in mapped parameters only
inline bool of_one_family(const BoundModel &a, const BoundModel &b) {
  const auto first = [](const BoundModel &m) { return m.family.is_valid() ? bound(m.family.ptr()) : &m; };
  return first(a) == first(b);
}

} // namespace dalembert::bind
