"""A joint written outside the package works everywhere: kinematics, loops from both ends, outputs, pictures, copies."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_trees import derivative

import dalembert as da
from dalembert.connections.joints import Joint
from dalembert.rotation import axis_angle

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trammel(Joint):
    """The second marker goes round an ellipse in the xy-plane of the first, and turns as it goes; it may slide along z.

    Parameters
    ----------
    a, b : float, m
        Half axes.
    """

    a: float = 0.5
    b: float = 0.2

    coordinates: ClassVar[tuple[str, ...]] = ("angle", "slide")

    def pose(self, q: Array) -> tuple[Array, Array]:
        place = np.array([self.a * np.cos(q[0]), self.b * np.sin(q[0]), q[1]])
        return axis_angle("z", q[0]), place


def arm(*, reversed_ends: bool = False) -> da.System:
    """A body on a trammel, with a pendulum on it."""
    s = da.System("trammel")
    body, tail = s.body("body", da.box(0.3, 0.2, 0.4, mass=2.0)), s.body("tail", da.rod(0.4, 1.0, radius=0.02))
    ends = (s.ground.at(0.1, 0.2, 0.3, rotation=("x", 0.7)), body.at(0.1, 0, 0.05, rotation=("y", 0.2)))
    s.connect("T", Trammel(), *(reversed(ends) if reversed_ends else ends))
    s.connect("U", da.Universal("x", "y"), body.at(0, 0, -0.2), tail)
    s.initial("T", position=(0.4, 0.1), speed=(2.0, -0.3))
    return s


def loop(cut: str) -> da.System:
    """A trammel, a ball in Bryant angles and a rod that stays in a plane: a loop, of which a given joint is cut."""
    s = da.System("loop", gravity=(0, -9.81, 0))
    wheel, rod = s.body("wheel", da.box(0.2, 0.2, 0.1, mass=1.0)), s.body("rod", da.rod(1.2, 0.5, radius=0.02))
    s.connect("T", Trammel(damping=0.1), s.ground, wheel)
    turns = [("x", "angle_1"), ("y", "angle_2"), ("z", "angle_3")]
    s.connect("pin", da.CustomJoint(("angle_1", "angle_2", "angle_3"), ("0", "0", "0"), turns), wheel, rod)
    s.connect("guide", da.Planar("z"), s.ground.at(1.0, 0, 0), rod.at(1.2, 0, 0))
    for name in ("T.angle", "pin.angle_1", "guide.x"):
        if not name.startswith(cut):
            s.connect(f"hold {name}", da.Effort(0.0), name)  # what something acts upon stays in the tree
    s.initial("T", position=(0.8, 0.0), speed=(1.5, 0.0))
    s.initial("pin", position=(0.0, 0.0, -1.1), speed=(0.0, 0.0, -1.0))
    return s


# ---- in a tree


@pytest.mark.parametrize("reversed_ends", [False, True])
def test_kinematics_of_a_joint_defined_outside_the_package(reversed_ends: bool) -> None:
    model = arm(reversed_ends=reversed_ends).compile()
    s, joint = model.random_state(3), Trammel()
    span, rates = model.q_slice("T"), model.v_slice("T")
    first, second = (
        model.pose(m, s.q) for m in (model.system.connections["T"].first, model.system.connections["T"].second)
    )
    C, c = joint.pose(s.q[span])
    assert first.rotation.T @ second.rotation == pytest.approx(C, abs=1e-12)
    assert first.rotation.T @ (second.position - first.position) == pytest.approx(c, abs=1e-12)
    for body in ("body", "tail"):
        point = model.system.bodies[body].at(0.3, 0.1, -0.2)
        moved = derivative(lambda h, p=point: model.pose(p, model.integrate(s.q, h * s.v)).position)
        assert model.velocity(point, s.q, s.v)[3:] == pytest.approx(moved, abs=1e-9)
    a = np.zeros(model.nv)
    a[rates] = 1.0
    rate = derivative(lambda h: model.velocity("body", model.integrate(s.q, h * s.v), s.v + h * a))
    assert model.acceleration("body", s.q, s.v, a) == pytest.approx(rate, abs=1e-7)


@pytest.mark.parametrize("reversed_ends", [False, True])
def test_motion_and_outputs(reversed_ends: bool) -> None:
    result = da.simulate(arm(reversed_ends=reversed_ends), 1.0, rtol=1e-10, atol=1e-12)
    assert np.abs(result["energy.balance"]).max() < 1e-7
    assert result["T.position"][0] == pytest.approx([0.4, 0.1])
    assert result["T.angle.speed"][0] == pytest.approx(2.0)
    assert result["T.force"].shape == (len(result), 3)
    k = len(result) // 2
    load = result.model.connection_loads(result.q[k], result.v[k])["T"]
    assert load[3:] == pytest.approx(result["T.force"][k], abs=1e-8)
    assert "joint 'T'" in result.describe("T.position")


def test_it_can_be_driven_locked_and_given_limits() -> None:
    s = arm()
    s.drive("T.angle", position=da.Harmonic(0.5, 3.0))
    s.drive("T.slide", speed=0.2)
    result = da.simulate(s, 0.5, times=[0.0, 0.25, 0.5])
    assert result["T.position"][:, 0] == pytest.approx(0.5 * np.sin(3.0 * result.t), abs=1e-9)
    assert result["T.position"][:, 1] == pytest.approx(0.1 + 0.2 * result.t, abs=1e-9)
    with pytest.raises(da.ModelError, match="damping"):
        Trammel(damping=-1.0)


# ---- closing a loop


@pytest.mark.parametrize("cut", ["T", "guide"])
def test_a_loop_moves_the_same_wherever_it_is_cut(cut: str) -> None:
    system, other = loop(cut), loop("pin")
    assert [loop_constraint.name for loop_constraint in system.compile().forest.loop_constraints] == [cut]
    times = np.linspace(0, 0.6, 7)
    found, wanted = (da.simulate(s, 0.6, times=times, rtol=1e-10, atol=1e-12) for s in (system, other))
    for name in ("T.position", "T.speed", "T.acceleration", "T.effort", "T.force", "guide.position", "wheel.position"):
        assert np.abs(found[name] - wanted[name]).max() < 1e-6 * (1 + np.abs(wanted[name]).max()), name
    assert np.abs(found["energy.balance"]).max() < 1e-6
    assert np.ptp(found["T.position"][:, 0]) > 0.3


def test_it_can_be_a_part_of_a_massless_chain() -> None:
    s = da.System("chain", gravity=(0, 0, 0))
    body = s.body("body", da.box(0.2, 0.3, 0.4, mass=1.0))
    s.connect("free", da.Free(), s.ground, body)
    s.connect("chain", da.KinematicChain([Trammel(), da.Revolute("x")]), s.ground, body)
    s.initial("free", position=(1, 0, 0, 0, 0.5, 0, 0), speed=(0.3, 0.0, 1.0, 0.0, 0.2, 0.4))
    result = da.simulate(s, 0.5)
    place = result["body.position"]
    assert np.abs((place[:, 0] / 0.5) ** 2 + (place[:, 1] / 0.2) ** 2 - 1).max() < 1e-9


# ---- pictures and copies


@pytest.mark.parametrize("view", ["xy", "3d"])
def test_it_is_drawn(view: str) -> None:
    axes = loop("guide").draw(view=view)
    axes = axes[0] if isinstance(axes, (list, tuple)) else axes
    if view == "xy":
        assert any("CustomJoint" in str(line.get_gid()) for line in axes.get_lines())
    else:
        bare = da.System("bare")
        bare.connect("F", da.Free(), bare.ground, bare.body("b", mass=1.0, inertia=(1, 1, 1)))
        assert count_faces(axes) > count_faces(bare.draw(view="3d"))


def count_faces(axes: Any) -> int:
    axes = axes[0] if isinstance(axes, (list, tuple)) else axes
    return sum(len(c.get_paths()) if hasattr(c, "get_paths") else 0 for c in axes.collections)


def test_copies_of_its_models_work() -> None:
    model = arm().compile()
    s = model.random_state(1)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert np.array_equal(twin.forward_dynamics(s.q, s.v), model.forward_dynamics(s.q, s.v))
