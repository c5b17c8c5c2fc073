// The kernels are compiled once per instruction set, each time into a namespace of its own, so
// that no inline function of one set can stand in for its twin of another. The build defines
// DALEMBERT_ISA; code that is compiled once takes the default.
#pragma once

#ifndef DALEMBERT_ISA
#define DALEMBERT_ISA portable
#endif

#if defined(__GNUC__)
#define DALEMBERT_INLINE inline __attribute__((always_inline))
#define DALEMBERT_RESTRICT __restrict__
#else
#define DALEMBERT_INLINE inline
#define DALEMBERT_RESTRICT
#endif
