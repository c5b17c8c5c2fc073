"""Every form of a rotation gives the same matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.rotation import as_rotation_matrix, quaternion_from_matrix


@pytest.mark.parametrize("seed", range(20))
def test_conversions_agree_with_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    reference = Rotation.from_quat(q, scalar_first=True)
    R = da.quaternion(*q)
    assert np.allclose(R, reference.as_matrix(), atol=1e-15)
    assert np.allclose(quaternion_from_matrix(R), q if q[0] >= 0 else -q, atol=1e-15)
    vector = reference.as_rotvec()
    assert np.allclose(da.axis_angle(vector, np.linalg.norm(vector)), R, atol=1e-14)
    for convention in ("ZXZ", "XYZ", "xyz", "zyx", "YXZ", "zxz"):
        angles = reference.as_euler(convention)
        assert np.allclose(da.euler(angles, convention), R, atol=1e-14)
        assert np.allclose(da.euler(da.to_euler(R, convention), convention), R, atol=1e-14)
    for form in (R, q, -q, R.tolist(), reference, (vector, float(np.linalg.norm(vector)))):
        assert np.allclose(as_rotation_matrix(form), R, atol=1e-14)


def test_bryant_angles_are_three_turns_about_body_axes() -> None:
    x, y, z = 0.3, -0.4, 0.5
    R = da.bryant(x, y, z)
    assert np.allclose(R, da.axis_angle("x", x) @ da.axis_angle("y", y) @ da.axis_angle("z", z), atol=1e-15)
    # Sol 1983, (2.2.18), transposed (erratum 1): first row (c2 c3, -c2 s3, s2)
    assert np.allclose(R[0], [np.cos(y) * np.cos(z), -np.cos(y) * np.sin(z), np.sin(y)], atol=1e-15)
    assert np.allclose(da.to_bryant(R), [x, y, z], atol=1e-15)


@pytest.mark.parametrize("turn", [np.pi, -np.pi, 3.0, 0.0, 1e-9])
@pytest.mark.parametrize("axis", ["x", "-y", "z", (1, 1, 1), (1, -2, 3)])
def test_quaternions_survive_half_turns(axis: object, turn: float) -> None:
    R = da.axis_angle(axis, turn)
    assert np.allclose(da.quaternion(*quaternion_from_matrix(R)), R, atol=1e-15)


@pytest.mark.parametrize(
    "form",
    [
        np.eye(2),
        2 * np.eye(3),
        np.diag([1.0, 1.0, -1.0]),
        (1.0, 1.0, 0.0, 0.0),
        (0.1, 0.2, 0.3),
        ("x", np.nan),
        ((0, 0, 0), 1.0),
        ("w", 1.0),
        "xyz",
        object(),
        7,
    ],
)
def test_what_is_no_rotation_is_refused(form: object) -> None:
    with pytest.raises(da.ModelError):
        as_rotation_matrix(form)


@pytest.mark.parametrize("convention", ["XXZ", "XY", "XyZ", "ABC", "", "XYZX"])
def test_a_convention_needs_three_letters(convention: str) -> None:
    with pytest.raises(da.ModelError, match="convention"):
        da.euler((0, 0, 0), convention)
