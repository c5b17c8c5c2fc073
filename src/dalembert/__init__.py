"""dalembert: multibody systems in Python.

A `System` describes bodies and connections. ``compile()`` turns it into a `Model` whose kernels run at native speed, on
one state or on a batch. `simulate` returns a `Result`. Each family of names also has a module of its own:

    da.joints  da.constraints  da.elements              connections
    da.laws  da.attitudes                               time laws, of coordinates and of orientations
    da.shapes  da.structures                            bodies, rigid and flexible
    da.library  da.tribology  da.rotation  da.errors    ready systems, bearings and films, rotations, exceptions
    da.formulations                                     equations of motion by Kane, Newton and Euler, Lagrange
    da.units                                            quantities in inches, slugs, degrees

All public names are declared in `__init__.pyi`; a module is imported when the first of its names is used.
"""

from typing import Any

import lazy_loader

try:
    from ._core import isa as isa
except ImportError as error:  # nanobind wraps the error that names the cause
    raise (error if error.__cause__ is None else ImportError(str(error.__cause__))) from None

__version__ = "0.1.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        from .checks import did_you_mean

        hint = f"; {guess}" if (guess := did_you_mean(name, __all__)) else ""
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}{hint}", name=name)
    value = globals()[name] = _load(name)
    return value
