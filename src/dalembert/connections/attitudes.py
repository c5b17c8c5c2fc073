"""Orientation laws of time, for drives of spherical and free joints.

An orientation law is called with a time (s). It returns the unit quaternion (scalar first) of the second marker in the
first, and angular velocity and acceleration in axes of the second. It is built from time laws of three angles, or of
the four components of a quaternion p of any length. With p' and p'' the rates of p, from those of the laws,

    omega = 2 Im(p* p') / |p|^2        omega' = 2 Im(p* p'') / |p|^2 - 2 (p . p') / |p|^2 omega                     (1)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked, finite_array, shape_of
from ..errors import ModelError
from ..provenance import record_makers
from ..rotation import as_rotation_matrix, euler, euler_velocity, quaternion_from_matrix, quaternion_product
from .laws import Constant, Law, Spline, as_law

if TYPE_CHECKING:
    from .joints import Joint

__all__ = [
    "Attitude",
    "AttitudeSpline",
    "BryantAngles",
    "EulerAngles",
    "as_attitude",
    "attitude_start",
    "with_attitude",
]


class Attitude:
    """Base of all orientation laws.

    Attributes
    ----------
    laws : tuple of law
        Of three angles (rad), or of the four components of a quaternion.
    axes : tuple of int
        Rotation axes of the angles, 0 to 2, each in the frame rotated by those before; empty for a quaternion.
    """

    laws: tuple[Law, ...]
    axes: tuple[int, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        record_makers(cls)

    @property
    def parts(self) -> dict[int, Law]:
        """Given angles by number, if others are left open; empty if the whole orientation is given."""
        return {}

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Return quaternion (4,), angular velocity (3,) rad/s and acceleration (3,) rad/s2 at t, s."""
        jets = np.array([law(t) for law in self.laws], dtype=float)
        p, rate, second = _after(self.axes, jets) if self.axes else (jets[:, 0], jets[:, 1], jets[:, 2])
        square = float(p @ p)
        if not square > 0.0:
            raise ModelError("attitude", f"length of the quaternion at t = {t:.6g} s", 0.0, "give more orientations")
        conjugate = p * np.array([1.0, -1.0, -1.0, -1.0])
        omega = 2 * quaternion_product(conjugate, rate)[1:] / square
        bend = 2 * quaternion_product(conjugate, second)[1:] / square - 2 * float(p @ rate) / square * omega
        return p / np.sqrt(square), omega, bend


class EulerAngles(Attitude):
    """Orientation by three successive rotations, each a time law.

    Parameters
    ----------
    angles : (3,) of number, callable of t, or law; rad
        None for one or two that are left open. Given angles then stay within +-180 degrees; the second within +-90
        degrees, or between 0 and 180 degrees if first and third rotate about the same axis.
    convention : str
        Three axis letters as in `rotation.euler`. Capitals: each rotation about an axis already rotated (``"ZXZ"``
        Euler, ``"XYZ"`` Bryant); small letters: about axes of the first marker.

    Any angles give a regular orientation: *following* given angles has no singular configuration.

    Examples
    --------
    >>> import dalembert as da
    >>> q, omega, _ = EulerAngles((0.0, 0.0, da.Polynomial((0.0, 2.0))), "ZXZ")(0.5)
    >>> omega.round(12), q.round(6)
    (array([0., 0., 2.]), array([0.877583, 0.      , 0.      , 0.479426]))
    """

    def __init__(self, angles: Sequence[Any], convention: str = "ZXZ") -> None:
        item = type(self).__name__
        letters = convention if isinstance(convention, str) else ""
        if len(letters) != 3 or letters.lower().strip("xyz") or not (letters.isupper() or letters.islower()):
            raise ModelError(item, "convention", convention, 'give three axes, "ZXZ", or "xyz" for fixed axes')
        if any(a == b for a, b in pairwise(letters)):
            raise ModelError(
                item,
                "convention",
                convention,
                "two successive rotations about one axis are one rotation: use another axis",
            )
        if isinstance(angles, (str, bytes)) or not isinstance(angles, (Sequence, np.ndarray)) or len(angles) != 3:
            raise ModelError(item, "angles", angles, "give three: numbers, functions of time, or laws")
        given = {
            k: as_law(angle, item=item, field=f"angles[{k}]") for k, angle in enumerate(angles) if angle is not None
        }
        if not given:
            raise ModelError(item, "angles", angles, "give at least one; None stands for one that is left open")
        axes = ["xyz".index(letter) for letter in letters.lower()]
        if letters.islower():
            given, axes = {2 - k: law for k, law in given.items()}, axes[::-1]
        self.convention = letters
        self.laws, self.axes = tuple(given[k] for k in sorted(given)), tuple(axes)
        self._parts = given if len(given) < 3 else {}

    @property
    def parts(self) -> dict[int, Law]:
        return dict(self._parts)

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        if self._parts:
            missing = 3 - len(self._parts)
            raise ModelError(type(self).__name__, "angles left open", missing, "an orientation needs all three")
        return super().__call__(t)


class BryantAngles(EulerAngles):
    """Orientation by Bryant (Cardan) angles about x, the turned y, the turned z; each a time law, rad.

    None for one or two that are left open; see `EulerAngles`.
    """

    def __init__(self, angle_1: Any, angle_2: Any, angle_3: Any) -> None:
        super().__init__((angle_1, angle_2, angle_3), "XYZ")


@checked("degree")
class AttitudeSpline(Attitude):
    """Smooth orientation through given ones: a spline of quaternions.

    Parameters
    ----------
    times : (n,) s
        Strictly increasing.
    rotations : (n, 4) quaternions, scalar first, (n, 3, 3) matrices, or a sequence of n rotations of any form
        Successive ones differ by less than 180 degrees: the shorter rotation between them is used.
    degree : int
        3 or 5, of the spline; at least degree + 1 orientations.

    Components of quaternions, with consistent signs, are interpolated by splines, and the result is normalised. The
    given orientations are met exactly. Angular acceleration is continuous (degree 3) or twice differentiable (degree
    5). The result does not depend on the choice of axes or of the reference orientation. Outside the table there is no
    value.

    Examples
    --------
    >>> import dalembert as da
    >>> turns = [da.rotation.axis_angle("z", a) for a in (0.0, 0.5, 1.0, 1.5)]
    >>> q, omega, _ = AttitudeSpline([0, 1, 2, 3], turns)(2.0)
    >>> bool(abs(q - da.rotation.quaternion_from_matrix(turns[2])).max() < 1e-15), omega[:2].tolist()
    (True, [0.0, 0.0])
    """

    def __init__(self, times: ArrayLike, rotations: Any, degree: int = 3) -> None:
        item = "AttitudeSpline"
        shape = shape_of(rotations)
        if shape is not None and len(shape) == 2 and shape[1] == 4:
            q = finite_array(rotations, shape, item=item, field="rotations").copy()
            lengths = np.linalg.norm(q, axis=1)
            if (lengths < 1e-12).any():
                k = int(lengths.argmin())
                raise ModelError(item, f"rotations[{k}]", q[k], "a quaternion needs a length other than zero")
            q /= lengths[:, None]
        else:
            try:
                listed = list(rotations)
            except TypeError:
                raise ModelError(item, "rotations", rotations, "give one for each time") from None
            q = np.array([quaternion_from_matrix(as_rotation_matrix(r, item=item)) for r in listed]).reshape(-1, 4)
        count = shape_of(times)
        if count is None or count != (len(q),):
            raise ModelError(item, "times", times, f"give one for each of {len(q)} rotations")
        for k in range(1, len(q)):
            cosine = float(q[k - 1] @ q[k])
            if abs(cosine) < 1e-6:
                where = f"rotations[{k - 1}:{k + 1}]"
                raise ModelError(item, where, q[k - 1 : k + 1], "they are 180 degrees apart: give one in between")
            q[k] *= np.sign(cosine)
        self.times, self.rotations = np.asarray(times, dtype=float), q
        try:
            self.laws = tuple(Spline(self.times, column, degree) for column in q.T)
        except ModelError as error:
            raise ModelError(item, error.field, error.value, error.remedy) from None
        self._check_length()

    def _check_length(self) -> None:
        """Raise `ModelError` for orientations so far apart that the spline between them comes near zero."""
        fine = np.linspace(self.times[0], self.times[-1], 20 * len(self.times))
        length = np.linalg.norm([law._curves[0](fine) for law in self.laws], axis=0)  # type: ignore[attr-defined]
        k = int(length.argmin())
        if length[k] < 0.3:
            at = f"length of the spline at t = {fine[k]:.6g} s"
            raise ModelError("AttitudeSpline", at, float(length[k]), "the orientations are too far apart: give more")


def as_attitude(rotation: Any, *, item: str) -> Attitude:
    """Return an orientation law from one, or from a constant rotation of any form."""
    if isinstance(rotation, Attitude):
        return rotation
    if callable(rotation):
        remedy = "give a BryantAngles, EulerAngles or AttitudeSpline, whose laws may be functions, or a rotation"
        raise ModelError(item, "rotation", rotation, remedy)
    held = Attitude()
    held.laws = tuple(Constant(float(c)) for c in quaternion_from_matrix(as_rotation_matrix(rotation, item=item)))
    return held


def attitude_start(
    item: str, rotation: Any, bryant: Any, euler_angles: Any, angle_rates: Any, *, axes: str
) -> tuple[Array | None, Array | None]:
    """Return the initial rotation (3, 3) and angular velocity (3,); None where not given.

    Parameters
    ----------
    item : str
        Item name for errors.
    rotation : any form of a rotation
    bryant : (3,) rad
    euler_angles : (3,) rad, or a pair of these and a convention
        At most one of the three.
    angle_rates : (3,) rad/s
        Of the angles given.
    axes : str
        Of the angular velocity: ``"fixed"`` or ``"turned"``.
    """
    given = {
        name: value
        for name, value in (("rotation", rotation), ("bryant", bryant), ("euler", euler_angles))
        if value is not None
    }
    if len(given) > 1:
        raise ModelError(
            item, " and ".join(given), [*given.values()], "give one of them: each defines the whole orientation"
        )
    if angle_rates is not None and (not given or rotation is not None):
        raise ModelError(item, "angle_rates", angle_rates, "give the angles too, as bryant=... or euler=...")
    if not given:
        return None, None
    if rotation is not None:
        return as_rotation_matrix(rotation, item=item), None
    angles, convention = (bryant, "XYZ") if bryant is not None else _with_convention(euler_angles)
    angles = finite_array(angles, (3,), item=item, field=next(iter(given)))
    if angle_rates is None:
        return euler(angles, convention), None
    rates = finite_array(angle_rates, (3,), item=item, field="angle_rates")
    return euler(angles, convention), euler_velocity(angles, rates, convention, axes=axes)


@checked("joint", "position", "speed", "omega")
def with_attitude(
    joint: Joint, position: Array | None, speed: Array | None, R: Array, omega: Array | None
) -> tuple[Array, Array | None]:
    """Return configuration (nq,) and velocity (nv,) of a joint with a given orientation and angular velocity.

    What is not given otherwise is NaN.
    """
    if "qw" not in joint.coordinates:
        raise ModelError("attitude", "joint", joint.kind, "give a Spherical or Free joint")
    for name, given, size in (("position", position, joint.nq), ("speed", speed, joint.nv), ("omega", omega, 3)):
        if given is not None and np.shape(given) != (size,):
            raise ModelError("attitude", f"the shape of {name}", np.shape(given), f"give ({size},)")
    places = np.full(joint.nq, np.nan) if position is None else position
    k = joint.coordinates.index("qw")
    places[k : k + 4] = quaternion_from_matrix(R)
    if omega is None:
        return places, speed
    speeds = np.full(joint.nv, np.nan) if speed is None else speed
    k = joint.speeds.index("wx")
    speeds[k : k + 3] = omega
    return places, speeds


def _with_convention(angles: Any) -> tuple[Any, str]:
    """Return angles and their convention, default ``"ZXZ"``."""
    if isinstance(angles, (tuple, list)) and len(angles) == 2 and isinstance(angles[1], str):
        return angles[0], angles[1]
    return angles, "ZXZ"


def _after(axes: tuple[int, ...], angles: Array) -> tuple[Array, Array, Array]:
    """Return the quaternion of successive rotations and two derivatives; angles (3, 3): value, rate, second rate."""
    p, rate, second = np.array([1.0, 0, 0, 0]), np.zeros(4), np.zeros(4)
    for axis, (angle, turning, bend) in zip(axes, angles, strict=True):
        unit = np.eye(4)[axis + 1]
        scalar = np.eye(4)[0]
        s, c = np.sin(angle / 2), np.cos(angle / 2)
        e, across = c * scalar + s * unit, c * unit - s * scalar
        e1, e2 = turning / 2 * across, bend / 2 * across - turning**2 / 4 * e
        second = quaternion_product(second, e) + 2 * quaternion_product(rate, e1) + quaternion_product(p, e2)
        rate = quaternion_product(rate, e) + quaternion_product(p, e1)
        p = quaternion_product(p, e)
    return p, rate, second
