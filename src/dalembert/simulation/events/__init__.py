"""Events of a run: zero crossings, discontinuity times, velocity jumps, sampling."""
