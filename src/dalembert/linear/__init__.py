"""Linearization about a state: tangent spaces, modes, responses, loci, periodic orbits."""

from .eigenvalue_loci import Campbell, RootLocus, campbell, root_locus
from .frequency_response import FrequencyResponse
from .linear_system import LinearSystem
from .linearization import linearize
from .periodic_orbits import Floquet, PeriodicOrbit, floquet, periodic_orbit
from .tangent import Tangent, tangent_space
from .vibration_modes import BodyShape, Modes, modes

__all__ = [
    "BodyShape",
    "Campbell",
    "Floquet",
    "FrequencyResponse",
    "LinearSystem",
    "Modes",
    "PeriodicOrbit",
    "RootLocus",
    "Tangent",
    "campbell",
    "floquet",
    "linearize",
    "modes",
    "periodic_orbit",
    "root_locus",
    "tangent_space",
]
