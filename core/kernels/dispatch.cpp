// Chooses the kernels that the processor can run, among those that were built. DALEMBERT_FORCE_ISA names one, for
// tests.
#include "kernels/dispatch.hpp"
#include <cstdlib>
#include <cstring>

namespace dalembert {

#ifdef DALEMBERT_WITH_portable
namespace portable {
extern const KernelSet kernels;
extern const IntegratorSet integrators;
extern const VariationSet variations;
extern const AdjointSet adjoints;
extern const ContactPartSet contact_parts;
} // namespace portable
#endif
#ifdef DALEMBERT_WITH_avx2
namespace avx2 {
extern const KernelSet kernels;
extern const IntegratorSet integrators;
extern const VariationSet variations;
extern const AdjointSet adjoints;
extern const ContactPartSet contact_parts;
} // namespace avx2
#endif
#ifdef DALEMBERT_WITH_avx512
namespace avx512 {
extern const KernelSet kernels;
extern const IntegratorSet integrators;
extern const VariationSet variations;
extern const AdjointSet adjoints;
extern const ContactPartSet contact_parts;
} // namespace avx512
#endif

namespace {

struct Choice {
  const KernelSet *kernels;
  const IntegratorSet *integrators;
  const VariationSet *variations;
  const AdjointSet *adjoints;
  const ContactPartSet *contact_parts;
};

Choice choose() {
  const char *forced = std::getenv("DALEMBERT_FORCE_ISA");
  const auto wanted = [&](const char *isa) { return !forced || !std::strcmp(forced, isa); };
  (void)wanted;
#if defined(DALEMBERT_WITH_avx512) || defined(DALEMBERT_WITH_avx2)
  __builtin_cpu_init();
#endif
#ifdef DALEMBERT_WITH_avx512
  if (wanted("avx512") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    return {&avx512::kernels, &avx512::integrators, &avx512::variations, &avx512::adjoints, &avx512::contact_parts};
#endif
#ifdef DALEMBERT_WITH_avx2
  if (wanted("avx2") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {&avx2::kernels, &avx2::integrators, &avx2::variations, &avx2::adjoints, &avx2::contact_parts};
#endif
#ifdef DALEMBERT_WITH_portable
  return {&portable::kernels, &portable::integrators, &portable::variations, &portable::adjoints, &portable::contact_parts};
#else
  return {nullptr, nullptr, nullptr, nullptr, nullptr};
#endif
}

const Choice &chosen() {
  static const Choice choice = choose();
  return choice;
}

} // namespace

bool processor_is_served() { return chosen().kernels; }
const KernelSet &best_kernels() { return *chosen().kernels; }
const IntegratorSet &best_integrators() { return *chosen().integrators; }
const VariationSet &best_variations() { return *chosen().variations; }
const AdjointSet &best_adjoints() { return *chosen().adjoints; }
const ContactPartSet &best_contact_parts() { return *chosen().contact_parts; }

} // namespace dalembert
