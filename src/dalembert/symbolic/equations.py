"""Symbolic equations of motion: Kane's equations from velocities of bodies in their own axes.

    M a + b = Q + tau + P^T lam,    P a + c = 0                                                                      (1)

with M = sum m J_v^T J_v + J_w^T I J_w, b the inertia forces without accelerations and the weights, Q the forces of
elements and joints, P the constraint Jacobian, c = P' v. Velocities are rates of coordinates, except those of ball
joints and free joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from ..checks import checked
from ..connections.joints import Joint
from ..errors import ModelError
from ..model import Model, as_model
from ..system import System
from .elements import Forces
from .kinematics import Kinematics
from .loop_constraints import closure_rows
from .symbols import Numbers, plain_symbol

__all__ = ["Equations", "symbolic_equations"]


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations of motion (1) of a system as SymPy matrices.

    Attributes
    ----------
    q, v, a, tau, lam : list of Symbol
        Coordinates, velocities, accelerations, joint forces, multipliers, in the order of the model.
    rates : Matrix (nq, 1)
        q' as functions of the velocities.
    M : Matrix (nv, nv)
    bias : Matrix (nv, 1)
        b, including the weights.
    forces : Matrix (nv, 1)
        Q.
    rows, jacobian, row_bias : Matrix (nc, 1), (nc, nv), (nc, 1)
        Residuals, P and c of the loops.
    states, state_rates : dict of str
        Of elements.
    inputs : dict of str to Symbol
        Values of time laws.
    parameters : dict of Symbol to float
        Symbolic parameters and their values.
    """

    model: Model
    q: list[Any]
    v: list[Any]
    a: list[Any]
    tau: list[Any]
    lam: list[Any]
    rates: Any
    M: Any
    bias: Any
    forces: Any
    rows: Any
    jacobian: Any
    row_bias: Any
    t: Any
    states: dict[str, Any] = field(default_factory=dict)
    state_rates: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    parameters: dict[Any, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        loops = f", {len(self.lam)} rows" if self.lam else ""
        counts = f"{len(self.v)} degrees of freedom{loops}, {len(self.parameters)} parameters"
        return f"<Equations of {self.model.system.name!r}: {counts}>"

    @property
    def residual(self) -> Any:
        """M a + b - Q - tau - P^T lam, (nv, 1)."""
        r = self.M * sp.Matrix(self.a) + self.bias - self.forces - sp.Matrix(self.tau)
        return r - self.jacobian.T * sp.Matrix(self.lam) if self.lam else r

    def with_numbers(self, expression: Any, values: Mapping[Any, float] | None = None) -> Any:
        """Substitute values for the parameters of an expression: described ones, or others by symbol or name."""
        numbers = dict(self.parameters)
        by_name = {symbol.name: symbol for symbol in numbers}
        for key, value in (values or {}).items():
            symbol = by_name.get(str(key).replace(".", "_"), key)
            if symbol not in numbers:
                raise ModelError("equations", "parameter", key, f"there are {', '.join(by_name)}")
            numbers[symbol] = value
        return expression.subs(numbers)

    def lambdify(self, expression: Any, modules: str = "numpy", *, cse: bool = True) -> Callable[..., Any]:
        """Return a function f(q, v, a, tau, lam, t, x, inputs) of an expression with the described parameters.

        Arguments are sequences in the order of the model; trailing ones may be omitted.
        """
        numbers = self.with_numbers(expression)
        groups = [self.q, self.v, self.a, self.tau, self.lam, self.t, [*self.states.values()], [*self.inputs.values()]]
        function = sp.lambdify(groups, numbers, modules, cse=cse)
        empty = [np.zeros(len(g)) if isinstance(g, list) else 0.0 for g in groups]

        def called(*given: Any) -> Any:
            return function(*given, *empty[len(given) :])

        return called

    def linearized(self, point: Mapping[Any, Any] | None = None) -> tuple[Any, Any, Any]:
        """Return M, D and K of M da + D dv + K dx = dtau + ... about a point, x along motions of single velocities.

        Parameters
        ----------
        point : dict of symbol to value
            Values of coordinates, velocities, accelerations, joint forces and multipliers. Coordinates without a value
            stay symbols; all others default to zero.
        """
        r = self.residual
        along = sp.Matrix(self.rates).jacobian(sp.Matrix(self.v))
        K, D = r.jacobian(sp.Matrix(self.q)) * along, r.jacobian(sp.Matrix(self.v))
        at = dict.fromkeys([*self.v, *self.a, *self.tau, *self.lam], 0) | dict(point or {})
        return tuple(matrix.subs(at).applyfunc(_plain) for matrix in (self.M, D, K))

    def latex(self, what: str | None = None) -> str:
        """Return an attribute (``"M"``, ``"bias"``, ``"rows"``) or all equations, as LaTeX."""
        names = self._printed()
        if what is not None:
            return str(sp.latex(getattr(self, what), symbol_names=names))
        lines = [rf"{sp.latex(row, symbol_names=names)} &= 0" for row in (*self.residual, *self.rows)]
        return "\\begin{align}\n" + " \\\\\n".join(lines) + "\n\\end{align}"

    def _printed(self) -> dict[Any, str]:
        """Return the LaTeX form of symbols, with dots for rates of coordinates."""
        printed: dict[Any, str] = {}
        for speed, acceleration in zip(self.v, self.a, strict=True):
            base = speed.name.removesuffix("_dot")
            upright = rf"\mathrm{{{base.replace('_', chr(92) + '_')}}}" if len(base) > 1 else base
            if speed.name.endswith("_dot"):
                printed[speed], printed[acceleration] = rf"\dot{{{upright}}}", rf"\ddot{{{upright}}}"
        for coordinate in self.q:
            if len(coordinate.name) > 1:
                printed[coordinate] = rf"\mathrm{{{coordinate.name.replace('_', chr(92) + '_')}}}"
        return printed


def _plain(expression: Any) -> Any:
    """Evaluate derivatives of functions at a point; derivatives of sign and similar functions are zero."""
    return sp.expand(expression.doit()).replace(sp.DiracDelta, lambda *_: sp.S.Zero)


@checked("symbols")
def symbolic_equations(
    system: System | Model,
    *,
    symbols: bool | str | Iterable[str] = True,
) -> Equations:
    """Derive the symbolic equations of motion of a small system.

    Parameters
    ----------
    system : System or Model
        Rigid bodies; joints of the library or by formulas; loops; springs, dampers, efforts, loads and elements by
        formulas. Items without a symbolic form raise an error. Drives are ignored: their coordinates are free.
    symbols : bool, or names
        Symbolic parameters: all (True), none, or some by name or owner: ``("arm.mass", "k", "gravity")``.
        Zero values stay zero. Names are those of bodies (``arm.mass``, ``arm.com.x``, ``arm.inertia.xx``),
        elements (``k.stiffness``), ends of connections (``A.first.x``), named markers (``arm.tip.x``), ``gravity.z``.
        Values that depend on user parameters (``s.parameter("length", 1.0)``) are expressed by them.

    Returns
    -------
    Equations

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> bob = s.body("bob", mass=2.0, com=(0, 0, -0.5))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, bob)
    >>> eq = da.symbolic_equations(s)
    >>> eq.M, eq.bias
    (Matrix([[bob_com_z**2*bob_mass]]), Matrix([[bob_com_z*bob_mass*gravity_z*sin(A)]]))
    """
    model = as_model(system)
    numbers = Numbers.of(symbols, model)
    k = Kinematics(model, numbers)
    M, bias = _inertia(k)
    forces = Forces(k)
    rows, rates = closure_rows(k)
    shortest = k.tidy.shortest
    jacobian = shortest(k.tidy(k.by_speeds(rates))) if model.nc else sp.zeros(0, model.nv)
    row_bias = shortest(k.tidy(k.rate(rates))) if model.nc else sp.zeros(0, 1)
    numbers.check_unknown()
    return Equations(
        model,
        k.q,
        k.v,
        [_acceleration(k, n) for n in range(model.nv)],
        [plain_symbol(f"tau_{name}") for name in model.speed_names],
        [plain_symbol(f"lam_{name}") for name in model.constraint_names],
        sp.Matrix(model.nq, 1, k.rates),
        shortest(M),
        shortest(bias),
        forces.total,
        shortest(rows) if model.nc else rows,
        jacobian,
        row_bias,
        forces.t,
        forces.states,
        forces.state_rates,
        forces.inputs,
        numbers.values,
    )


def _acceleration(k: Kinematics, n: int) -> Any:
    name = k.v[n].name
    return plain_symbol(name.removesuffix("_dot") + "_ddot" if name.endswith("_dot") else f"{name}_dot")


def _inertia(k: Kinematics) -> tuple[Any, Any]:
    """Return M and b of (1)."""
    model, tidy = k.model, k.tidy
    M, b = sp.zeros(model.nv, model.nv), sp.zeros(model.nv, 1)
    gravity = k.numbers.vector("gravity", model.system.gravity)
    potential = sp.S.Zero
    for name, body in model.system.bodies.items():
        m, com, inertia = _mass_data(k, name, body)
        motion = k.bodies[name]
        v, w = tidy(motion.v + motion.w.cross(com)), motion.w
        Jv, Jw = k.by_speeds(v), k.by_speeds(w)
        momentum = inertia * w
        M += m * Jv.T * Jv + Jw.T * inertia * Jw
        b += m * Jv.T * (k.rate(v) + w.cross(v)) + Jw.T * (inertia * k.rate(w) + w.cross(momentum))
        potential -= m * gravity.dot(motion.p + motion.R * com)
    potential = tidy(potential)
    b += k.by_speeds([k.rate(potential)]).T
    for joint in model.forest.joints:
        _add_armature(k, joint.name, joint.element, M)
    return tidy(M), tidy(b)


def _add_armature(k: Kinematics, name: str, joint: Joint, M: Any) -> None:
    if joint.armature is not None:
        for part, place in enumerate(range(*k.model.v_slice(name).indices(k.model.nv))):
            M[place, place] += k.numbers(f"{k.model.speed_names[place]}.armature", float(joint.armature[part]))


def _mass_data(k: Kinematics, name: str, body: Any) -> tuple[Any, Any, Any]:
    m = k.numbers(f"{name}.mass", body.mass, positive=True)
    com = k.numbers.vector(f"{name}.com", body.com)
    axes: Sequence[str] = "xyz"
    inertia = sp.Matrix(
        3,
        3,
        lambda i, j: k.numbers(f"{name}.inertia.{axes[min(i, j)]}{axes[max(i, j)]}", float(body.inertia[i, j])),
    )
    return m, com, inertia
