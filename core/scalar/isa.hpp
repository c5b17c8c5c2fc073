// The kernels are compiled once for each instruction set, each time into a namespace of its own, so that no inline
// function of one set can stand in for its twin of another. The build defines DALEMBERT_ISA and how many numbers a
// register of the set holds; code that is compiled once takes the defaults.
#pragma once

#ifndef DALEMBERT_ISA
#define DALEMBERT_ISA portable
#define DALEMBERT_LANES 2
#endif

#if defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define DALEMBERT_INLINE inline __attribute__((always_inline))
#define DALEMBERT_RESTRICT __restrict__
#else
#define DALEMBERT_INLINE inline
#define DALEMBERT_RESTRICT
#endif

namespace dalembert::DALEMBERT_ISA {

constexpr int W = DALEMBERT_LANES;              // numbers in a register
constexpr unsigned every_lane = (1u << W) - 1u; // a bit for each

} // namespace dalembert::DALEMBERT_ISA
