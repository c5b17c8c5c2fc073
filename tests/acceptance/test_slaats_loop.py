"""Slaats 1991, section 4.2: a planar four-bar as a tree that is cut at one pin.

The report prints no numbers; these were found by a separate implementation of its recursion with multipliers and
confirmed by the full KKT matrix to 4e-15.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dalembert.connections.joints import Revolute
from dalembert.model import Model
from dalembert.system import System

Array = NDArray[np.float64]

LENGTHS = {"crank": 1.0, "coupler": 2.5, "rocker": 2.0}  # m, and kg
GROUND = 2.5
Q = [1.047198, -0.582618, -2.153161]
V = [2.0, -2.378145, 1.036952]
A = [-6.834076, 9.564822, -3.054056]
LAM = [-2.264931, -27.116225]  # N; the load on the rocker is -LAM (4.5)
ENERGY = 63.350871
Q_AFTER_5_S = [16.591351, -15.681614, -1.553527]
PRINTED = 1e-6  # six decimals


@pytest.fixture
def four_bar() -> Model:
    system = System("four-bar", gravity=(0, -9.81, 0))
    before = system.ground.origin
    for name, length in LENGTHS.items():
        moment = length**3 / 12
        body = system.body(name, mass=length, com=(length / 2, 0, 0), inertia=(0, moment, moment))
        system.connect(f"{name} pin", Revolute("z"), before, body)
        before = body.at(length, 0, 0)
    system.connect("cut", Revolute("z"), system.ground.at(GROUND, 0, 0), before)
    model = system.compile()
    assert [loop_constraint.name for loop_constraint in model.forest.loop_constraints] == ["cut"]
    assert model.joint_names == tuple(f"{name} pin" for name in LENGTHS)
    return model


@pytest.fixture
def start() -> tuple[Array, Array]:
    """Crank at 60 degrees with 2 rad/s; the others by closing the triangles."""
    q1 = math.radians(60)
    tip = np.array([math.cos(q1), math.sin(q1)]) * LENGTHS["crank"]
    diagonal = np.array([GROUND, 0]) - tip
    d, l2, l3 = math.hypot(*diagonal), LENGTHS["coupler"], LENGTHS["rocker"]
    angle_2 = math.atan2(diagonal[1], diagonal[0]) + math.acos((l2**2 + d**2 - l3**2) / (2 * l2 * d))
    pin = tip + l2 * np.array([math.cos(angle_2), math.sin(angle_2)])
    angle_3 = math.atan2(-pin[1], GROUND - pin[0])
    angles = np.array([q1, angle_2, angle_3])
    # velocity of the last tip is zero: sum of length * rate * normal
    normals = np.array(list(LENGTHS.values())) * np.array([-np.sin(angles), np.cos(angles)])
    rates = np.concatenate([[2.0], np.linalg.solve(normals[:, 1:], -2.0 * normals[:, 0])])
    return np.diff(angles, prepend=0.0), np.diff(rates, prepend=0.0)


def test_closed_configuration(four_bar: Model, start: tuple[Array, Array]) -> None:
    q, v = start
    assert np.abs(q - Q).max() < PRINTED and np.abs(v - V).max() < PRINTED
    assert np.abs(four_bar.constraint_residual(q)).max() < 1e-14
    assert np.abs(four_bar.constraint_jacobian(q) @ v).max() < 1e-14
    assert four_bar.energy(q, v).total == pytest.approx(ENERGY, abs=PRINTED)


def test_accelerations(four_bar: Model, start: tuple[Array, Array]) -> None:
    assert np.abs(four_bar.forward_dynamics(*start) - A).max() < PRINTED


def test_multipliers_are_the_force_at_the_cut(four_bar: Model, start: tuple[Array, Array]) -> None:
    lam = dict(zip(four_bar.constraint_names, four_bar.multipliers(*start), strict=True))
    assert [-lam["cut.x"], -lam["cut.y"]] == pytest.approx(LAM, abs=2 * PRINTED)
    # three of five rows repeat what the plane demands: least norm leaves them without load
    assert max(abs(lam[f"cut.{row}"]) for row in ("z", "tilt_x", "tilt_y")) < 1e-9
    load = four_bar.connection_loads(*start)["cut"]
    assert -load[3:5] == pytest.approx(LAM, abs=2 * PRINTED)
    assert np.abs(load[[0, 1, 2, 5]]).max() < 1e-9


def test_five_seconds_of_motion(four_bar: Model, start: tuple[Array, Array]) -> None:
    """Runge-Kutta with 1 ms: the configuration to the digits given, energy drift 3e-10, loop error 5e-9."""
    n, h = 3, 1e-3
    y = np.concatenate(start)

    def rate(y: Array) -> Array:
        return np.concatenate([y[n:], four_bar.forward_dynamics(y[:n], y[n:])])

    for _ in range(5000):
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    assert np.abs(y[:n] - Q_AFTER_5_S).max() < 2 * PRINTED
    assert np.abs(four_bar.constraint_residual(y[:n])).max() < 1e-8
    assert four_bar.energy(y[:n], y[n:]).total == pytest.approx(ENERGY, rel=2e-8)
