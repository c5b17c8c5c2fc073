"""Linear systems that multibody systems are near a state: tangent spaces, linearisation, modes, responses, loci."""

from .linear import Linear
from .linearize import linearize
from .locus import Campbell, RootLocus, campbell, root_locus
from .modes import BodyShape, Modes, modes
from .response import FrequencyResponse
from .tangent import Tangent, tangent_space

__all__ = [
    "BodyShape",
    "Campbell",
    "FrequencyResponse",
    "Linear",
    "Modes",
    "RootLocus",
    "Tangent",
    "campbell",
    "linearize",
    "modes",
    "root_locus",
    "tangent_space",
]
