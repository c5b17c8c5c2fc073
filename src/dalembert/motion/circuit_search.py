"""Circuit search: all connected sets of closed configurations of a one-DOF mechanism.

A circuit consists of smooth paths (see `continuation`) that meet at bifurcations. To change the circuit, a mechanism
has to be disassembled. Within a circuit it can be moved, though not always by its input: at dead points the input
reverses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import checked, finite_number, random_generator
from ..closure.assembly import assemble, given_coordinates, given_time
from ..closure.branch_search import all_closed_configurations, distinct_configurations
from ..closure.continuation.arclength import PathTracer
from ..closure.continuation.bifurcation import BifurcationPoint, locate_bifurcation
from ..closure.continuation.solution_path import Path
from ..closure.driven.prescribed_velocities import Prescribed
from ..closure.equations import Equations, RelativeEquations
from ..closure.scaled_equations import CoordinateMeasure, ScaledEquations, held_values, measures_of, named
from ..connections.joints import Revolute
from ..errors import AssemblyError, ModelError
from ..model import Model, State, as_model
from ..model.argument_errors import checked_configuration
from ..model.state import StateLike
from ..numerics.least_squares import levenberg_marquardt
from ..system import System
from .angle_periods import cycle_of
from .circuit import Circuit, Circuits
from .special_configurations import Bifurcation

__all__ = ["circuits"]


_N_SCAN_VALUES = 24  # values of one coordinate at which all assemblies are searched
N_STARTS = 240
_MAX_PATHS = 60
_N_WIDE_STARTS = 8  # starts examined in sets with several degrees of freedom
_MAX_DIRECTIONS = 16  # largest number of directions at a bifurcation


@checked("input", "hold", "limits", "state", "seed")
def circuits(
    system: System | Model | Equations,
    input: str | None = None,
    *,
    hold: str | Iterable[str] | Mapping[str, Any] = (),
    limits: bool = False,
    state: StateLike | None = None,
    t: float | None = None,
    max_step: float = 0.12,
    max_arclength: float | None = None,
    seed: np.random.Generator | int | None = None,
) -> Circuits:
    """Return all circuits of a mechanism with one degree of freedom, with drives released.

    Parameters
    ----------
    system : System, Model or Equations
    input : str
        The input coordinate; default the first that moves.
    hold : names, or dict of name to value
        Coordinates that keep their value at the start (or the one given), rad or m: all degrees of freedom of the
        mechanism except one.
    limits : bool
        End paths at the stops of joints (`lower`, `upper`).
    state : State, dict of name to value, or (nq,) rad or m
        A configuration to start from; the start values if left out. Its circuit comes first.
    t : float, s
        Time, for explicit time dependence; default that of a `State`, else 0.
    max_step : float
        Largest change of a coordinate between two stored configurations, rad or lengths of the mechanism.
    max_arclength : float
        Arclength after which a path that has not closed is abandoned, rad and lengths of the mechanism. Default 400, or
        the period of geared wheels.
    seed : numpy Generator or seed
        Generator or seed of the random starts; default seed 0, so that results are reproducible.

    Returns
    -------
    Circuits

    Raises
    ------
    ModelError
        If the mechanism has no degree of freedom, or more than one.
    AssemblyError
        If it cannot be closed.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> found = da.circuits(four_bar(), "A")
    >>> len(found), [circuit.has_full_rotation for circuit in found]
    (2, [True, True])
    """
    t = given_time(state, t, item="circuits")
    random = random_generator(0 if seed is None else seed, item="circuits", field="seed")
    equations, closed, first, problem = _closed(system, hold, state, t)
    known = measures_of(equations)
    stops = [m for m in known.values() if np.isfinite(m.lower) or np.isfinite(m.upper)] if limits else []
    tracer = PathTracer(
        closed,
        stops,
        largest=_positive(max_step, "max_step"),
        length=400.0 if max_arclength is None else _positive(max_arclength, "max_arclength"),
    )
    scan = None if input is None else named(known, input, item="circuits", field="input")
    if input is not None and input in ([hold] if isinstance(hold, str) else list(hold)):
        raise ModelError("circuits", "hold", input, "this is the input and must move: hold another coordinate")
    seeds = _seeds(tracer, first, scan, random)
    if not len(seeds):
        raise problem or ModelError("circuits", "system", equations, "no closed configuration was found")
    _refuse_other_mobility(tracer, seeds, equations)
    within = [seed for seed in seeds if all(_within(m, seed) for m in stops)]
    if not within:
        names = ", ".join(f"{m.name} {m.lower:.6g} to {m.upper:.6g}" for m in stops)
        raise ModelError("circuits", "limits", True, f"no closed configuration was found within the stops ({names})")
    cycle = cycle_of(tracer, within, known)
    if cycle is not None:
        tracer.reason = f": {cycle.reason}"
        if max_arclength is None and cycle.affordable:
            tracer.length = max(tracer.length, 1.5 * cycle.length)
    paths, meetings, joined, wide = _all_paths(tracer, within)
    return _gathered(equations, tracer, known, scan, paths, meetings, joined, wide)


def _positive(value: Any, field: str) -> float:
    number = finite_number(value, item="circuits", field=field)
    if number <= 0:
        raise ModelError("circuits", field, value, "give a positive number")
    return number


def _within(measure: CoordinateMeasure, q: Array) -> bool:
    value = float(measure.values(q))
    return measure.lower - 1e-9 <= value <= measure.upper + 1e-9


def _closed(
    system: System | Model | Equations, fixed: Any, state: StateLike | None, t: float
) -> tuple[Equations, ScaledEquations, Array, Exception | None]:
    """Return equations, scaled equations, a closed start, and the error that prevented closing."""
    problem: Exception | None = None
    if not isinstance(system, (System, Model, RelativeEquations)):
        if not hasattr(system, "acceleration_terms"):
            raise ModelError("circuits", "system", system, "give a System, a Model or closure equations")
        if state is None or isinstance(state, Mapping):
            raise ModelError("circuits", "state", state, "give coordinates near a closed configuration")
        first = np.asarray(state.q if isinstance(state, State) else state, dtype=float)
        return system, ScaledEquations(system, held_values(system, first, fixed, item="circuits"), t), first, None
    model = system.model if isinstance(system, RelativeEquations) else as_model(system)
    _refuse_no_length(model)
    if not model.nc:
        raise ModelError(
            "circuits", "system", model.system.name, f"it has no loops, and {model.nv} degrees of freedom: draw it"
        )
    equations = RelativeEquations(model, driven=False)
    q = given_coordinates(model, state, item="circuits", t=t)
    first = model.initial_state().q if q is None else checked_configuration(model, "circuits", q)
    holding = dict(fixed) if isinstance(fixed, Mapping) else dict.fromkeys([fixed] if isinstance(fixed, str) else fixed)
    try:
        first = assemble(model, state=q, hold=holding, t=t).q
    except AssemblyError as error:
        problem = error
    held = held_values(equations, first, holding, item="circuits")
    return equations, ScaledEquations(equations, held, t, Prescribed.of(model).clocks), first, problem


def _seeds(tracer: PathTracer, first: Array, scan: CoordinateMeasure | None, random: np.random.Generator) -> Array:
    """Return closed configurations (k, nq): one near the first, all at some values of a coordinate, and random ones."""
    closed = tracer.closed
    columns = np.flatnonzero(tracer.free)
    kicks = random.uniform(-np.pi, np.pi, (N_STARTS, closed.nv)) * tracer.free
    kicks[0] = 0.0
    starts = closed.retract(np.broadcast_to(first, (N_STARTS, len(first))), kicks)
    found, worst = levenberg_marquardt(closed, starts, [(np.arange(closed.rows), columns)])
    found = found[worst[:, 0] < 1e-9]
    held = ~tracer.free
    column = scan.column if scan is not None and scan.column >= 0 else int(columns[0])
    held[column] = True
    if closed.periods[column] > 0:
        shifts = np.linspace(-np.pi, np.pi, _N_SCAN_VALUES, endpoint=False) + 0.37 * np.pi / _N_SCAN_VALUES
    elif len(found):
        offsets = closed.difference(first, found)[:, column]
        low, high = np.quantile(offsets, (0.0, 1.0))
        shifts = low + (high - low) * (np.arange(_N_SCAN_VALUES) + 0.5) / _N_SCAN_VALUES
    else:
        shifts = np.zeros(0)
    if len(shifts):
        away = np.zeros((len(shifts), closed.nv))
        away[:, column] = shifts
        parents = closed.retract(np.broadcast_to(first, (len(shifts), len(first))), away)
        found = np.concatenate([found, all_closed_configurations(closed, parents, held, random)])
    exact = [tracer.closest(q) for q in found[closed.genuine(found)]]
    seeds = np.array([q for q in exact if q is not None]).reshape(-1, len(first))
    if len(seeds):
        seeds = seeds[distinct_configurations(closed, seeds)[0]]
    return seeds


def _refuse_other_mobility(tracer: PathTracer, seeds: Array, equations: Equations) -> None:
    """Raise an error for a mechanism whose number of degrees of freedom is not one."""
    numbers = [tracer.nullity(q) for q in seeds[:12]]
    least = min(numbers)
    if least == 1:
        return
    name = equations.model.system.name if isinstance(equations, RelativeEquations) else "mechanism"
    if least == 0:
        remedy = f"the mechanism cannot move with {len(tracer.closed.held)} coordinates held: release one"
        raise ModelError("circuits", "system", name, remedy)
    q = seeds[int(np.argmin(numbers))]
    spot = locate_bifurcation(tracer, tracer.evaluate(q), along=False)
    if spot is not None and not len(spot.directions):
        remedy = (
            f"it closes at single configurations only, where {least} motions exist to first order: check the lengths"
        )
        raise ModelError("circuits", "system", name, remedy)
    Vt = np.linalg.svd(tracer.closed.jacobian(q))[2][-least:]
    moving = [n for n, x in zip(equations.speed_names, np.abs(Vt).max(0), strict=True) if x > 1e-6]
    remedy = (
        f"it has {least} degrees of freedom, and circuits are of mechanisms with one: hold {least - 1} of "
        f"{', '.join(moving[:8])} by hold=..."
    )
    raise ModelError("circuits", "system", name, remedy)


def _refuse_no_length(model: Model) -> None:
    """Raise an error for a body between two coaxial revolutes, which turns by itself."""
    for body in model.system.bodies.values():
        ends = [
            (connection, end)
            for connection in model.system.connections.values()
            for end in (connection.first, connection.second)
            if end.body is body
        ]
        if len(ends) != 2 or not all(isinstance(connection.element, Revolute) for connection, _ in ends):
            continue
        (one, first), (two, second) = ends
        away = second.position - first.position
        axes = [end.rotation @ connection.element.axis for connection, end in ends]  # type: ignore[union-attr]
        off = float(np.linalg.norm(np.cross(away, axes[0])))
        if off < 1e-9 * model.length and float(np.linalg.norm(np.cross(*axes))) < 1e-9:
            raise ModelError(
                f"body {body.name!r}",
                f"the distance of {one.name} and {two.name}",
                off,
                "both turn about one axis, so it turns by itself: give the link a length, or leave it out",
            )


def _all_paths(
    tracer: PathTracer, seeds: list[Array]
) -> tuple[list[Path], list[BifurcationPoint], list[set[int]], int]:
    """Return all paths, bifurcations, the paths that meet there, and the number of starts with several DOF."""
    closed = tracer.closed
    paths: list[Path] = []
    meetings: list[BifurcationPoint] = []
    joined: list[set[int]] = []
    left, wide = np.array(seeds), 0
    queue: list[tuple[Array, int | None]] = []
    while (queue or len(left)) and len(paths) < _MAX_PATHS:
        if not queue:
            queue, left = [(left[0], None)], left[1:]
        q, origin = queue.pop(0)
        known = next((k for k, path in enumerate(paths) if tracer.on(path, q) is not None), None)
        if known is not None:
            if origin is not None:
                joined[origin].add(known)
            continue
        if tracer.nullity(q) > 1:  # the seed is a bifurcation itself
            spots = [locate_bifurcation(tracer, tracer.evaluate(q), along=False)] if wide < _N_WIDE_STARTS else [None]
        else:
            paths.append(tracer.trace(q))
            left = left[~tracer.strewn(paths[-1], left)]
            if origin is not None:
                joined[origin].add(len(paths) - 1)
            spots = [locate_bifurcation(tracer, point) for point in paths[-1].singular]
        for spot in spots:
            if spot is None:
                continue
            if len(spot.directions) > _MAX_DIRECTIONS:  # part of a set with more degrees of freedom
                wide += 1
                continue
            near = [float(np.abs(closed.difference(m.q, spot.q)).max()) < 1e-4 for m in meetings]
            number = near.index(True) if any(near) else len(meetings)
            if number == len(meetings):
                meetings.append(spot)
                joined.append(set())
                for direction in spot.directions:
                    seed = _off(tracer, spot.q, direction)
                    if seed is not None:
                        queue.insert(0, (seed, number))
            if tracer.nullity(q) == 1:
                joined[number].add(len(paths) - 1)
    return paths, meetings, joined, wide


def _off(tracer: PathTracer, q: Array, direction: Array) -> Array | None:
    """Return a closed configuration near a bifurcation, in one of its directions."""
    for h in (0.02, 0.005, 0.001):
        found = tracer.correct(tracer.closed.retract(q, h * direction), direction)
        if found is not None and float(np.linalg.norm(tracer.closed.difference(q, found[0]))) < 2 * h:
            return found[0]
    return None


def _gathered(
    equations: Equations,
    tracer: PathTracer,
    known: dict[str, CoordinateMeasure],
    scan: CoordinateMeasure | None,
    paths: list[Path],
    meetings: list[BifurcationPoint],
    joined: list[set[int]],
    wide: int,
) -> Circuits:
    """Return circuits: paths connected by bifurcations."""
    owner = list(range(len(paths)))
    for group in joined:
        numbers = {owner[k] for k in group}
        owner = [min(numbers) if own in numbers else own for own in owner]
    measure = scan if scan is not None else _leading(tracer, known, paths)
    held = {m.name for m in tracer.closed.held}
    moving = {name: m for name, m in known.items() if name not in held}
    found = []
    for number in dict.fromkeys(owner):
        mine = [k for k, own in enumerate(owner) if own == number]
        spots = [
            Bifurcation(
                m.q,
                measure.wrap(float(measure.values(m.q))),
                m.mobility,
                tuple(mine.index(k) for k in sorted(group)),
                m.directions,
            )
            for m, group in zip(meetings, joined, strict=True)
            if group & set(mine)
        ]
        found.append(Circuit(tracer, [paths[k] for k in mine], spots, measure, moving))
    alone = [
        Bifurcation(m.q, measure.wrap(float(measure.values(m.q))), m.mobility, (), m.directions)
        for m, group in zip(meetings, joined, strict=True)
        if not group
    ]
    model = equations.model if isinstance(equations, RelativeEquations) else None
    return Circuits(found, measure, model, tracer, isolated=alone, wide=wide > 0)


def _leading(tracer: PathTracer, known: dict[str, CoordinateMeasure], paths: list[Path]) -> CoordinateMeasure:
    """Return the first coordinate that moves."""
    v = paths[0].tangents * tracer.closed.scales
    for measure in known.values():
        if float(np.abs(measure.rates(paths[0].q, v)).max()) > 1e-6 * measure.scale:
            return measure
    return next(iter(known.values()))
