"""Controllers as signal blocks: PID, and state feedback with integral action; with limits and anti-windup.

The integrals are corrected by back calculation (K. J. Astrom and T. Hagglund, Advanced PID Control, ISA 2006, section
3.5): with the request v, the limited output u = min(high, max(low, v)) and the tracking time T_t

    I' = k_i e + (u - v)/T_t

so that the integral settles at the limit with the time constant T_t, and leaves it as soon as the error changes sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ....checks import checked, finite_array, finite_number, positive, shape_of
from ....errors import ModelError
from ..element import SignalBlock

__all__ = ["PIDController", "StateFeedback"]


def _limits(item: str, limits: Any) -> tuple[float, float] | None:
    """Return checked limits of an output, low first; None without."""
    if limits is None:
        return None
    if shape_of(limits) == ():
        size = finite_number(limits, item=item, field="limits")
        limits = (-size, size)
    try:
        low, high = (finite_number(end, item=item, field="limits") for end in limits)
    except (TypeError, ValueError):
        raise ModelError(item, "limits", limits, "give the smallest and the largest output, or one number") from None
    if not low < high:
        raise ModelError(item, "limits", limits, "give the smallest and the largest output, or a number above zero")
    return low, high


@checked("measured", "setpoint", "limits", "feedforward")
class PIDController(SignalBlock):
    """PID controller with two degrees of freedom, filtered derivative, limits and anti-windup.

    v = kp (b r - y) + I + kd d, u = min(high, max(low, v)), I' = ki (r - y) + (u - v)/T_t,
    d = ((c r - y) - z)/T_f, z' = d.

    Parameters
    ----------
    measured : source
        y: an output (``"A.position"``), a signal, a `Sensor`, a `Delay`; see ``inputs`` of `Element`.
    setpoint : number or source
        r; a number is the parameter ``"name.r"``, which events, ensembles and `da.Live` change.
    kp, ki, kd : float
        Gains, in units of u per unit of y, and per second and times second.
    filter_time : float, s
        T_f of the derivative; needed with kd.
    setpoint_weight, derivative_weight : float
        b and c, 0 to 1: c = 0 keeps steps of the setpoint from the derivative.
    limits : float or (low, high)
        Of the output.
    tracking_time : float, s
        T_t; default sqrt(kd/ki) with a derivative, else kp/ki, or 1/ki without kp.
    feedforward : number or source
        Added to v.

    Signals: ``u``, ``error`` = r - y, and ``excess`` = v - u, zero within the limits. States: ``I``, and ``z`` with a
    derivative, which starts at zero.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("oven", gravity=(0, 0, 0))
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, s.body("disc", mass=1.0, inertia=(1, 1, 1)))
    >>> _ = s.connect("pid", da.PIDController("A.position", 0.5, 20.0, 10.0, 8.0, filter_time=0.01, limits=3.0))
    >>> _ = s.connect("motor", da.Element("joint", "u", inputs={"u": "pid.u"}, active=True), "A")
    >>> round(float(da.simulate(s, 15.0)["A.position"][-1]), 4)
    0.5
    """

    def __init__(
        self,
        measured: Any,
        setpoint: Any = 0.0,
        kp: float = 0.0,
        ki: float = 0.0,
        kd: float = 0.0,
        *,
        filter_time: float | None = None,
        setpoint_weight: float = 1.0,
        derivative_weight: float = 0.0,
        limits: Any = None,
        tracking_time: float | None = None,
        feedforward: Any = 0.0,
    ) -> None:
        item = "PIDController"
        numbers = {name: finite_number(x, item=item, field=name) for name, x in (("kp", kp), ("ki", ki), ("kd", kd))}
        numbers["b"] = finite_number(setpoint_weight, item=item, field="setpoint_weight")
        bounds = _limits(item, limits)
        forms = ["kp*(b*r - y)"]
        states: dict[str, tuple[float, Any]] = {}
        definitions: dict[str, Any] = {"miss": "r - y"}
        if numbers["kd"]:
            if filter_time is None:
                raise ModelError(item, "filter_time", None, "a derivative needs a filter: give its time constant, s")
            numbers |= positive(item, Tf=filter_time)
            numbers["c"] = finite_number(derivative_weight, item=item, field="derivative_weight")
            definitions["d"] = "(c*r - y - z)/Tf"
            states["z"] = (0.0, "d")
            forms.append("kd*d")
        if numbers["ki"]:
            forms.append("I")
        definitions["v"] = " + ".join([*forms, "ff"])
        definitions["limited"] = "v"
        rate = "ki*miss"
        if bounds is not None:
            numbers |= {"low": bounds[0], "high": bounds[1]}
            definitions["limited"] = "min(high, max(low, v))"
            if numbers["ki"]:
                numbers |= positive(item, Tt=_tracking_time(numbers) if tracking_time is None else tracking_time)
                rate = "ki*miss + (limited - v)/Tt"
        if numbers["ki"]:
            states["I"] = (0.0, rate)
        super().__init__(
            {"u": "limited", "error": "miss", "excess": "v - limited"},
            inputs={"y": measured, "r": setpoint, "ff": feedforward},
            states=states,
            parameters=numbers,
            definitions=definitions,
        )


def _tracking_time(numbers: Mapping[str, float]) -> float:
    """Return the tracking time that Astrom and Hagglund recommend."""
    ki, kp, kd = abs(numbers["ki"]), abs(numbers["kp"]), abs(numbers["kd"])
    if kd and ki:
        return float(np.sqrt(kd / ki))
    return kp / ki if kp else 1.0 / ki


@checked("gain", "states", "references", "outputs", "integral", "limits")
class StateFeedback(SignalBlock):
    """State feedback u = sat(-K (x - x_r) + u_0 - K_I I), with integral action and anti-windup.

    Parameters
    ----------
    gain : (n_u, n_x), or (n_x,) for one output
        K, as from ``scipy.linalg.solve_continuous_are``.
    states : sequence of n_x sources
        x: outputs, signals, sensors, states of other elements.
    references : sequence of n_x numbers or sources
        x_r; zero if left out. Numbers are the parameters ``"name.r0"``, ``"name.r1"`` ...
    offset : (n_u,)
        u_0, the output at rest.
    outputs : sequence of int
        Which states are integrated, I' = x_k - x_rk.
    integral : (n_u, number of outputs)
        K_I.
    limits : float, (low, high), or a list of n_u of them or None
        Of the outputs; a tuple (low, high) is that of all.
    tracking_time : float, s
        Of the anti-windup. With limited outputs the integrals follow I' = x_k - x_rk - K_I^+ (u - v)/T_t, with the
        pseudoinverse of K_I: at rest beyond the limits -K_I I leaves the request at the limit.

    Signals: ``u``, or ``u0``, ``u1`` ... with several outputs. States: ``I0`` ...

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("cart", gravity=(0, 0, 0))
    >>> _ = s.connect("A", da.Prismatic("x"), s.ground, s.body("cart", mass=2.0))
    >>> law = da.StateFeedback([8.0, 8.0], ["A.position", "A.speed"], [0.3, 0.0])
    >>> _ = s.connect("law", law)
    >>> _ = s.connect("motor", da.Element("joint", "u", inputs={"u": "law.u"}, active=True), "A")
    >>> round(float(da.simulate(s, 12.0)["A.position"][-1]), 4)
    0.3
    """

    def __init__(
        self,
        gain: ArrayLike,
        states: Sequence[Any],
        references: Sequence[Any] | None = None,
        *,
        offset: ArrayLike = 0.0,
        outputs: Sequence[int] = (),
        integral: ArrayLike | None = None,
        limits: Any = None,
        tracking_time: float | None = None,
    ) -> None:
        item = "StateFeedback"
        if isinstance(states, str) or not isinstance(states, Sequence) or not states:
            raise ModelError(item, "states", states, "give a sequence of sources, one for each column of the gain")
        n = len(states)
        K = np.atleast_2d(finite_array(gain, shape_of(gain) or (), item=item, field="gain"))
        if K.ndim != 2 or K.shape[1] != n:
            raise ModelError(item, "the shape of gain", np.shape(gain), f"give (number of outputs, {n})")
        wanted = [0.0] * n if references is None else list(references)
        if len(wanted) != n:
            raise ModelError(item, "references", wanted, f"give {n}, one for each state")
        m = len(K)
        if shape_of(offset) not in ((), (m,)):
            raise ModelError(item, "the shape of offset", shape_of(offset), f"give a number, or ({m},)")
        rest = np.broadcast_to(finite_array(offset, shape_of(offset) or (), item=item, field="offset"), (m,))
        chosen = [int(k) for k in outputs]
        if any(not 0 <= k < n for k in chosen):
            raise ModelError(item, "outputs", outputs, f"give indices of states, 0 to {n - 1}")
        if bool(chosen) != (integral is not None):
            raise ModelError(item, "integral", integral, "give gains for the integrated outputs, and outputs for gains")
        K_I = np.zeros((m, 0))
        if integral is not None:
            K_I = np.atleast_2d(finite_array(integral, shape_of(integral) or (), item=item, field="integral"))
            if K_I.shape != (m, len(chosen)):
                raise ModelError(item, "the shape of integral", np.shape(integral), f"give ({m}, {len(chosen)})")
        each = [_limits(item, one) for one in _each_limit(item, limits, m)]
        numbers: dict[str, float] = {f"k{i}_{j}": float(K[i, j]) for i in range(m) for j in range(n)}
        numbers |= {f"offset{i}": float(rest[i]) for i in range(m)}
        numbers |= {f"ki{i}_{j}": float(K_I[i, j]) for i in range(m) for j in range(len(chosen))}
        definitions: dict[str, Any] = {}
        for i in range(m):
            terms = [f"offset{i}", *(f"-k{i}_{j}*(x{j} - r{j})" for j in range(n))]
            terms += [f"-ki{i}_{j}*I{j}" for j in range(len(chosen))]
            definitions[f"v{i}"] = " + ".join(terms).replace("+ -", "- ")
            bounds = each[i]
            definitions[f"limited{i}"] = f"v{i}"
            if bounds is not None:
                numbers |= {f"low{i}": bounds[0], f"high{i}": bounds[1]}
                definitions[f"limited{i}"] = f"min(high{i}, max(low{i}, v{i}))"
        follow: Any = np.zeros((len(chosen), m))
        if chosen and any(bounds is not None for bounds in each):
            if tracking_time is None:
                raise ModelError(item, "tracking_time", None, "give the time, s, of the anti-windup at the limits")
            numbers |= positive(item, Tt=tracking_time)
            follow = np.linalg.pinv(K_I)
        integrals = {}
        for j, k in enumerate(chosen):
            rate = [f"x{k} - r{k}"]
            rate += [f"- ({float(follow[j, i])!r})*(limited{i} - v{i})/Tt" for i in range(m) if follow[j, i]]
            integrals[f"I{j}"] = (0.0, " ".join(rate))
        names = ["u"] if m == 1 else [f"u{i}" for i in range(m)]
        super().__init__(
            {name: f"limited{i}" for i, name in enumerate(names)},
            inputs={**{f"x{j}": x for j, x in enumerate(states)}, **{f"r{j}": r for j, r in enumerate(wanted)}},
            states=integrals,
            parameters=numbers,
            definitions=definitions,
        )


def _each_limit(item: str, limits: Any, count: int) -> list[Any]:
    """Return limits for each output."""
    if isinstance(limits, list):
        if len(limits) != count:
            raise ModelError(item, "limits", limits, f"give one number, (low, high), or a list of {count} of these")
        return limits
    return [limits] * count
