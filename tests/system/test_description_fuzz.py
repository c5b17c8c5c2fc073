"""Whatever is put into the description of a system, it is taken or refused by name; nothing else happens."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dalembert import rotation
from dalembert.bodies import Body, Marker, shapes
from dalembert.connections import joints as joints
from dalembert.errors import DalembertError, ModelError, TopologyError
from dalembert.system import System

JOINTS: tuple[type[joints.Joint], ...] = (
    joints.Fixed,
    joints.Revolute,
    joints.Prismatic,
    joints.Screw,
    joints.Cylindrical,
    joints.Universal,
    joints.Planar,
    joints.Spherical,
    joints.Free,
)


class Unprintable:
    """A value that cannot be shown in a message."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


# ---- values that have no business in a mechanical system, next to some that have

EXTREMES = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 5e-324, 1e300, -1e308, math.inf, -math.inf, math.nan]
ODDITIES: list[Any] = [
    None,
    True,
    False,
    10**400,
    -(10**400),
    10**5000,
    1j,
    complex(0, math.nan),
    Decimal("1.5"),
    Decimal("NaN"),
    Decimal("1e1000"),
    Fraction(1, 3),
    "",
    " ",
    "x",
    "-y",
    "+Z",
    "1.0",
    "nan",
    "body",
    "ground",
    "ground.tip",
    "\0",
    "\ud800",
    "é" * 300,
    b"1",
    bytearray(b"x"),
    [],
    (),
    {},
    set(),
    {"x": 1},
    [[1, 2], [3]],
    [1, [2, 3]],
    [None, None, None],
    ["x", "y", "z"],
    "xyz",
    range(3),
    slice(3),
    object(),
    Unprintable(),
    object,
    int,
    len,
    lambda: 1.0,
    iter([1, 2, 3]),
    SimpleNamespace(as_matrix=lambda: None),
    SimpleNamespace(as_matrix=lambda: "x"),
    SimpleNamespace(as_matrix=3),
    np.float32(2.5),
    np.int64(3),
    np.bool_(True),
    np.datetime64("2020-01-01"),
    np.array(2.0),
    np.zeros(3),
    np.ones((3, 3)),
    np.eye(3),
    -np.eye(3),
    np.eye(3) * 1e200,
    np.full((3, 3), 1e308),
    np.full(3, np.nan),
    np.zeros((3, 3, 3)),
    np.zeros((0,)),
    np.array([1, 0, 0], dtype=np.int8),
    np.array([1, 0, 0], dtype=complex),
    np.array([1, 0, 0, 0], dtype=np.float32),
    np.array(["a", "b", "c"]),
    np.array([None, 1, 2], dtype=object),
    np.array([(1, 2)], dtype=[("a", int), ("b", int)]),
    np.ma.masked_array([1.0, 2.0, 3.0], mask=[True, False, False]),
    rotation.axis_angle("z", 0.3),
    ("x", 0.3),
    ("x", math.nan),
    ((0, 0, 0), 1.0),
    (1.0, 0.0, 0.0, 0.0),
    shapes.sphere(0.1, 1.0),
    joints.Revolute,
    joints.Revolute("x"),
    System,
    System("other"),
    System("other").ground,
    System("other").ground.at(1, 2, 3),
]

numbers = st.one_of(st.sampled_from(EXTREMES), st.floats(), st.integers())
vectors = st.one_of(st.lists(numbers, max_size=7), st.tuples(numbers, numbers, numbers))
matrices = st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=3, max_size=3)
junk = st.one_of(st.sampled_from(ODDITIES), numbers, vectors, matrices, st.text(max_size=5), st.binary(max_size=5))
quick = settings(max_examples=300, deadline=None, derandomize=True, database=None)


def taken_or_refused(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what the call returns, or None if it was refused properly; a refusal can be printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy, on the way to refusing what overflows
        try:
            return call(*args, **kwargs)
        except DalembertError as error:
            assert str(error)
            return None


def check_body(body: Body) -> None:
    assert math.isfinite(body.mass) and body.mass >= 0
    assert body.com.shape == (3,) and np.isfinite(body.com).all()
    assert body.inertia.shape == (3, 3) and np.isfinite(body.inertia).all()


def check_marker(marker: Marker) -> None:
    assert marker.position.shape == (3,) and np.isfinite(marker.position).all()
    assert abs(marker.rotation @ marker.rotation.T - np.eye(3)).max() < 1e-5
    assert marker.name


@quick
@given(name=junk, gravity=junk)
def test_a_system_is_made_or_refused(name: Any, gravity: Any) -> None:
    taken_or_refused(System, name)
    system = taken_or_refused(System, "s", gravity=gravity)
    if system is not None:
        assert system.gravity.shape == (3,) and np.isfinite(system.gravity).all()


@quick
@given(name=junk, shape=junk, data=st.data())
def test_a_body_is_made_or_refused(name: Any, shape: Any, data: st.DataObject) -> None:
    system = System()
    keywords = data.draw(
        st.fixed_dictionaries({}, optional={"mass": junk, "com": junk, "inertia": junk, "inertia_axes": junk})
    )
    for result in (
        taken_or_refused(system.body, name),
        taken_or_refused(system.body, "a", shape),
        taken_or_refused(system.body, "b", **keywords),
    ):
        if result is not None:
            check_body(result)
            assert system[result.name] is result
    taken_or_refused(system.forest)


@quick
@given(mass=numbers, inertia=st.one_of(matrices, vectors, st.lists(numbers, min_size=6, max_size=6)))
def test_a_body_of_numbers_is_made_or_refused(mass: Any, inertia: Any) -> None:
    body = taken_or_refused(System().body, "b", mass=mass, inertia=inertia)
    if body is not None:
        check_body(body)
        # no body that was taken has an axis about which it could not turn
        assert np.linalg.eigvalsh(body.inertia).min() >= -1e-5 * max(1e-300, float(np.abs(body.inertia).max()))


@quick
@given(
    make=st.sampled_from([shapes.rod, shapes.box, shapes.cylinder, shapes.sphere, shapes.plate, shapes.tube]),
    data=st.data(),
)
def test_a_shape_is_made_or_refused(make: Callable[..., shapes.Shape], data: st.DataObject) -> None:
    counts = {shapes.rod: 1, shapes.box: 3, shapes.cylinder: 2, shapes.sphere: 1, shapes.plate: 2, shapes.tube: 3}
    some = data.draw(st.sampled_from([numbers, junk]))
    lengths = [data.draw(some) for _ in range(counts[make])]
    keywords: dict[str, Any] = data.draw(st.fixed_dictionaries({}, optional={"mass": some, "density": some}))
    shape = taken_or_refused(make, *lengths, **keywords)
    if shape is not None:
        body = taken_or_refused(System().body, "b", shape)
        if body is not None:
            check_body(body)


@quick
@given(axis=junk, radius=junk)
def test_a_rod_has_a_known_axis(axis: Any, radius: Any) -> None:
    taken_or_refused(shapes.rod, 1.0, 1.0, axis)
    taken_or_refused(shapes.rod, 1.0, 1.0, radius=radius)


@quick
@given(label=junk, x=junk, y=junk, z=junk, turn=junk)
def test_a_marker_is_made_or_refused(label: Any, x: Any, y: Any, z: Any, turn: Any) -> None:
    body = System().body("b", mass=1.0)
    for result in (
        taken_or_refused(body.at, x, y, z),
        taken_or_refused(body.at, rotation=turn),
        taken_or_refused(body.marker, label),
        taken_or_refused(body.marker, "tip", x, y, z, rotation=turn),
    ):
        if result is not None:
            check_marker(result)


@quick
@given(kind=st.sampled_from(JOINTS), data=st.data())
def test_a_joint_is_made_or_refused(kind: type[joints.Joint], data: st.DataObject) -> None:
    fields = [*kind.directions, *(["pitch"] if kind is joints.Screw else [])]
    shared = ["lower", "upper", "max_speed", "max_effort", "damping", "friction", "armature"]
    keywords = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys((*fields, *shared), junk)))
    joint = taken_or_refused(kind, **keywords)
    if joint is None:
        return
    for field in kind.directions:
        assert math.isclose(float(np.linalg.norm(getattr(joint, field))), 1.0)
    for field in shared:
        value = getattr(joint, field)
        assert value is None or (value.shape == (joint.nv,) and np.isfinite(value).all())
    R = joint.frame()
    assert abs(R @ R.T - np.eye(3)).max() < 1e-8  # the axes of a universal joint may be askew by 1e-9
    C, c = joint.pose(joint.zero)
    assert abs(C - np.eye(3)).max() < 1e-12 and not c.any()


@quick
@given(name=junk, element=junk, first=junk, second=junk)
def test_a_connection_is_made_or_refused(name: Any, element: Any, first: Any, second: Any) -> None:
    system = System()
    a, b = system.body("a", mass=1.0), system.body("b", mass=1.0)
    taken_or_refused(system.connect, name, joints.Free(), a, b)
    taken_or_refused(system.connect, "element", element, a, b)
    taken_or_refused(system.connect, "first", joints.Free(), first, b)
    taken_or_refused(system.connect, "second", joints.Free(), a, second)
    assert system.forest().nb == 2


@quick
@given(kind=st.sampled_from(JOINTS), connection=junk, position=junk, speed=junk)
def test_start_values_are_taken_or_refused(
    kind: type[joints.Joint], connection: Any, position: Any, speed: Any
) -> None:
    system = System()
    system.connect("A", kind(), system.ground, system.body("a", mass=1.0))
    taken_or_refused(system.initial, connection, position=0.0)
    taken_or_refused(system.initial, "A", position=position)
    taken_or_refused(system.initial, "A", speed=speed)
    start = system.initials.get("A")
    if start is not None:
        assert start.position is None or start.position.shape == (kind().nq,)
        assert start.speed is None or start.speed.shape == (kind().nv,)


@quick
@given(name=junk)
def test_names_are_found_or_refused(name: Any) -> None:
    system = System()
    system.connect("A", joints.Free(), system.ground, system.body("body", mass=1.0))
    taken_or_refused(system.__getitem__, name)
    taken_or_refused(system.__contains__, name)
    taken_or_refused(system.remove, name)
    assert system.ground.name == "ground"


@quick
@given(value=junk, a=junk, b=junk, c=junk)
def test_a_rotation_is_made_or_refused(value: Any, a: Any, b: Any, c: Any) -> None:
    for result in (
        taken_or_refused(rotation.as_rotation_matrix, value),
        taken_or_refused(rotation.axis_angle, value, 0.3),
        taken_or_refused(rotation.axis_angle, "x", value),
        taken_or_refused(rotation.axis_angle, a, b),
        taken_or_refused(rotation.quaternion, a, b, c, value),
        taken_or_refused(rotation.euler, value),
        taken_or_refused(rotation.euler, (0.1, 0.2, 0.3), value),
        taken_or_refused(rotation.bryant, a, b, c),
    ):
        if result is not None:
            assert (abs(result @ result.swapaxes(-1, -2) - np.eye(3)) < 1e-5).all()  # one, or a stack of them
    for angles in (
        taken_or_refused(rotation.to_euler, value),
        taken_or_refused(rotation.to_euler, np.eye(3), value),
        taken_or_refused(rotation.to_bryant, value),
    ):
        if angles is not None:
            assert angles.shape[-1:] == (3,) and np.isfinite(angles).all()


@quick
@given(value=junk)
def test_a_quaternion_is_read_off_or_refused(value: Any) -> None:
    q = taken_or_refused(rotation.quaternion_from_matrix, value)
    if q is not None:
        assert q.shape == (4,) and math.isclose(float(np.linalg.norm(q)), 1.0, rel_tol=1e-6)


@quick
@given(body=junk)
def test_a_forest_lists_its_bodies(body: Any) -> None:
    system = System()
    system.connect("A", joints.Free(), system.ground, system.body("body", mass=1.0))
    forest = system.forest()
    taken_or_refused(forest.children, body)
    taken_or_refused(forest.path, body)


# ---- each bad input by itself: the message names the item, the field, the value and the way out


def refusal(call: Callable[..., Any], *args: Any, **kwargs: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        call(*args, **kwargs)
    error = caught.value
    assert error.item in str(error) and error.field in str(error) and error.remedy in str(error)
    return error


@pytest.mark.parametrize("mass", [-1.0, -1e-12, math.nan, math.inf, -math.inf, "1", True, [1.0], 1j])
def test_an_impossible_mass_is_refused(mass: Any) -> None:
    error = refusal(System().body, "crank", mass=mass)
    assert (error.item, error.field) == ("body 'crank'", "mass")
    assert repr(mass) in str(error)


@pytest.mark.parametrize("inertia", [(1, 1, 3), (0, 0, 1), [[3, 0, 0], [0, 1, 0], [0, 0, 1]], (1, 1, 1, 5, 0, 0)])
def test_an_inertia_that_no_body_has_is_refused(inertia: Any) -> None:
    error = refusal(System().body, "crank", mass=1.0, inertia=inertia)
    assert (error.item, error.field) == ("body 'crank'", "inertia")


@pytest.mark.parametrize("inertia", [(1, 1, 2), (1, 1, 2 + 1e-9), (0, 0, 0), (0, 1, 1)])
def test_a_flat_or_slender_body_is_taken(inertia: Any) -> None:
    check_body(System().body("plate", mass=1.0, inertia=inertia))


def test_an_inertia_that_is_not_symmetric_is_refused() -> None:
    error = refusal(System().body, "crank", inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])
    assert "symmetric" in error.remedy


@pytest.mark.parametrize(
    "field, value",
    [
        ("com", (0, 0)),
        ("com", (0, 0, math.nan)),
        ("com", [[0, 0, 0]]),
        ("com", "origin"),
        ("inertia", 1.0),
        ("inertia", (1, 1)),
        ("inertia", [[1, 2], [3]]),
        ("inertia", np.ones((3, 3, 3))),
        ("inertia", (1, 1, math.inf)),
        ("inertia_axes", (1, 2, 3)),
        ("inertia_axes", 2 * np.eye(3)),
        ("inertia_axes", -np.eye(3)),
    ],
)
def test_numbers_of_the_wrong_shape_or_size_are_refused(field: str, value: Any) -> None:
    error = refusal(System().body, "crank", **{field: value})
    assert error.item == "body 'crank'" and field in error.field


@pytest.mark.parametrize("value", [np.array([1 + 2j, 0, 0]), np.array([1, 2, 3], dtype="datetime64[D]"), [True, 0, 0]])
def test_numbers_that_are_not_real_are_refused(value: Any) -> None:
    refusal(System, "s", gravity=value)


@pytest.mark.parametrize("name", ["", " ", " a", "a ", 3, None, b"a", "ground"])
def test_a_name_must_be_a_plain_string(name: Any) -> None:
    system = System()
    assert refusal(system.body, name).field == "name"
    body = system.body("b")
    assert refusal(system.connect, name, joints.Free(), system.ground, body).field == "name"


def test_a_name_is_given_once() -> None:
    system = System("mill")
    a = system.body("a")
    system.connect("A", joints.Free(), system.ground, a)
    for again in ("a", "A"):
        assert "'mill' has a part of that name" in refusal(system.body, again).remedy
        assert "'mill' has a part of that name" in refusal(system.connect, again, joints.Free(), a, a).remedy
    a.marker("tip")
    assert refusal(a.marker, "tip").item == "body 'a'"


def test_an_unknown_name_is_answered_with_a_known_one() -> None:
    system = System()
    crank = system.body("crank")
    crank.marker("tip")
    assert "'crank'" in refusal(system.__getitem__, "krank").remedy
    assert "'crank.tip'" in refusal(system.__getitem__, "crank.top").remedy
    assert refusal(system.initial, "A", position=1.0).field == "name"
    assert refusal(system.remove, "A").field == "name"


def test_a_marker_of_another_system_is_refused() -> None:
    here, there = System("here"), System("there")
    a, b = here.body("a"), there.body("a")
    for stranger in (b, b.at(1, 2, 3), b.marker("tip"), there.ground):
        error = refusal(here.connect, "A", joints.Free(), a, stranger)
        assert (error.item, error.field) == ("connection 'A'", "second") and "'here'" in error.remedy
        assert refusal(here.connect, "A", joints.Free(), stranger, a).field == "first"
    assert not here.connections


def test_a_removed_body_cannot_be_connected() -> None:
    system = System()
    a, b = system.body("a"), system.body("b")
    system.remove("a")
    assert refusal(system.connect, "A", joints.Free(), a, b).field == "first"


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind.directions])
@pytest.mark.parametrize("axis", [(0, 0, 0), (1, 0), (math.nan, 0, 1), (math.inf, 0, 0), "w", "", "xy", None, 1.0])
def test_an_axis_needs_a_direction(kind: type[joints.Joint], axis: Any) -> None:
    error = refusal(kind, **{kind.directions[0]: axis})
    assert (error.item, error.field) == (kind.__name__, kind.directions[0])


def test_the_axes_of_a_universal_joint_are_perpendicular() -> None:
    assert refusal(joints.Universal, "x", (1, 1, 0)).field == "axis_2"


def test_a_joint_connects_two_bodies() -> None:
    system = System()
    a = system.body("a")
    for first, second in ((a, a), (a.at(1, 0, 0), a), (system.ground, system.ground.at(0, 1, 0))):
        error = refusal(system.connect, "A", joints.Revolute("z"), first, second)
        assert (error.item, error.field) == ("connection 'A'", "second") and "two different bodies" in error.remedy


def test_an_element_must_be_called() -> None:
    system = System()
    a = system.body("a")
    assert "Revolute()" in refusal(system.connect, "A", joints.Revolute, system.ground, a).remedy
    assert refusal(system.connect, "A", "revolute", system.ground, a).field == "element"
    assert refusal(system.connect, "A", joints.Free(), "grund", a).field == "first"


@pytest.mark.parametrize(
    "keywords",
    [
        {"lower": 1.0, "upper": -1.0},
        {"lower": math.nan},
        {"upper": math.inf},
        {"lower": (0, 1)},
        {"lower": [[1, 2], [3]]},
        {"damping": -0.1},
        {"friction": -0.1},
        {"max_speed": -1},
        {"max_effort": "high"},
        {"armature": -1},
    ],
)
def test_bad_limits_are_refused(keywords: dict[str, Any]) -> None:
    error = refusal(joints.Revolute, "z", **keywords)
    assert error.item == "Revolute" and error.field in keywords


@pytest.mark.parametrize(
    "kind, position",
    [
        (joints.Revolute, math.nan),
        (joints.Revolute, (0.0, 0.0)),
        (joints.Revolute, "0"),
        (joints.Planar, 0.0),
        (joints.Planar, [[1, 2], [3]]),
        (joints.Spherical, (0, 0, 0, 0)),
        (joints.Spherical, (0, 0, 0)),
        (joints.Free, (1, 0, 0, 0)),
    ],
)
def test_bad_start_values_are_refused(kind: type[joints.Joint], position: Any) -> None:
    system = System()
    system.connect("A", kind(), system.ground, system.body("a"))
    refusal(system.initial, "A", position=position)
    assert "A" not in system.initials


@pytest.mark.parametrize(
    "make, sizes",
    [
        (shapes.rod, (0.0,)),
        (shapes.rod, (-1.0,)),
        (shapes.box, (1.0, math.nan, 1.0)),
        (shapes.cylinder, (1.0, 0.0)),
        (shapes.sphere, ("1",)),
        (shapes.plate, (1.0, math.inf)),
        (shapes.tube, (1.0, 0.1, 0.2)),
        (shapes.tube, (1.0, 0.1, 0.1)),
    ],
)
def test_a_shape_of_impossible_size_is_refused(make: Callable[..., Any], sizes: tuple[Any, ...]) -> None:
    assert refusal(make, *sizes, mass=1.0).item == make.__name__


def test_a_shape_brings_its_own_mass() -> None:
    assert refusal(System().body, "b", shapes.sphere(0.1, 1.0), mass=2.0).field == "mass"
    assert refusal(System().body, "b", shapes.sphere(0.1)).field == "mass"
    assert refusal(shapes.sphere, 0.1, 1.0, density=1.0).field == "mass"
    assert refusal(shapes.rod, 1.0, density=7800.0).field == "density"
    assert refusal(shapes.sphere, 0.1, -1.0).field == "mass"


def test_a_system_without_bodies_has_no_forest() -> None:
    with pytest.raises(TopologyError, match="'empty' has no bodies"):
        System("empty").forest()


def test_an_error_can_show_any_value() -> None:
    for value in (Unprintable(), 10**5000, "x" * 10**6, np.zeros(10**6)):
        assert len(str(refusal(System().body, "b", mass=value))) < 500
