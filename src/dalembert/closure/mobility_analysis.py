"""Mobility analysis: DOF by counting and by rank, redundant rows, and motions by name.

Counting (Grübler and Kutzbach) supposes that every closure row is independent: nv - nc. The true mobility is
nv - rank P at a closed configuration (Sol 1983, section 8.2). The difference is the number of redundant rows, which
repeat other rows.

Motions prescribed by time are treated separately. The clock of a rheonomic joint is not a degree of freedom. Drives of
joints and of constraints are released for the mobility, which is what they may prescribe; the DOF that they leave are
counted afterwards. Nonholonomic rows (a skate) reduce the mobility, not the dimension of the closed configurations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..answer import Answer, count_text
from ..arrays import Array, BoolArray
from ..checks import checked
from ..model import Model, as_model
from ..model.argument_errors import checked_configuration
from ..model.drive_targets import drive_targets
from ..model.state import StateLike
from ..numerics.rank import null_space, singular_values
from ..system import System
from .assembly import assemble, given_coordinates, given_time
from .driven.driven_state import driven_positions
from .driven.prescribed_velocities import Prescribed
from .loop_equations import LoopEquations, LoopLinearization
from .named_velocities import named_velocities
from .nearby_configurations import general_mobility
from .planar_count import planar_count
from .redundancy import connections_sharing_load, loop_connections
from .ungrounded_parts import find_ungrounded_parts

__all__ = ["Mobility", "mobility"]


NEARLY_TOL = 1e-4
"""Scaled singular values below this that are not zero (see `CLOSED_RANK_TOL`) are reported as nearly singular. Closing
to 1e-12 leaves 1e-6 of noise in a singular position."""

MOST_ROWS = 300  # of which singular values are computed for the report


@dataclass(frozen=True, eq=False, repr=False)
class Mobility(Answer):
    """Mobility of a system at a configuration; printable.

    Attributes
    ----------
    mobility : int
        Independent instantaneous motions at `q`, with drives released: nv - rank P, clocks not counted.
    configuration_dimension : int
        Dimension of the closed configurations around `q`, with drives released: more than `mobility` with nonholonomic
        rows. A skate has 3 and 2.
    driven_mobility : int
        Independent motions that the drives leave.
    redundant_drives : tuple of str
        Drives without which the same number of motions would be left: too many, or at a dead point.
    gruebler : int
        The count of degrees of freedom minus closure rows, 6 nb - sum of (6 - degrees of freedom) over all connections,
        with drives released.
    planar : int or None
        The same count in the plane, 3 nb - sum of (3 - degrees of freedom), if the system moves in one.
    redundant : dict of str to int
        Number of closure rows of a connection that repeat others; connections without any are left out.
    redundant_rows : dict of str to tuple of str
        These rows: ``{"D": ("z", "tilt_x", "tilt_y")}``. The choice is not unique.
    shared : dict of str to tuple of str
        The connections among which the redundancy of a connection is shared, itself included: their reactions are
        not unique.
    rank : int
    motions : list of dict of str to float
        A basis of the instantaneous motions: velocities by name, rad/s or m/s, the leading one 1; others are zero.
    permanent : bool
        True if closed configurations nearby have the same mobility; False for an isolated singular configuration.
    general : int
        Mobility at the configurations nearby.
    loops : tuple of tuple of str
        Connections around each independent loop, the one at which it was cut last.
    q : (nq,) rad or m
        The closed configuration that was examined.
    t : float, s
    model : Model
    notes : tuple of str
        Further warnings: modes of flexible bodies that do not match their connections (`System.check`).
    """

    mobility: int
    configuration_dimension: int
    driven_mobility: int
    redundant_drives: tuple[str, ...]
    gruebler: int
    planar: int | None
    redundant: dict[str, int]
    redundant_rows: dict[str, tuple[str, ...]]
    shared: dict[str, tuple[str, ...]]
    rank: int
    motions: list[dict[str, float]]
    permanent: bool
    general: int
    loops: tuple[tuple[str, ...], ...]
    q: Array = field(repr=False)
    t: float = field(repr=False)
    model: Model = field(repr=False)
    notes: tuple[str, ...] = ()

    def determines(self, names: str | Iterable[str]) -> bool:
        """Return True if prescribing these coordinates, and no others, determines all velocities.

        False for an unsuitable choice, such as the rocker of a four-bar at its dead point, although the rank of the
        closure equations is full there (Sol 1983, section 8.3; erratum: the text takes the one for the other).
        """
        model = self.model
        chosen = named_velocities(model, names, item="determines")
        if len(chosen) != self.mobility:
            return False
        prescribed = Prescribed.of(model)
        loops = LoopEquations.of(model, t=self.t).without(prescribed.rows)
        N = null_space(loops.jacobian(self.q), free=~prescribed.clocks)
        moved = np.vstack(
            [N[chosen.columns], chosen.cut_scales[:, None] * (chosen.cut_rows(self.q) * loops.column_scales) @ N]
        )
        return bool(np.linalg.svd(moved, compute_uv=False).min(initial=1.0) > NEARLY_TOL)

    @cached_property
    def singular_values(self) -> Array:
        """Singular values of the dimensionless closure Jacobian, largest first, (min(nc, nv),)."""
        prescribed = Prescribed.of(self.model)
        let_go = prescribed.rows | ~self.model.compiled.names.closing
        loops = LoopEquations.of(self.model, t=self.t).without(let_go)
        return singular_values(loops.jacobian(self.q)[:, ~prescribed.clocks])

    @property
    def verdict(self) -> str:
        """Assessment of the rank, from the singular values; in large models from what is left of each row."""
        if self.model.nc > MOST_ROWS and LoopLinearization.is_available(self.model) and self.rank:
            return self._verdict_on_rows()
        s = self.singular_values
        if not s.size:
            return "no closure rows: the system is a tree"
        if not self.rank:
            return "all singular values are zero: the closure rows constrain no motion"
        smallest = s[self.rank - 1]
        zeros = f", then {s[self.rank]:.1e}" if self.rank < len(s) else ""
        text = f"singular values {s[0]:.4g} to {smallest:.4g}{zeros}"
        if smallest < NEARLY_TOL * max(1.0, s[0]):
            return f"{text}: nearly singular, close to a position with mobility {self._nearby_mobility()}"
        return f"{text}: rank {self.rank} is clear"

    def _verdict_on_rows(self) -> str:
        prescribed = Prescribed.of(self.model)
        let_go = prescribed.rows | ~self.model.compiled.names.closing
        loops = LoopEquations.of(self.model, t=self.t).without(let_go)
        parts = loops.independent_parts(self.q, ~prescribed.clocks)
        kept = parts[parts > 0.0]
        text = f"of each independent row at least {kept.min():.4g} of its lever arms is left beside the others"
        if kept.min() < NEARLY_TOL:
            near = self.mobility + int((kept < NEARLY_TOL).sum())
            return f"{text}: nearly singular, close to a position with mobility {near}"
        return f"{text}: rank {self.rank} is clear"

    def _nearby_mobility(self) -> int:
        near = self.singular_values[: self.rank] < NEARLY_TOL * max(1.0, self.singular_values[0])
        return self.mobility + int(near.sum())

    def _headline(self) -> str:
        number = sum(self.redundant.values())
        return f"mobility {self.mobility}, Grübler count {self.gruebler}, {count_text(number, 'redundant row')}"

    def _repr_html_(self) -> str:
        """Show a sketch and the report in a notebook."""
        from ..view.notebook import report_html

        return report_html(self)

    def __str__(self) -> str:
        model = self.model
        counts = f"{_count(model.nb, 'body', 'bodies')}, {_count(len(model.system.connections), 'connection')}"
        lines = [f"system {model.system.name!r}: {counts}, {_count(len(self.loops), 'loop')}"]
        lines += [f"  loop closed by {loop[-1]}: {', '.join(loop)}" for loop in self.loops[:12]]
        if len(self.loops) > 12:
            lines.append(f"  ... and {len(self.loops) - 12} more")
        flat = "" if self.planar is None else f", in the plane {self.planar}"
        lines.append(f"mobility {self.mobility}, Grübler-Kutzbach count {self.gruebler} ({self._explained()}){flat}")
        lines += self._positions_text()
        lines += find_ungrounded_parts(model.system)
        for name, number in self.redundant.items():
            owners = zip(model.constraint_connections, model.compiled.names.closing, strict=True)
            total = sum(owner == name and bool(closes) for owner, closes in owners)
            others = [other for other in self.shared[name] if other != name]
            repeat = f"repeat what {', '.join(others)} already demand" + "s" * (len(others) == 1)
            lines.append(
                f"  connection {name}: {number} of {total} rows {repeat} ({', '.join(self.redundant_rows[name])})"
            )
        lines += self._drives_text()
        lines.append(self.verdict)
        lines += [f"motion {k}: {_motion_text(motion)}" for k, motion in enumerate(self.motions[:12], start=1)]
        if len(self.motions) > 12:
            lines.append(f"... and {len(self.motions) - 12} more motions")
        if self.loops and self.mobility:
            lines.append(
                "the mobility is permanent: closed configurations nearby have the same"
                if self.permanent
                else f"the mobility holds only at this configuration: nearby it is {self.general}"
            )
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _positions_text(self) -> list[str]:
        """Return the text on the difference between positions and velocities, if there is one."""
        if self.configuration_dimension == self.mobility:
            return []
        model = self.model
        binding = [name for name, whole in zip(model.constraint_names, model.holonomic, strict=True) if not whole]
        rows = ", ".join(binding[:8])
        positions = self.configuration_dimension
        return [f"  {positions} DOF of position, {self.mobility} of velocity: {rows} constrain velocities"]

    def _drives_text(self) -> list[str]:
        """Return the text on the DOF left by drives, if there are any."""
        names = [drive.name for drive in Prescribed.of(self.model).drives]
        if not names:
            return []
        listed = ", ".join(names[:8]) + ", ..." * (len(names) > 8)
        lines = [f"with {_count(len(names), 'drive')} ({listed}): {self.driven_mobility} DOF left"]
        if self.redundant_drives:
            several = len(self.redundant_drives) > 1
            why = "each of them repeats or contradicts the others" if several else "what it prescribes cannot be chosen"
            lines.append(
                f"  without {' or '.join(self.redundant_drives)} as many would be left: {why}, or this is a dead point"
            )
        return lines

    def _explained(self) -> str:
        number = sum(self.redundant.values())
        if not self.loops:
            return "an open system"
        if not number:
            return "no redundant rows"
        return f"{number} redundant row{'s' * (number > 1)}"


@checked("state")
def mobility(system: System | Model, state: StateLike | None = None, *, t: float | None = None) -> Mobility:
    """Return the mobility of a system at a closed configuration.

    Parameters
    ----------
    system : System or Model
    state : State, dict of name to value, or (nq,) rad or m
        Configuration. Default: the start values, with driven coordinates at their values at t. Open loops are closed
        first (see `assemble`).
    t : float, s
        Time, for drives and explicit time dependence; default that of a `State`, else 0.

    Raises
    ------
    AssemblyError
        If the loops cannot be closed.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("door")
    >>> leaf = s.body("leaf", da.plate(0.9, 2.0, 30.0))
    >>> s.connect("low", da.Revolute("z"), s.ground, leaf)
    <Connection 'low': Revolute from ground to leaf>
    >>> s.connect("high", da.Revolute("z"), s.ground.at(0, 0, 1.5), leaf.at(0, 0, 1.5))
    <Connection 'high': Revolute from ground.at(0, 0, 1.5) to leaf.at(0, 0, 1.5)>
    >>> report = mobility(s)
    >>> report.mobility, report.gruebler, report.planar, report.redundant
    (1, -4, -1, {'high': 5})
    """
    model = as_model(system)
    time = given_time(state, t, item="mobility")
    prescribed = Prescribed.of(model)
    at = _configuration(model, given_coordinates(model, state, item="mobility", t=time), time, prescribed)
    everything = LoopEquations.of(model, t=time)
    let_go = prescribed.rows | ~model.compiled.names.closing
    loops, free = everything.without(let_go), ~prescribed.clocks
    rank = loops.rank(at, free)
    here = int(free.sum()) - rank
    bound = loops.of_positions().rank(at, free) if not np.all(model.holonomic) else rank
    N = loops.null_space(at, free)
    general = general_mobility(loops, at, here, free=free, motions=N) if model.nc else here
    redundant, rows, shared = _redundancy(model, at, loops, free, rank)
    left, idle = prescribed.leave(everything, at)
    return Mobility(
        mobility=here,
        configuration_dimension=int(free.sum()) - bound,
        driven_mobility=left,
        redundant_drives=idle,
        gruebler=int(free.sum()) - int((~let_go).sum()),
        planar=planar_count(loops, at, free, N),
        redundant=redundant,
        redundant_rows=rows,
        shared=shared,
        rank=rank,
        motions=_motions(model, loops, N),
        permanent=general == here,
        general=general,
        loops=loop_connections(model),
        q=at,
        t=time,
        model=model,
    )


def _configuration(model: Model, q: ArrayLike | None, t: float, prescribed: Prescribed) -> Array:
    """Return a closed configuration (nq,), as near as possible to a given one."""
    if q is None:
        return driven_positions(model, t)
    at = checked_configuration(model, "mobility", q).copy()
    clocks = [drive.name for drive in prescribed.clock_drives]
    q_given = drive_targets(model, t)[0]
    for drive in prescribed.clock_drives:
        index = model.q_slice(drive.connection.name).start + drive.coordinate
        at[index] = q_given[index]
    return assemble(model, state=at, hold=clocks, t=t).q if model.nc else at


def _motions(model: Model, loops: LoopEquations, N: Array) -> list[dict[str, float]]:
    """Return a readable basis of motions N (nv, k): each has one leading velocity that is zero in all others."""
    from scipy.linalg import qr

    if not N.shape[1]:
        return []
    # leading velocities are the largest ones, with a bonus for those near the root, the usual drives
    bias = 1.0 - 0.8 * np.arange(model.nv) / model.nv
    order = qr((N * bias[:, None]).T, mode="r", pivoting=True)[1]
    leading = np.sort(order[: N.shape[1]])
    x = N @ np.linalg.inv(N[leading])
    x[np.abs(x) < 1e-9 * np.abs(x).max(0)] = 0.0
    v = x * loops.column_scales[:, None] / loops.column_scales[leading]
    v[leading] = np.eye(len(leading))
    return [
        {name: float(value) for name, value in zip(model.speed_names, column, strict=True) if value} for column in v.T
    ]


def _redundancy(
    model: Model, q: Array, loops: LoopEquations, free: BoolArray, rank: int
) -> tuple[dict[str, int], dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return number and names of redundant rows, and the connections that share them, by connection."""
    dropped, y = loops.dependences(q, free, rank)
    rows: dict[str, tuple[str, ...]] = {}
    shared: dict[str, set[str]] = {}
    counts = [k for k, row in enumerate(dropped) if loops.row_scales[row]]  # the others are released
    dropped, y = [dropped[k] for k in counts], y[counts]
    sharing = connections_sharing_load(model, q, y * loops.row_scales, t=float(loops.t))
    for row, names in zip(dropped, sharing, strict=True):
        owner = model.constraint_connections[row]
        rows[owner] = (*rows.get(owner, ()), model.constraint_names[row][len(owner) + 1 :])
        shared.setdefault(owner, {owner}).update(names)
    order = {name: k for k, name in enumerate(model.system.connections)}
    sharers = {
        owner: tuple(sorted(names, key=lambda name: order.get(name, len(order)))) for owner, names in shared.items()
    }
    return {owner: len(names) for owner, names in rows.items()}, rows, sharers


def _motion_text(motion: dict[str, float], limit: int = 10) -> str:
    terms = [f"{name} {value:+.4g}" for name, value in list(motion.items())[:limit]]
    return ", ".join(terms) + (f", ... ({len(motion)} velocities)" if len(motion) > limit else "")


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
