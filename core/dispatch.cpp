// Chooses the kernels that the processor can run. DALEMBERT_FORCE_ISA names another set, for tests.
#include "integrator.hpp"
#include "kernels.hpp"
#include <cstdlib>
#include <cstring>

namespace dalembert {

namespace portable {
extern const KernelSet kernels;
extern const IntegratorSet integrators;
}
#ifdef DALEMBERT_X86
namespace avx2 {
extern const KernelSet kernels;
extern const IntegratorSet integrators;
}
namespace avx512 {
extern const KernelSet kernels;
extern const IntegratorSet integrators;
}
#endif

static const KernelSet &choose() {
  const char *forced = std::getenv("DALEMBERT_FORCE_ISA");
  const auto wanted = [&](const KernelSet &set) { return !forced || !std::strcmp(forced, set.isa); };
#ifdef DALEMBERT_X86
  __builtin_cpu_init();
  if (wanted(avx512::kernels) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    return avx512::kernels;
  if (wanted(avx2::kernels) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return avx2::kernels;
#endif
  (void)wanted;
  return portable::kernels;
}

const KernelSet &best_kernels() {
  static const KernelSet &chosen = choose();
  return chosen;
}

const IntegratorSet &best_integrators() {
#ifdef DALEMBERT_X86
  if (&best_kernels() == &avx512::kernels)
    return avx512::integrators;
  if (&best_kernels() == &avx2::kernels)
    return avx2::integrators;
#endif
  return portable::integrators;
}

} // namespace dalembert
