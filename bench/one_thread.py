"""Import this before NumPy and the peers: one thread for every library's pool, and none that spins.

An OpenMP worker otherwise spins for milliseconds after its work and takes a core from whoever is
timed next.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
