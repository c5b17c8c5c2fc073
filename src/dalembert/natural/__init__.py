"""Natural coordinates: mechanisms described by points and unit vectors (Garcia de Jalon and Bayo 1994)."""

from .assembly import ContinuationResult, displacement_guess
from .bodies import BodyFrame, NaturalBody, body_frame, rigid_rows
from .conversion import NaturalModel, natural_model
from .dynamics import NaturalDynamics
from .equations import NaturalEquations
from .mechanism import Count, Mechanism
from .mobility import NaturalMobility
from .motion import NaturalMotion
from .newton_costs import DisplacementCosts, displacement_costs
from .reference_points import ReferenceEquations, reference_equations
from .tracks import Circle, Curve, Cylinder, Line, Plane, Sphere, Surface
from .wheels import equivalent_centre

__all__ = [
    "BodyFrame",
    "Circle",
    "ContinuationResult",
    "Count",
    "Curve",
    "Cylinder",
    "DisplacementCosts",
    "Line",
    "Mechanism",
    "NaturalBody",
    "NaturalDynamics",
    "NaturalEquations",
    "NaturalMobility",
    "NaturalModel",
    "NaturalMotion",
    "Plane",
    "ReferenceEquations",
    "Sphere",
    "Surface",
    "body_frame",
    "displacement_costs",
    "displacement_guess",
    "equivalent_centre",
    "natural_model",
    "reference_equations",
    "rigid_rows",
]
