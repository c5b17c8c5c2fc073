"""Units of the arguments of constructors: quantities such as ``"100 mm"`` in Python, and checks of model files.

A unit belongs to an argument name wherever it occurs, unless a kind has its own. There are several, ``"m | rad"``, if
it depends on the measured quantity; ``""`` for no unit, or a unit that depends on the formula.
"""

from __future__ import annotations

from typing import Any

from .errors import ModelError
from .units import Dimension, dimension_text, quantity, same_dimension, unit_of

__all__ = [
    "BODY", "CONTACT", "PLACE", "SETTINGS", "START", "fits", "in_si", "may_have_units", "unit_for", "unit_of_field",
]  # fmt: skip

_FORCE, _STIFFNESS, _DAMPING = "N | N m", "N/m | N m/rad", "N s/m | N m s/rad"
_PLACE, _SPEED = "m | rad", "m/s | rad/s"

BODY = {"mass": "kg", "com": "m", "inertia": "kg m2", "at": "m"}
START = {"position": _PLACE, "speed": _SPEED, "guess": ""}
CONTACT = {
    "friction": "", "static_friction": "", "restitution": "", "stiffness": "", "exponent": "", "young": "Pa",
    "poisson": "", "depth": "m", "at_speed": "m/s", "rounding": "m", "rolling": "m", "spin": "m",
}  # fmt: skip
PLACE = {"position": "m", "rotation": "", "velocity": "m/s", "angular_velocity": "rad/s"}

_USUAL = {
    **dict.fromkeys(
        [
            "length", "radius", "x", "y", "z", "thickness", "outer", "inner", "outline", "pitch", "collar",
            "half_length", "clearance", "radius_1", "radius_2", "softening", "optimal_length", "slack_length",
            "stroke", "least_film",
            "centre", "torsion_radius", "heights",
        ], "m"
    ),
    "mass": "kg", "density": "kg/m3", "stiffness": _STIFFNESS, "damping": _DAMPING, "rest": _PLACE, "toe": _PLACE,
    "lower": _PLACE, "upper": _PLACE, "max_speed": _SPEED, "max_effort": _FORCE, "friction": _FORCE,
    "static_friction": _FORCE, "armature": "kg | kg m2", "angle": "rad", "viscosity": "Pa s", "pressure": "Pa",
    "area": "m2", "rod_area": "m2", "volume": "m3", "dead_volume": "m3", "bulk_modulus": "Pa", "outside": "Pa",
    "vapour": "Pa", "rod_pressure": "Pa", "coulomb": _FORCE, "viscous": _DAMPING, "slip_speed": _SPEED,
    "static": _FORCE, "stribeck_speed": _SPEED, "bristle_stiffness": _STIFFNESS, "bristle_damping": _DAMPING,
    "branch_stiffness": _STIFFNESS, "branch_damping": _DAMPING, "preload": _FORCE, "dissipation": "s/m",
    "resistance": "ohm", "inductance": "H", "constant": "N m/A", "current": "A", "voltage": "V", "linear": "N s/m",
    "quadratic": "N s2/m2", "stream": "m/s", "strength": "N", "fastest": "1/s", "rise": "s", "fall": "s",
    "pressure_coefficient": "1/Pa", "shear_stress": "Pa", "modulus": "Pa", "times": "s", "duration": "s", "begin": "s",
    "width": "s", "E": "Pa", "G": "Pa", "A": "m2", "Iy": "m4", "Iz": "m4", "J": "m4", "phase": "rad",
    "frequency": "rad/s", "max_frequency": "rad/s", "discontinuity_times": "s", "limit": _FORCE, "inflow": "m3/s",
    "outflow": "m3/s", "angle_1": "rad", "angle_2": "rad", "angle_3": "rad", "angles": "rad",
    **dict.fromkeys(
        [
            "value", "amplitude", "offset", "ratio", "coefficient", "static_coefficient", "restitution", "exponent",
            "gear", "teeth_1", "teeth_2",
            "toe_strain", "stiffening", "nu", "shear_y", "shear_z", "start", "end", "values", "coefficients", "law",
            "terms", "integral", "before", "after", "gain", "parameters", "numerator", "denominator", "B", "C", "D",
            "setpoint", "excitation", "input", "time", "degree", "count", "elements", "reference", "force", "moment",
            "points", "position", "segments", "energy", "near", "load", "pieces",
        ], ""
    ),
}  # fmt: skip
_TURNING = {
    "lower": "rad", "upper": "rad", "max_speed": "rad/s", "max_effort": "N m", "friction": "N m",
    "static_friction": "N m", "armature": "kg m2", "damping": "N m s/rad",
}  # fmt: skip
_SLIDING = {
    "lower": "m", "upper": "m", "max_speed": "m/s", "max_effort": "N", "friction": "N", "static_friction": "N",
    "armature": "kg", "damping": "N s/m",
}  # fmt: skip
_CONTACT = {
    "stiffness": "", "friction": "", "slip_speed": "m/s", "tangential_stiffness": "N/m", "restitution": "",
    "at_speed": "m/s",
}  # fmt: skip
_OWN: dict[str, dict[str, str]] = {
    "Revolute": _TURNING, "Universal": _TURNING, "Spherical": _TURNING, "Prismatic": _SLIDING, "Screw": _TURNING,
    "SpringDamper": {"stiffness": "N/m", "damping": "N s/m"},
    "TorsionSpring": {"stiffness": "N m/rad", "damping": "N m s/rad", "rest": "rad"},
    "Arc": {"start": "rad", "end": "rad"}, "Line": {"start": "m", "end": "m"},
    "Curve": {"points": "m"}, "Curve.polar": {"start": "rad"}, "Offset": {"position": "m"},
    "BeamElement": {"axial": "N", "bending": "N m2", "torsion": "N m2", "shear": "N", "damping": "s"},
    "ElasticBar": {"stiffness": "N", "preload": "N", "damping": "N s"},
    "Ligament": {"stiffness": "N", "damping": "N s/m"},
    "BumpStop": {"stiffness": "", "length": _PLACE}, "Cable": {"length": _PLACE},
    "Bushing": {"stiffness": "", "damping": ""},
    "PointPlaneContact": _CONTACT, "SpherePlaneContact": _CONTACT, "SphereSphereContact": _CONTACT,
    "CylinderPlaneContact": _CONTACT,
    "HydraulicCylinder": {"friction": "N s/m"}, "InverseSquare": {"strength": "N m2"},
    "JournalBearing": {"stiffness": "N/m", "limit": ""}, "Load": {"force": "N", "moment": "N m"},
    "height_field": {"size": "m"},
    "HydraulicSpring": {"rest": "m"}, "GasSpring": {"rest": "m"}, "Maxwell": {"start": _PLACE},
    "HillMuscle": {"start": ""},
    "MillardMuscle": {
        "strength": "N", "optimal_length": "m", "slack_length": "m", "pennation": "rad", "fastest": "1/s",
        "damping": "", "start": "", "fiber_start": "", "tendon_strain": "", "passive_strain": "",
    }, "Pulse": {"rest": ""}, "Step": {"time": "s"}, "Delay": {"time": "s"},
    "StateSpace": {"A": ""}, "Section": {"points": "m"}, "beam": {"points": "m", "mass": "", "damping": ""},
    "frame": {"mass": "", "damping": ""}, "Member": {"points": "m"}, "CustomJoint": {"position": ""},
    "Table": {"outside": "", "values": ""}, "TractionFilm": {"slip_speed": "m/s", "load": ""},
    "FlexibleBody": {"total_mass": "kg", "stiffness": "", "damping": "", "nodes": "m", "node_masses": "kg"},
    "Structure": {"total_mass": "kg"}, "Rayleigh": {"alpha": "1/s", "beta": "s"},
    "BrushTyre": {
        "stiffness": "N/m", "damping": "N s/m", "load": "N", "longitudinal": "N", "cornering": "N/rad", "friction": "",
        "patch": "m", "relaxation": "m", "resistance": "", "slow": "m/s", "standstill_damping": "",
    },
    "MagicFormulaTyre": {"relaxation": "m", "slow": "m/s", "standstill_damping": ""},
    "GearMesh": {
        "teeth": "", "module": "m", "stiffness": "N/m", "damping": "N s/m", "pressure_angle": "rad", "phase": "rad",
        "helix_angle": "rad", "backlash": "m", "center_distance": "m", "friction": "", "slip_speed": "m/s", "droop": "",
        "width": "m", "addendum": "",
    },
    "BevelMesh": {
        "teeth": "", "cone_distance": "m", "stiffness": "N/m", "damping": "N s/m", "shaft_angle": "rad",
        "pressure_angle": "rad", "spiral_angle": "rad", "backlash": "m", "variation": "", "phase": "rad",
    },
    "CamContact": {
        "stiffness": "", "radius": "m", "lash": "m", "restitution": "", "at_speed": "m/s", "friction": "",
        "slip_speed": "m/s",
    },
    "Ratchet": {"dissipation": "", "start": _PLACE, "pitch": _PLACE},
    "GenevaContact": {
        "slots": "", "distance": "m", "stiffness": "N/m", "play": "m", "restitution": "", "at_speed": "m/s",
    },
    "Mimic": {"multiplier": "", "offset": _PLACE},
    "GearMotor": {
        "rotor_inertia": "kg m2", "ratio": "", "stiffness": "N m/rad", "damping": "N m s/rad", "efficiency": "",
        "backlash": "rad", "friction": "N m s/rad", "slip_speed": "rad/s", "temperature_coefficient": "1/K",
        "ambient": "", "winding_resistance": "K/W", "housing_resistance": "K/W", "winding_capacity": "J/K",
        "housing_capacity": "J/K",
    },
    "PIDController": {
        "kp": "", "ki": "", "kd": "", "filter_time": "s", "setpoint_weight": "", "derivative_weight": "",
        "tracking_time": "s", "limits": "", "feedforward": "",
    },
    "StateFeedback": {"tracking_time": "s", "limits": "", "offset": "", "references": ""},
    "ProportionalValve": {
        "flow": "m3/s", "at": "Pa", "frequency": "rad/s", "damping_ratio": "", "overlap": "", "ratio": "",
        "laminar": "Pa",
    },
    "HydraulicSupply": {
        "pressure": "Pa", "gas_volume": "m3", "precharge": "Pa", "exponent": "", "relief": "Pa",
        "relief_conductance": "m3/(s Pa)", "line_volume": "m3", "bulk_modulus": "Pa",
    },
    "PneumaticCylinder": {
        "supply": "Pa", "ambient": "Pa", "conductance": "m3/(s Pa)", "critical_ratio": "", "linear": "",
        "temperature": "K", "heat_transfer": "W/K", "exponent": "", "gas_constant": "J/(kg K)", "friction": "N s/m",
    },
    "Pulley": {"radius": "m", "side": "", "friction": "", "groove": "rad", "least": "rad"},
    "Sprocket": {"teeth": "", "pitch": "m", "side": "", "phase": "rad", "least": "rad"},
    "PulleyRope": {
        "route": "", "stiffness": "N", "damping": "N s", "tension": "N", "positions": "m", "feed": "m/s",
        "density": "kg/m", "gravity": "m/s2",
    },
    "BeltDrive": {
        "route": "", "stiffness": "N", "damping": "N s", "tension": "N", "positions": "m", "density": "kg/m",
    },
    "ChainDrive": {"route": "", "stiffness": "N", "links": "", "damping": "N s", "positions": "m"},
    "WrapCylinder": {"radius": "m", "least": "rad"}, "WrapSphere": {"radius": "m"},
    "Road": {"footprint": "m", "grip": ""}, "Road.rough": {"length": "m", "spacing": "m", "grip": ""},
    "GeneralizedMaxwell": {"terms": ""}, "JointFriction": {"coefficient": ""},
}  # fmt: skip
# options of analyses, such as ``dalembert simulate model.yaml``, and their units
SETTINGS: dict[str, dict[str, str]] = {
    "simulate": {
        "t_end": "s", "t_start": "s", "times": "s", "method": "", "rtol": "", "atol": "", "max_step": "s",
        "fixed_step": "s", "parameters": "", "outputs": "",
    },
    "kinematics": {"times": "s", "outputs": ""},
    "equilibrium": {"outputs": ""},
    "modes": {"count": ""},
    "linearize": {"inputs": "", "outputs": ""},
}  # fmt: skip


def unit_for(kind: str, argument: str) -> str | None:
    """Return the unit of an argument of a kind, ``""`` if it has none; None if it is unknown."""
    return _OWN.get(kind, {}).get(argument, _USUAL.get(argument))


def fits(dimension: Dimension, units: str) -> bool:
    """Return whether a dimension is one of some units."""
    candidates = [unit_of(unit.strip()) for unit in units.split("|")]
    return any(unit is not None and same_dimension(dimension, unit.dimension) for unit in candidates)


def in_si(value: Any, unit: str | None, *, item: str, field: str) -> Any:
    """Return a quantity such as ``"100 mm"``, or those in lists, as numbers in SI units and radians.

    Other texts, such as formulas and names, are returned as they are, as is everything where no unit is known.

    Raises
    ------
    ModelError
        If the unit is not `unit`, or `unit` depends on what the item acts on, ``"N/m | N m/rad"``.
    """
    if isinstance(value, (list, tuple)) and any(isinstance(each, (str, list, tuple)) for each in value):
        return type(value)(in_si(each, unit, item=item, field=field) for each in value)
    found = quantity(value) if unit and isinstance(value, str) else None
    if found is None or not unit:
        return value
    if "|" in unit:
        units = unit.replace(" | ", " or ")
        raise ModelError(item, field, value, f"its unit depends on what it acts on, {units}: give a number in SI units")
    if not fits(found.dimension, unit):
        wanted = unit.replace(" | ", " or ")
        raise ModelError(
            item, field, value, f"the unit must be {wanted}, and this is {dimension_text(found.dimension)}"
        )
    return found.value


def unit_of_field(item: str, field: str) -> str | None:
    """Return the unit of a field of an item as errors name them: ``"Prismatic"``, ``"body 'crank'"``."""
    kind = item.partition(" ")[0]
    table = {"body": BODY, "contact": CONTACT, "place": PLACE}.get(kind)
    return unit_for(kind, field) if table is None else table.get(field)


def may_have_units(value: Any) -> bool:
    """Return whether a value is a text, or holds one, that begins as a number does."""
    if isinstance(value, str):
        return value[:1] in "+-.0123456789" and " " in value
    return type(value) in (list, tuple) and any(may_have_units(each) for each in value)
