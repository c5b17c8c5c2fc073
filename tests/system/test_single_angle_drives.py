"""One or two angles of an attitude are driven alone."""

from itertools import product

import numpy as np
import pytest

import dalembert as da
from dalembert.connections.drive_builder import AngleConstraint
from dalembert.rotation import euler

CONVENTIONS = ["".join(c) for c in product("XYZ", repeat=3) if c[0] != c[1] and c[1] != c[2]]


@pytest.mark.parametrize("convention", [*CONVENTIONS, "xyz", "zxz"])
def test_angles_are_read_from_the_matrix_as_they_were_put_in(convention: str) -> None:
    """The driven angle is the one that builds the rotation, for all twelve conventions."""
    same = convention[0] == convention[2]
    angles = (0.7, 0.4 if not same else 1.1, -0.9)
    R = euler(angles, convention)
    for k, angle in enumerate(angles):
        asked: list[float | None] = [None, None, None]
        asked[k] = angle
        s = ball()
        s.drive("S", rotation=da.EulerAngles(asked, convention))
        s.initial("S", position=da.rotation.quaternion_from_matrix(R))
        result = da.simulate(s, 1e-3)
        assert result["constraints.residual"][0] < 1e-12
        assert np.abs(result["top.rotation"][0].reshape(3, 3) - R).max() < 1e-9  # nothing had to move


def ball() -> da.System:
    s = da.System("ball")
    s.connect("S", da.Spherical(), s.ground, s.body("top", mass=2.0, com=(0.1, 0.2, 0.3), inertia=[0.3, 0.4, 0.5]))
    return s


def test_one_driven_angle_moves_as_a_joint_of_three_turns_does() -> None:
    law = da.Polynomial((0.0, 0.0, 0.5, -0.2))  # at rest: what is left open starts alike
    s = ball()
    s.drive("S", rotation=da.BryantAngles(None, law, None))
    result = da.simulate(s, 2.0)
    other = da.System("turns")
    names = ("a", "b", "c")
    turns = da.CustomJoint(names, None, [("x", "a"), ("y", "b"), ("z", "c")])
    other.connect("S", turns, other.ground, other.body("top", mass=2.0, com=(0.1, 0.2, 0.3), inertia=[0.3, 0.4, 0.5]))
    other.drive("S.b", position=law)
    same = da.simulate(other, 2.0, times=result.t)
    assert np.abs(result["top.rotation"] - same["top.rotation"]).max() < 1e-6
    assert abs(result["energy.balance"]).max() < 1e-6
    assert result.model.system["S.angle_2"].element.limits == (-np.pi / 2, np.pi / 2)


def test_two_angles_and_a_new_drive_in_their_place() -> None:
    s = ball()
    s.drive("S", rotation=da.BryantAngles(None, 0.3, da.Polynomial((0.0, 0.5))))
    assert {"S.angle_2", "S.angle_3"} <= set(s.connections)
    s.drive("S", rotation=da.BryantAngles(0.2, None, None))
    assert {"S.angle_2", "S.angle_3"}.isdisjoint(s.connections) and "S.angle_1" in s.connections
    s.drive("S", rotation=da.BryantAngles(0.2, 0.0, 0.0))
    assert "S.angle_1" not in s.connections and list(s.drives) == ["S.rotation"]
    s.drive("S", rotation=da.BryantAngles(None, 0.0, None))
    assert "S.rotation" not in s.drives
    s.remove("S")
    assert not s.connections and not s.drives


def test_a_body_keeps_upright_while_it_falls_and_turns() -> None:
    s = da.System("upright")
    s.body("top", mass=2.0, com=(0.1, 0.0, 0.0), inertia=[0.3, 0.4, 0.5])
    s.drive("top", rotation=da.BryantAngles(0.0, 0.0, None))
    s.initial("top.motion", speed=(0, 0, 1.5, 0, 0, 0))
    result = da.simulate(s, 1.0)
    R = result["top.rotation"].reshape(-1, 3, 3)
    assert np.abs(R[:, 2, 2] - 1.0).max() < 1e-10
    assert np.abs(result["top.angular_velocity"][:, 2] - 1.5).max() < 1e-9  # nothing turns it about the vertical


def test_impossible_angles_are_reported() -> None:
    s = ball()
    s.drive("S", rotation=da.BryantAngles(None, da.Polynomial((0.0, 2.0)), None))
    with pytest.raises(da.DalembertError, match="angle_2") as caught:
        da.simulate(s, 2.0)
    assert "AngleConstraint needs it between -1.5708 and 1.5708" in str(caught.value)
    with pytest.raises(da.ModelError, match="at least one"):
        da.BryantAngles(None, None, None)
    with pytest.raises(da.ModelError, match="all three"):
        da.BryantAngles(None, 0.1, None)(0.0)
    assert AngleConstraint((0, 1, 2), 0).limits == (-np.pi, np.pi)
