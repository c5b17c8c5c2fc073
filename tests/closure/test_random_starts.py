"""Random starts of loops with several DOF: they close whenever plain least squares from the same start closes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import least_squares
from systems.linkages import five_bar

import dalembert as da
from dalembert.closure.equivalent_configurations import reversed_axes
from dalembert.closure.loop_equations import LoopEquations


def rssr_ss() -> da.System:
    s = da.System("RSSR-SS")
    crank, coupler, rocker, stay = (
        s.body(n, da.rod(x, 1.0, radius=0.02)) for n, x in zip("ckrs", (0.4, 1.1, 0.7, 0.9), strict=True)
    )
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("S1", da.Spherical(), crank.at(0.4, 0, 0), coupler)
    s.connect("R", da.Revolute("x"), s.ground.at(0.9, 0.5, 0.1), rocker)
    s.connect("S2", da.Spherical(), coupler.at(1.1, 0, 0), rocker.at(0, 0.7, 0.1))
    s.connect("S3", da.Spherical(), coupler.at(0.5, 0.1, 0), stay)
    s.connect("S4", da.Spherical(), stay.at(0.9, 0, 0), s.ground.at(0.2, 0.7, 0.6))
    return s


def stewart() -> da.System:
    s = da.System("Stewart")
    plate = s.body("plate", mass=5.0, inertia=(0.2, 0.2, 0.4))
    for k in range(6):
        low = 2 * np.pi * (k // 2) / 3 + (0.3 if k % 2 else -0.3)
        high = 2 * np.pi * (k // 2) / 3 + (0.8 if k % 2 else -0.8)
        lower, upper = s.body(f"lower{k}", da.rod(0.6, 1.0)), s.body(f"upper{k}", da.rod(0.6, 1.0))
        s.connect(f"U{k}", da.Universal("x", "y"), s.ground.at(np.cos(low), np.sin(low), 0), lower)
        s.connect(f"L{k}", da.Prismatic("z"), lower, upper)
        s.connect(f"S{k}", da.Spherical(), upper.at(0, 0, 0.6), plate.at(0.5 * np.cos(high), 0.5 * np.sin(high), 0))
    return s


def eight_turns() -> da.System:
    """Eight joints with axes in any direction: two degrees of freedom, and places from which nothing closes better."""
    axes, s = np.random.default_rng(5).normal(size=(8, 3)), da.System("8R")
    last = s.ground
    for k in range(7):
        link = s.body(f"link{k}", da.rod(0.6, 1.0))
        s.connect(f"H{k}", da.Revolute(axes[k]), last if not k else last.at(0.6, 0.1 * k % 0.3, 0), link)
        last = link
    s.connect("E", da.Revolute(axes[7]), last.at(0.6, 0, 0.1), s.ground.at(0.8, 0.4, 0.2))
    return s


def closes(model: da.Model, q: np.ndarray) -> bool:
    loops = LoopEquations.of(model)
    found = least_squares(
        lambda x: loops.residual(model.integrate(q, loops.column_scales * x)),
        np.zeros(model.nv), xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=300,
    )  # fmt: skip
    closed = np.abs(found.fun).max() < 1e-9
    return bool(closed) and not reversed_axes(model, model.integrate(q, loops.column_scales * found.x))


@pytest.mark.parametrize("make", [five_bar, rssr_ss, stewart, eight_turns], ids=lambda f: f.__name__)
def test_what_least_squares_closes_is_closed(make: Callable[[], da.System]) -> None:
    model, rng = make().compile(), np.random.default_rng(3)
    for _ in range(40):
        q = model.random_state(rng).q
        try:
            assert da.assemble(model, state=q).residual < 1e-11
        except da.AssemblyError:
            assert not closes(model, q)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (five_bar, ["A", "B"]),
        (five_bar, ["A", "E"]),
        (rssr_ss, ["A"]),
        (stewart, [f"L{k}" for k in range(6)]),
        (eight_turns, ["H0", "H3"]),
    ],
)
def test_start_values_that_can_be_met_are_met(make: Callable[[], da.System], names: list[str]) -> None:
    model, rng = make().compile(), np.random.default_rng(7)
    still = np.zeros(model.nv)
    for _ in range(8):
        q = da.assemble(model, state=model.random_state(rng).q, starts=20).q
        cut = model.cut_motion(q, still, still)[0]
        given = {
            name: float(
                (q[model.q_slice(name)] if name in model.joint_names else cut[model.compiled.names.cut_q[name]])[0]
            )
            for name in names
        }
        notes = da.start_state(model, given).notes
        assert notes == []
