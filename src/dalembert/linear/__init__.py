"""Linear systems that multibody systems are near a state: tangent spaces, modes, responses, loci, periodic orbits."""

from .linear import Linear
from .linearize import linearize
from .locus import Campbell, RootLocus, campbell, root_locus
from .modes import BodyShape, Modes, modes
from .periodic import Floquet, PeriodicOrbit, floquet, periodic_orbit
from .response import FrequencyResponse
from .tangent import Tangent, tangent_space

__all__ = [
    "BodyShape",
    "Campbell",
    "Floquet",
    "FrequencyResponse",
    "Linear",
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
