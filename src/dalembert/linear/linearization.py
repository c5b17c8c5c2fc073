"""`linearize`: linear equations of a multibody system about a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array
from ..checks import checked
from ..closure.equations import RelativeEquations
from ..closure.scaled_equations import measures_of, ropes_of
from ..compile.contacts import left_out_notes
from ..connections.elements.element import Element
from ..connections.joints import Joint
from ..errors import DalembertError, ModelError
from ..model import Conditions, DynamicsDerivatives, Model, State
from ..system import System
from .inputs import changes_of
from .linear_system import LinearSystem
from .operating_point import operating_point, same_coordinates
from .outputs import OutputRows, read_outputs
from .state_constraints import StateConstraints
from .tangent import Tangent, smallest_singular_pair, tangent_space

__all__ = ["linearize"]


_PROBE_STEP, _STEADY_TOL = (
    1e-4,
    1e-3,
)  # step along the motion, rad or lengths; relative change of A per step that is noted
NEARLY_TOL = 1e-4  # singular value below which closure errors of 1e-12 change the coefficients by 1e-4
KNOT_STEP = 1e-6  # rad or lengths to either side of the state, to detect knots
KINK_TOL = 1e-2  # of the largest slope: change of slope across the step that no curvature explains
MAX_KINK_STATES = 200  # states up to which laws are evaluated at neighbouring states
EQUILIBRIUM_TOL = 1e-6  # rad or lengths of distance from an equilibrium beyond which a note is added


@checked("inputs", "independent_coordinates")
def linearize(
    system: System | Model,
    state: Any = None,
    inputs: str | Sequence[str] | None = None,
    outputs: str | Callable[[State], Any] | Sequence[Any] | None = None,
    *,
    t: float | None = None,
    independent_coordinates: Sequence[str] | None = None,
    independent_velocities: Sequence[str] | None = None,
    conditions: Conditions | None = None,
) -> LinearSystem:
    """Linearize a system about a state, including loops, drives and element states.

    Parameters
    ----------
    system : System or Model
    state : State, dict of name to value, Result, or an equilibrium
        Default the start state of the system, with closed loops. It need not be at rest.
    inputs : names
        Inputs of elements (``"motor.u"``, ``"wind.fx"``), by default all of them; joint forces (``"A.effort"``), loads
        in world axes (``"arm.tip.force.x"``, ``"arm.moment.z"``), drives (``"A.position"``, ``"A.speed"``,
        ``"A.acceleration"``: three inputs), parameters (``"k.stiffness"``).
    outputs : names, or functions of a `State`
        Any output of a `Result`: ``"arm.tip.position.x"``, ``"D.force"``. Default the independent states.
    t : float, s
        Time at which time laws are evaluated; of a `Result`, the time of the state, default the last.
    independent_coordinates : names of coordinates
        Coordinates of the equations; default those with driven velocities, then those chosen by pivoting.
    independent_velocities : names of velocities
        The independent ones among them, if wheels, skates or drives constrain velocities only.
    conditions : Conditions
        Locked joints, control, other parameters: ``model.conditions(...)``.

    Returns
    -------
    LinearSystem
        `M`, `damping`, `stiffness`, `A`, `B`, `C`, `D`, `eigenvalues`, and their names; `print` shows a summary.

    Raises
    ------
    AssemblyError
        If the state violates loops or drives.
    SingularityError
        If the configuration is singular, or the named coordinates do not determine it.

    Examples
    --------
    Two hanging pendulums of length 1 m and 4 m:

    >>> import dalembert as da
    >>> s = da.System("pendulums")
    >>> for name, length in (("short", 1.0), ("long", 4.0)):
    ...     bob = s.body(name, mass=2.0, inertia=(1e-9, 1e-9, 1e-9))
    ...     _ = s.connect(f"P_{name}", da.Revolute("y"), s.ground, bob.at(0, 0, length))
    >>> lin = da.linearize(s)
    >>> lin.coordinates, lin.stiffness.round(3)
    (('P_short', 'P_long'), array([[19.62,  0.  ],
           [ 0.  , 78.48]]))
    >>> np.sort(abs(lin.eigenvalues.imag)).round(4)
    array([1.566 , 1.566 , 3.1321, 3.1321])
    """
    at = operating_point(system, state, t, conditions)
    space = tangent_space(
        at.model,
        at.state,
        independent_coordinates=independent_coordinates,
        independent_velocities=independent_velocities,
        **at.under,
    )
    return linear_at(space, inputs, outputs, notes=at.notes)


def linear_at(
    space: Tangent,
    inputs: str | Sequence[str] | None = None,
    outputs: Any = None,
    *,
    notes: Sequence[str] = (),
    d: DynamicsDerivatives | None = None,
) -> LinearSystem:
    """Return the linear equations in the coordinates of a tangent space; `d`: precomputed derivatives."""
    model = space.model
    names = list(model.input_names) if inputs is None else [inputs] if isinstance(inputs, str) else list(inputs)
    changes = changes_of(space, names)
    parameters = [change.parameter for change in changes if change.parameter]
    d = space.derivatives(parameters) if d is None else d
    A = space.reduce(d)
    B = np.zeros((space.size, len(changes)))
    for k, change in enumerate(changes):
        y, a, x = change.rates(space, d, parameters)
        B[:, k] = np.concatenate([y, a[space.speeds], x])
    states = space.state_names
    if outputs is None:
        units = tuple(_state_units(space))
        read = OutputRows(
            states, units, np.eye(len(states)), np.zeros((len(states), len(changes))), np.ones(len(states), bool)
        )
    else:
        if not (isinstance(outputs, (str, Iterable)) or callable(outputs)):
            raise ModelError("linearize", "outputs", outputs, "give names of outputs, or functions of a State")
        wanted = [outputs] if isinstance(outputs, str) or callable(outputs) else list(outputs)
        read = read_outputs(space, d, wanted, changes)
    every = [
        *notes,
        *_uncertain(space),
        *(note_not_in_equilibrium(space, A) or note_time_varying(space, A)),
        *_note_dry_friction(model),
        *left_out_notes(model.contacts),
        *_on_stops(space),
        *_at_knots(space),
    ]
    return LinearSystem(space, A, B, tuple(changes), read, tuple(every))


def _uncertain(space: Tangent) -> list[str]:
    """Return a note if the configuration is so close to a singular one that closure errors affect A."""
    rows = StateConstraints.of(space.model, space.conditions, float(space.state.t))
    if not space.model.nc:
        return []
    least = smallest_singular_pair(rows.loops.jacobian(space.state.q)[rows.placing][:, ~rows.placed])[0]
    if least >= NEARLY_TOL:
        return []
    return [
        f"the position is nearly singular (smallest singular value of the loops {least:.1e}): closure errors of about "
        "1e-12 change the coefficients by about 1e-12 over its square; see da.mobility"
    ]


def _state_units(space: Tangent) -> list[str]:
    units = space.model.compiled.names.speed_units
    rates = [f"{units[k]}/s" if units[k] != "1" else "1/s" for k in space.speeds]
    return [*(units[k] for k in space.positions), *rates, *("" for _ in space.model.state_names)]


def _note_dry_friction(model: Model) -> list[str]:
    """Return a note if joints have dry friction, which has no derivative at zero velocity."""
    elements = {joint.name: joint.element for joint in model.forest.joints}
    loop_constraints = {
        loop_constraint.name: loop_constraint.element
        for loop_constraint in model.forest.loop_constraints
        if isinstance(loop_constraint.element, Joint)
    }
    dry = [
        name
        for name, each in (elements | loop_constraints).items()
        if each.friction is not None or each.load_friction is not None
    ]
    if not dry:
        return []
    return [f"dry friction of {', '.join(map(repr, dry[:6]))} is ignored; lock joints that stick (conditions=)"]


def _on_stops(space: Tangent) -> list[str]:
    """Return a note if coordinates are at their stops, or ropes are taut, where no derivative exists."""
    equations, q = RelativeEquations(space.model), space.state.q
    bounded = [*measures_of(equations).values(), *ropes_of(equations)]
    on = [
        m.name
        for m in bounded
        for bound in (m.lower, m.upper)
        if np.isfinite(bound) and abs(float(m.values(q)) - bound) <= 1e-9 * m.scale
    ]
    if not on:
        return []
    return [
        f"{', '.join(map(repr, on[:6]))} at its stop: the linear equations are those without; lock it (conditions=), "
        "or replace a taut rope by a da.Distance"
    ]


def _at_knots(space: Tangent) -> list[str]:
    """Return a note if laws have different slopes on both sides of the state, as at knots and switching points."""
    model, s, n = space.model, space.state, space.size
    owners = [name for name, each in model.system.forces.items() if isinstance(each.element, Element)]
    if not owners or not 0 < n <= MAX_KINK_STATES:
        return []
    xi, dv, dx = (part.T for part in space.directions)
    sides, still = np.array([1.0, -1.0, 0.0]), np.zeros((1, n))
    along = KNOT_STEP * np.vstack([sides[0] * np.eye(n), sides[1] * np.eye(n), still])
    shift = along * np.concatenate([_scales(space), np.ones(model.nx)])
    q = model.integrate(np.repeat(s.q[None], len(shift), axis=0), shift @ xi)
    states = {"t": np.full(len(q), float(s.t)), "x": s.x + shift @ dx}
    inputs = None if space.inputs is None else np.broadcast_to(space.inputs, (len(q), len(space.inputs)))
    number = _core.report_parts.index("forces")
    how: dict[str, Any] = {**states, "conditions": space.conditions, "inputs": inputs}
    try:
        forces = model._report([number], q, s.v + shift @ dv, **how)[0]
    except DalembertError:  # a Python function that raises at a neighbouring state
        return []
    up, down, here = forces[:n], forces[n : 2 * n], forces[2 * n]
    rise, fall = (up - here) / KNOT_STEP, (here - down) / KNOT_STEP
    size = max(float(np.abs(part[np.isfinite(part)]).max(initial=0.0)) for part in (rise, fall))
    size = max(size, float(np.abs(here[np.isfinite(here)]).max(initial=0.0)), 1e-300)
    kinked = (~np.isfinite(rise - fall) | (np.abs(rise - fall) > KINK_TOL * size)).any(axis=0)
    places = model.compiled.elements.indices
    names = [name for name in owners if kinked[places[name].measures].any()]
    if not names:
        return []
    return [
        f"the law of {', '.join(map(repr, names[:6]))} has a knot, an end of a table or a switching point here: "
        "derivatives are one-sided"
    ]


def _scales(space: Tangent) -> Array:
    D = np.asarray(space.model.compiled.tables["column_scale"])
    return np.concatenate([D[space.positions], D[space.speeds]])


def note_time_varying(space: Tangent, A: Array) -> list[str]:
    """Return a note if A changes along the motion, so that its eigenvalues do not describe stability."""
    model, s = space.model, space.state
    pace = float(np.abs(s.v / model.compiled.tables["column_scale"]).max(initial=0.0))
    if not pace or not len(A):
        return []
    h = _PROBE_STEP / pace
    found = model.dynamics(s.t, s.q, s.v, s.x, **space.under)
    later = State(model.integrate(s.q, h * s.v), s.v + h * found.a, s.t, s.x)
    try:
        there = tangent_space(model, later, **same_coordinates(space), **space.under)
        change = np.abs(there.reduce(there.derivatives()) - A).max() / (_PROBE_STEP * max(float(np.abs(A).max()), pace))
    except DalembertError:
        return []
    if change < _STEADY_TOL:
        return []
    return [
        "the coefficients change along the motion: eigenvalues hold for a frozen instant. If the motion is steady, "
        "describe it by joints whose coordinates do not turn with the bodies; if periodic, use da.floquet"
    ]


def note_not_in_equilibrium(space: Tangent, A: Array | None = None) -> list[str]:
    """Return a note if the independent velocities or element states change: the state is no equilibrium.

    The limit depends on A, the matrix of the independent states, if given.
    """
    model, s = space.model, space.state
    found = model.dynamics(s.t, s.q, s.v, s.x, **space.under)
    a = found.a[space.speeds]
    D = model.compiled.tables["column_scale"][space.speeds]
    n, m = space.ny, space.ny + space.nz
    size, pace = (
        1.0 if A is None else max(1.0, float(np.abs(A[k:last]).max(initial=0.0))) for k, last in ((n, m), (m, None))
    )
    worst = int(np.abs(a / D).argmax()) if len(a) else 0
    notes = []
    if len(a) and abs(a[worst] / D[worst]) > EQUILIBRIUM_TOL * size:
        k = space.speeds[worst]
        unit = model.compiled.names.speed_units[k]
        notes.append(
            f"no equilibrium: {model.speed_names[k]!r} accelerates by {a[worst]:.4g} {unit}/s2 at this state; "
            "eigenvalues then depend on the coordinates"
        )
    if len(found.dx):
        worst = int(np.abs(found.dx).argmax())
        if abs(found.dx[worst]) > EQUILIBRIUM_TOL * pace:
            notes.append(
                f"no equilibrium: {model.state_names[worst]!r} changes by {found.dx[worst]:.4g} /s at this state"
            )
    return notes
