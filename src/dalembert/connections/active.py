"""Active elements: servos, motors, muscles and cylinders, built on `Element`.

Each is an `Element` with a law that is made of a few numbers. Inputs (setpoints, voltages, excitations, flows) are
numbers, or expressions of the time ``t``, such as ``"0.5*sin(2*t)"``, of what the element measures, and of `sources`.
What an active element does not store counts as work from outside, heat of its own included, so that the energy balance
of a run closes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..rotation import finite_array, finite_number
from .checked import one_of
from .elements import MEASURES, Element
from .expressions import compile_expressions

__all__ = [
    "DCMotor",
    "HillMuscle",
    "HydraulicCylinder",
    "PositionServo",
    "StateSpace",
    "TransferFunction",
    "VelocityServo",
]


class PositionServo(Element):
    """A PID servo at a hinge: effort = stiffness (setpoint - s) + integral * I - damping ds, within its limit.

    Parameters
    ----------
    setpoint : number or expression of t, rad or m
    stiffness : float, N m/rad or N/m
        Gain of the error.
    damping : float, N m s/rad or N s/m
        Gain of the speed; the rate of the setpoint is not fed forward.
    integral : float, N m/(rad s) or N/(m s)
        Gain of the integral of the error, which is the state ``I``.
    limit : float, N m or N
        Largest effort. The integral stands still while the effort is at the limit and the error would drive it further
        (anti-windup).
    sources : dict of str to source
        Further names that the setpoint may use, as ``inputs`` of an `Element`: outputs, signals, sensors, laws, or
        numbers that are set during a run.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("arm")
    >>> arm = s.body("arm", da.rod(length=1.0, mass=2.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, arm)
    >>> _ = s.connect("servo", da.PositionServo(0.5, 200.0, 40.0, 300.0), "A")
    >>> round(float(da.simulate(s, 10.0)["A.position"][-1]), 4)
    0.5
    """

    def __init__(
        self,
        setpoint: Any,
        stiffness: float,
        damping: float = 0.0,
        integral: float = 0.0,
        limit: float | None = None,
        *,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "PositionServo"
        numbers = _not_negative(item, stiffness=stiffness, damping=damping, integral=integral)
        _input(item, "setpoint", setpoint, "t", *(sources or {}))
        definitions: dict[str, Any] = {
            "setpoint": setpoint,
            "error": "setpoint - s",
            "wanted": "stiffness*error + integral*I - damping*ds",
        }
        super().__init__(**_limited(item, numbers, definitions, "I", "error", limit), inputs=sources or {})


class VelocityServo(Element):
    """A PI servo of the speed at a hinge: effort = gain (setpoint - ds) + integral * I, within its limit.

    Parameters
    ----------
    setpoint : number or expression of t, rad/s or m/s
    gain : float, N m s/rad or N s/m
    integral : float, N m/rad or N/m
        Gain of the integral of the error, which is the state ``I``.
    limit : float, N m or N
        Largest effort, with anti-windup as in `PositionServo`.
    sources : dict of str to source
        Further names that the setpoint may use, as ``inputs`` of an `Element`: outputs, signals, sensors, laws, or
        numbers that are set during a run.
    """

    def __init__(
        self,
        setpoint: Any,
        gain: float,
        integral: float = 0.0,
        limit: float | None = None,
        *,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "VelocityServo"
        numbers = _not_negative(item, gain=gain, integral=integral)
        _input(item, "setpoint", setpoint, "t", *(sources or {}))
        definitions: dict[str, Any] = {
            "setpoint": setpoint,
            "error": "setpoint - ds",
            "wanted": "gain*error + integral*I",
        }
        super().__init__(**_limited(item, numbers, definitions, "I", "error", limit), inputs=sources or {})


def _limited(
    item: str, numbers: dict[str, float], definitions: dict[str, Any], state: str, error: str, limit: float | None
) -> dict[str, Any]:
    """Return the parts of a servo whose integral stands still while the error pushes its effort beyond the limit."""
    if limit is None:
        return _servo("wanted", numbers, {state: (0.0, error)}, definitions)
    numbers = numbers | _positive(item, limit=limit)
    definitions = definitions | {
        "above": f"where(wanted > limit, where({error} > 0, 0, {error}), {error})",
        "kept": f"where(wanted < -limit, where({error} < 0, 0, {error}), above)",
    }
    effort = "max(-limit, min(limit, wanted))"
    return _servo(effort, numbers, {state: (0.0, "kept")}, definitions)


def _servo(
    effort: str, numbers: dict[str, float], states: dict[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    return {
        "measure": "hinge",
        "force": effort,
        "parameters": numbers,
        "states": states,
        "definitions": definitions,
        "active": True,
    }


class DCMotor(Element):
    """A DC motor at a hinge: effort = gear k i, with L di/dt = u - R i - gear k ds.

    Parameters
    ----------
    voltage : number or expression of t, V
        May use the angle ``s``, the speed ``ds`` and the current ``i`` too: a controller.
    resistance : float, ohm
    constant : float, N m/A = V s/rad
        Of torque and of back-emf, which in SI units are one number.
    inductance : float, H
    gear : float
        Turns of the rotor for one of the hinge. The inertia of the rotor is not part of the element: add gear^2 times
        it to the body it turns.
    current : float, A
        At the start; the state is ``i``.
    sources : dict of str to source
        Further names that the voltage may use, as ``inputs`` of an `Element`: outputs, signals, sensors, laws, or
        numbers that are set during a run.

    The energy stored is L i^2/2; u i comes from outside, of which R i^2 leaves as heat.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("spindle", gravity=(0, 0, 0))
    >>> disc = s.body("disc", mass=0.5, inertia=[1e-3, 1e-3, 2e-3])
    >>> _ = s.connect("axle", da.Revolute("z"), s.ground, disc)
    >>> _ = s.connect("motor", da.DCMotor(12.0, resistance=1.0, constant=0.1, inductance=1e-3), "axle")
    >>> round(float(da.simulate(s, 20.0)["axle.speed"][-1]), 3)  # u/k
    120.0
    """

    def __init__(
        self,
        voltage: Any,
        resistance: float,
        constant: float,
        inductance: float,
        gear: float = 1.0,
        current: float = 0.0,
        *,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "DCMotor"
        numbers = _positive(item, R=resistance, k=constant, L=inductance) | {
            "gear": finite_number(gear, item=item, field="gear")
        }
        if not numbers["gear"]:
            raise ModelError(item, "gear", gear, "give turns of the rotor for one of the hinge")
        _input(item, "voltage", voltage, "t", "s", "ds", "i", *(sources or {}))
        states = {"i": (finite_number(current, item=item, field="current"), "(voltage - R*i - gear*k*ds)/L")}
        super().__init__(
            "hinge",
            "gear*k*i",
            numbers,
            states,
            "L*i**2/2",
            {"voltage": voltage},
            active=True,
            inputs=sources or {},
        )


class HillMuscle(Element):
    """A muscle of Hill's type along the line between two markers; its tendon is rigid.

    Parameters
    ----------
    excitation : number or expression of t, s and ds, 0 to 1
    strength : float, N
        Largest isometric force F0.
    optimal_length : float, m
        Fibre length l0 at which it has that force.
    slack_length : float, m
        Length of the tendon; the fibre is the distance less this.
    fastest : float, 1/s
        Speed of shortening without load at full activation, in optimal lengths.
    rise, fall : float, s
        Time constants of activation and of its end.
    start : float
        Activation at the start, 0.01 to 1; the state is ``a``.
    sources : dict of str to source
        Further names that the excitation may use, as ``inputs`` of an `Element`: outputs, signals, sensors, laws, or
        numbers that are set during a run.

    The tension is F0 (a fl(l) fv(l') + fp(l)), with l = fibre length / l0:

    - activation a' = (u - a)/tau, tau = rise (1/2 + 3/2 a) if u > a, else fall/(1/2 + 3/2 a);
    - force-length fl = exp(-(l - 1)^2/0.45);
    - force-velocity, with w = l'/((1/4 + 3/4 a) fastest): Hill's hyperbola (1 + w)/(1 - 4 w) in shortening, none beyond
      w = -1, and in lengthening 1 + 10 w/(1 + 25 w), which ends at 1.4; the slope doubles at rest;
    - passive parallel spring fp = (exp(5 (l - 1)/0.6) - 1)/(exp(5) - 1) beyond the optimal length.

    Source: D. G. Thelen, "Adjustment of muscle mechanics model parameters to simulate dynamic contractions in older
    adults", J. Biomech. Eng. 125 (2003) 70-77, with his numbers for young adults: gamma = 0.45, A_f = 0.25, F_len =
    1.4, k_PE = 5, strain 0.6 at F0, 10 optimal lengths per second, time constants 15 and 50 ms. His muscle has a tendon
    that stretches and fibres at an angle; here the tendon is rigid and the fibres are in line, so that his (6), solved
    for the force, is fv. Ours: activation and excitation stay above 0.01. The hyperbola is that of A. V. Hill, Proc. R.
    Soc. B 126 (1938) 136-195, with a/F0 = A_f. The energy stored is that of the passive spring.
    """

    def __init__(
        self,
        excitation: Any,
        strength: float,
        optimal_length: float,
        *,
        slack_length: float = 0.0,
        fastest: float = 10.0,
        rise: float = 0.015,
        fall: float = 0.05,
        start: float = 0.01,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "HillMuscle"
        numbers = _positive(item, F0=strength, l0=optimal_length, vmax=fastest, rise=rise, fall=fall) | _not_negative(
            item, slack=slack_length
        )
        if not 0.01 <= finite_number(start, item=item, field="start") <= 1:
            raise ModelError(item, "start", start, "give an activation from 0.01 to 1")
        _input(item, "excitation", excitation, "t", "s", "ds", *(sources or {}))
        definitions = {
            "excitation": excitation,
            "u": "min(1, max(0.01, excitation))",
            "l": "(s - slack)/l0",
            "w": "max(-1, ds/(l0*vmax*(0.25 + 0.75*a)))",
            "stretch": "max(0, l - 1)",
            "fl": "exp(-(l - 1)**2/0.45)",
            "fv": "where(w < 0, (1 + w)/(1 - 4*min(w, 0)), 1 + 10*max(w, 0)/(1 + 25*max(w, 0)))",
            "fp": "(exp(5*stretch/0.6) - 1)/(exp(5) - 1)",
            "tau": "where(u > a, rise*(0.5 + 1.5*a), fall/(0.5 + 1.5*a))",
        }
        stored = "F0*l0*(0.12*(exp(5*stretch/0.6) - 1) - stretch)/(exp(5) - 1)"
        super().__init__(
            "distance",
            "-F0*(a*fl*fv + fp)",
            numbers,
            {"a": (float(start), "(u - a)/tau")},
            stored,
            definitions,
            active=True,
            inputs=sources or {},
        )


class HydraulicCylinder(Element):
    """A hydraulic cylinder between two markers, with the pressures of both chambers as states.

    Parameters
    ----------
    inflow : number or expression, m^3/s
        Into the chamber of the bore; may use t, s, ds and the pressures ``p1`` and ``p2``: a valve.
    outflow : number or expression, m^3/s
        Out of the chamber of the rod.
    area, rod_area : float, m^2
        Of the piston, and of the rod, by which the second chamber is smaller.
    stroke : (float, float) m
        Distance of the markers at both ends of the stroke.
    bulk_modulus : float, Pa
        Of the oil.
    dead_volume : float, m^3
        That each chamber keeps at its end of the stroke.
    pressure, rod_pressure : float, Pa
        At the start.
    friction : float, N s/m
    sources : dict of str to source
        Further names that flows may use, as ``inputs`` of an `Element`: outputs, signals, sensors, laws, or
        numbers that are set during a run.

    With volumes V1 = area (s - shortest) + dead, V2 = (area - rod) (longest - s) + dead:
    p1' = B (inflow - area ds)/V1, p2' = B ((area - rod) ds - outflow)/V2; the force is area p1 - (area - rod) p2 -
    friction ds. The energy stored is that of the oil under pressure, V (B (exp(p/B) - 1) - p) of
    each chamber, about V p^2/(2 B).
    """

    def __init__(
        self,
        inflow: Any,
        outflow: Any,
        area: float,
        rod_area: float,
        stroke: tuple[float, float],
        *,
        bulk_modulus: float = 1.4e9,
        dead_volume: float = 1e-5,
        pressure: float = 0.0,
        rod_pressure: float = 0.0,
        friction: float = 0.0,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = "HydraulicCylinder"
        if np.shape(stroke) != (2,):
            raise ModelError(item, "stroke", stroke, "give the shortest and the longest distance, m")
        shortest, longest = (finite_number(end, item=item, field="stroke") for end in stroke)
        if not 0 <= shortest < longest:
            raise ModelError(item, "stroke", stroke, "give the shortest and the longest distance, m")
        numbers = _positive(item, A1=area, B=bulk_modulus, V0=dead_volume) | _not_negative(
            item, rod=rod_area, c=friction
        )
        numbers |= {"short": shortest, "long": longest}
        if numbers["rod"] >= numbers["A1"]:
            raise ModelError(item, "rod_area", rod_area, f"it must be below the area of the piston, {area:.6g} m^2")
        for name, flow in (("inflow", inflow), ("outflow", outflow)):
            _input(item, name, flow, "t", "s", "ds", "p1", "p2", *(sources or {}))
        definitions = {
            "inflow": inflow,
            "outflow": outflow,
            "A2": "A1 - rod",
            "V1": "A1*(s - short) + V0",
            "V2": "A2*(long - s) + V0",
        }
        start, start_rod = (finite_number(p, item=item, field="pressure") for p in (pressure, rod_pressure))
        states = {
            "p1": (start, "B*(inflow - A1*ds)/V1"),
            "p2": (start_rod, "B*(A2*ds - outflow)/V2"),
        }
        stored = "V1*(B*(exp(p1/B) - 1) - p1) + V2*(B*(exp(p2/B) - 1) - p2)"
        force = "A1*p1 - A2*p2 - c*ds"
        super().__init__("distance", force, numbers, states, stored, definitions, active=True, inputs=sources or {})


class StateSpace(Element):
    """A linear system x' = A x + B u, y = C x + D u, from expressions u to the forces y.

    Parameters
    ----------
    A : (n, n), B : (n, m), C : (k, n), D : (k, m)
        State matrices, as from ``scipy.signal.tf2ss``; n may be 0. There are k forces: one at a hinge or along a
        distance, where C and D may be rows (n,) and (m,), three for a place, six for a pose.
    inputs : sequence of m expressions
        u, of the time t and of what is measured: ``["0.5 - s", "-ds"]`` at a hinge.
    measure : str
        ``"hinge"``, ``"distance"``, ``"place"`` or ``"pose"``.
    start : (n,)
        States at the start; zero if left out.
    sources : dict of str to source
        Further names that the inputs may use, as ``inputs`` of an `Element`: other outputs, sensors, laws of time.

    The states are ``x0``, ``x1`` ...; the forces are signals, too: ``y``, or ``y0``, ``y1`` ... What it does counts as
    work from outside.

    Examples
    --------
    >>> import dalembert as da
    >>> lag = da.StateSpace([[-10.0]], [[10.0]], [[50.0]], [[0.0]], ["0.3 - s"])  # 50/(0.1 p + 1) of an error
    >>> list(lag.states)
    ['x0']
    """

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike,
        D: ArrayLike,
        inputs: Sequence[Any] = ("s",),
        *,
        measure: str = "hinge",
        start: ArrayLike | None = None,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = self.kind
        one_of(item, "measure", measure, tuple(MEASURES))
        if isinstance(inputs, str) or not isinstance(inputs, Sequence):
            raise ModelError(item, "inputs", inputs, "give a sequence of expressions")
        measured, rates = MEASURES[measure]
        n, m, k = len(_matrix(item, "A", A)), len(inputs), len(measured)
        shapes = {"A": (n, n), "B": (n, m), "C": (k, n), "D": (k, m)}
        matrices = {}
        for name, given in (("A", A), ("B", B), ("C", C), ("D", D)):
            matrix = _matrix(item, name, given)
            if matrix.size != np.prod(shapes[name]) or (matrix.size and min(shapes[name]) > 1 < k != len(matrix)):
                raise ModelError(item, f"the shape of {name}", np.shape(given), f"give {shapes[name]}")
            matrices[name] = matrix.reshape(shapes[name])
        starts = np.zeros(n) if start is None else finite_array(start, (n,), item=item, field="start")
        for each in inputs:
            _input(item, "inputs", each, "t", *measured, *rates, *(sources or {}))

        def row(left: Any, right: Any) -> str:
            terms = [f"({c!r})*x{k}" for k, c in enumerate(left.tolist()) if c]
            terms += [f"({c!r})*u{k}" for k, c in enumerate(right.tolist()) if c]
            return " + ".join(terms) or "0"

        states = {f"x{i}": (float(starts[i]), row(matrices["A"][i], matrices["B"][i])) for i in range(n)}
        forces = tuple(row(matrices["C"][i], matrices["D"][i]) for i in range(k))
        definitions = {f"u{i}": each for i, each in enumerate(inputs)}
        signals = {f"y{i}" if k > 1 else "y": force for i, force in enumerate(forces)}
        super().__init__(
            measure, forces, {}, states, definitions=definitions, active=True, inputs=sources or {}, signals=signals
        )


class TransferFunction(StateSpace):
    """A transfer function from one expression to the force at a hinge or along a distance.

    Parameters
    ----------
    numerator, denominator : (m,), (n,)
        Coefficients of powers of p = d/dt, the highest first, as in ``scipy.signal``: ``([2.0], [0.1, 1.0])`` is
        2/(0.1 p + 1). The degree of the numerator is at most that of the denominator.
    input : expression
        Of the time t, the coordinate s and its rate ds.
    measure : str
        ``"hinge"`` or ``"distance"``.
    sources : dict of str to source
        Further names that the input may use, as of `StateSpace`.

    The states ``x0``, ``x1`` ... are those of the controllable canonical form, zero at the start: x0 is what the input
    drives, each other one the integral of that before.

    Examples
    --------
    >>> import dalembert as da
    >>> lead = da.TransferFunction([0.5, 10.0], [0.01, 1.0], "0.2 - s")
    >>> lead.answers([[0.0, 0.1, 0.0, 0.0]])[0, 0].round(6).item()  # at once: 50 times the error
    5.0
    """

    def __init__(
        self,
        numerator: ArrayLike,
        denominator: ArrayLike,
        input: Any = "s",
        *,
        measure: str = "hinge",
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        item = self.kind
        one_of(item, "measure", measure, ("hinge", "distance"))
        above, below = (
            np.trim_zeros(np.ravel(_matrix(item, name, given)), "f")
            for name, given in (("numerator", numerator), ("denominator", denominator))
        )
        if not len(below):
            raise ModelError(item, "denominator", denominator, "give at least one coefficient that is not zero")
        if len(above) > len(below):
            raise ModelError(
                item, "numerator", numerator, f"its degree must not be above that of the denominator, {len(below) - 1}"
            )
        n = len(below) - 1
        a, b = below[1:] / below[0], np.concatenate([np.zeros(n + 1 - len(above)), above]) / below[0]
        A = np.vstack([-a, np.eye(n)[:-1]]) if n else np.zeros((0, 0))
        B = np.eye(n, 1)
        super().__init__(A, B, b[None, 1:] - b[0] * a[None], [[b[0]]], [input], measure=measure, sources=sources)


def _matrix(item: str, name: str, given: ArrayLike) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        matrix = np.atleast_2d(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        matrix = np.full((1, 1), np.nan)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ModelError(item, name, given, "give a matrix of finite numbers")
    return matrix if matrix.size else matrix.reshape(0, 0)


def _input(item: str, field: str, expression: Any, *names: str) -> None:
    """Refuse an input that is no expression of the given names, default the time."""
    compile_expressions([expression], names or ("t",), item=f"{item}: {field}")


def _positive(item: str, **given: float) -> dict[str, float]:
    numbers = {name: finite_number(value, item=item, field=name) for name, value in given.items()}
    for name, value in numbers.items():
        if value <= 0:
            raise ModelError(item, name, value, "it must be positive")
    return numbers


def _not_negative(item: str, **given: float) -> dict[str, float]:
    numbers = {name: finite_number(value, item=item, field=name) for name, value in given.items()}
    for name, value in numbers.items():
        if value < 0:
            raise ModelError(item, name, value, "it must not be negative")
    return numbers
