"""dalembert: multibody systems in Python.

A `System` describes bodies and connections; ``compile()`` turns it into a `Model` whose kernels run at native speed, on
one state or on a batch; `simulate` gives a `Result`. What is here is what most need; each family has a room of its own:

    da.hinges  da.constraints  da.elements              connections
    da.laws  da.attitudes                               what drives them
    da.shapes  da.structures                            bodies, rigid and flexible
    da.library  da.tribology  da.rotation  da.errors    ready systems, bearings and films, rotations, what can go wrong
    da.formulations                                     the same motion as Kane, Newton, Lagrange write it
    da.units                                            numbers in inches, slugs, degrees

Every name of these rooms also works from here: ``da.Bushing`` is ``da.elements.Bushing``.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    from ._core import isa
except ImportError as error:  # the binding layer puts a general one around that which says why
    raise (error if error.__cause__ is None else ImportError(str(error.__cause__))) from None

from . import errors, rotation, units
from .analysis import (
    Contact,
    assemble,
    base_parameters,
    check_element,
    consistent_accelerations,
    consistent_speeds,
    driven_motion,
    flops,
    impulse,
    inertial_parameters,
    mobility,
    regressor,
)
from .bodies import Body, FlexibleBody, Marker, Shape, box, cylinder, mesh, plate, rod, shapes, sphere, tube
from .checks import did_you_mean
from .connections import Connection, attitudes, constraints, elements, hinges, laws
from .connections.constraints import Coupling, CustomConstraint, Distance, gear
from .connections.elements import Effort, Element, HingeSpring, Load, SpringDamper, TorsionSpring
from .connections.hinges import (
    CustomHinge,
    Cylindrical,
    Fixed,
    Free,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from .connections.laws import Harmonic, Polynomial, Ramp, Spline
from .connections.laws import Linear as Linear  # not the linear system of that name
from .errors import (
    AssemblyError,
    DalembertError,
    FileError,
    IntegrationError,
    ModelError,
    SingularityError,
    TopologyError,
    UserFunctionError,
)
from .inverse import inverse_dynamics, measured_motion, moment_arms
from .linear import campbell, floquet, linearize, modes, periodic_orbit, root_locus
from .model import Conditions, Model, Sampled, State, set_threads, threads
from .motion import Target, circuits, inverse_kinematics, kinematics, mobility_range, motion_space, workspace
from .result import Result
from .simulation import Ensemble, Event, Live, simulate, start_state
from .statics import equilibrium, equilibrium_path
from .system import System

if TYPE_CHECKING:  # every name that `__getattr__` serves
    from . import formulations, library, natural, structures, tribology
    from .analysis import *  # noqa: F403
    from .bodies import *  # noqa: F403
    from .connections.attitudes import *  # noqa: F403
    from .connections.constraints import *  # noqa: F403
    from .connections.elements import *  # noqa: F403
    from .connections.hinges import *  # noqa: F403
    from .errors import *  # noqa: F403
    from .inverse import *  # noqa: F403
    from .io import load, save
    from .library import linkage
    from .linear import *  # type: ignore[assignment]  # noqa: F403  # Linear is the law
    from .model import *  # noqa: F403
    from .motion import *  # noqa: F403
    from .result import *  # noqa: F403
    from .rotation import *  # noqa: F403
    from .simulation import *  # noqa: F403
    from .statics import *  # noqa: F403
    from .structures import *  # noqa: F403
    from .structures import Material, Section, Structure, beam
    from .studies import fit, load_sweep, optimal_motion, optimize, sensitivity, sweep, synthesize, uncertainty
    from .symbolic import symbolic_equations

    from .connections.laws import *  # noqa: F403  # isort: skip

__version__ = "0.1.0"

__all__ = [
    "AssemblyError",
    "Body",
    "Conditions",
    "Connection",
    "Contact",
    "Coupling",
    "CustomConstraint",
    "CustomHinge",
    "Cylindrical",
    "DalembertError",
    "Distance",
    "Effort",
    "Element",
    "Ensemble",
    "Event",
    "FileError",
    "Fixed",
    "FlexibleBody",
    "Free",
    "Harmonic",
    "HingeSpring",
    "IntegrationError",
    "Live",
    "Load",
    "Marker",
    "Material",
    "Model",
    "ModelError",
    "Planar",
    "Polynomial",
    "Prismatic",
    "Ramp",
    "Result",
    "Revolute",
    "Sampled",
    "Screw",
    "Section",
    "Shape",
    "SingularityError",
    "Spherical",
    "Spline",
    "SpringDamper",
    "State",
    "Structure",
    "System",
    "Target",
    "TopologyError",
    "TorsionSpring",
    "Universal",
    "UserFunctionError",
    "assemble",
    "attitudes",
    "base_parameters",
    "beam",
    "box",
    "campbell",
    "check_element",
    "circuits",
    "consistent_accelerations",
    "consistent_speeds",
    "constraints",
    "cylinder",
    "driven_motion",
    "elements",
    "equilibrium",
    "equilibrium_path",
    "errors",
    "fit",
    "flops",
    "floquet",
    "formulations",
    "gear",
    "hinges",
    "impulse",
    "inertial_parameters",
    "inverse_dynamics",
    "inverse_kinematics",
    "isa",
    "kinematics",
    "laws",
    "library",
    "linearize",
    "linkage",
    "load",
    "load_sweep",
    "measured_motion",
    "mesh",
    "mobility",
    "mobility_range",
    "modes",
    "moment_arms",
    "motion_space",
    "natural",
    "optimal_motion",
    "optimize",
    "periodic_orbit",
    "plate",
    "regressor",
    "rod",
    "root_locus",
    "rotation",
    "save",
    "sensitivity",
    "set_threads",
    "shapes",
    "simulate",
    "sphere",
    "start_state",
    "structures",
    "sweep",
    "symbolic_equations",
    "synthesize",
    "threads",
    "tribology",
    "tube",
    "uncertainty",
    "units",
    "workspace",
]

_ROOMS = (  # their names work from here; of equal names the first one does
    *("hinges", "constraints", "elements", "laws", "attitudes", "shapes", "structures", "rotation", "errors"),
    *("analysis", "bodies", "inverse", "linear", "model", "motion", "result", "simulation", "statics"),
)
_LATER = {  # what takes time to import and many do without
    **dict.fromkeys(("formulations", "library", "natural", "structures", "tribology")),
    "load": "io",
    "save": "io",
    "symbolic_equations": "symbolic",
    "linkage": "library",
    **dict.fromkeys(("fit", "load_sweep", "optimal_motion", "optimize"), "studies"),
    **dict.fromkeys(("sensitivity", "sweep", "synthesize", "uncertainty"), "studies"),
    **dict.fromkeys(("Material", "Section", "Structure", "beam"), "structures"),
}


def _rooms() -> Iterator[Any]:
    """Yield the modules whose names work from here, in the order in which they are searched."""
    for room in _ROOMS:
        yield globals().get(room) or import_module(f".{room}", __name__)


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", *(name for room in _rooms() for name in room.__all__)})


if not TYPE_CHECKING:  # type checkers know every name from the imports above, and report any other

    def __getattr__(name: str) -> Any:
        if name in _LATER:
            home = _LATER[name]
            found = import_module(f".{home or name}", __name__)
            globals()[name] = found if home is None else getattr(found, name)
            return globals()[name]
        if not name.startswith("__"):
            for room in _rooms():
                if name in room.__all__:
                    return getattr(room, name)
        hint = f"; {guess}" if (guess := did_you_mean(name, __dir__())) else ""
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}{hint}", name=name)
