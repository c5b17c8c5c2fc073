"""Bodies by shape, by numbers, by both; point masses; decoration; connections by name; parts that nothing holds."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.view.scene import solids

# ---- shapes and numbers


@pytest.mark.parametrize(
    "shape",
    [
        lambda **mass: da.rod(0.7, **mass),
        lambda **mass: da.rod(0.7, radius=0.1, axis="y", **mass),
        lambda **mass: da.box(0.1, 0.2, 0.3, **mass),
        lambda **mass: da.cylinder(0.5, 0.2, axis="x", **mass),
        lambda **mass: da.sphere(0.3, **mass),
        lambda **mass: da.plate(0.4, 0.5, **mass),
        lambda **mass: da.tube(0.5, 0.3, 0.2, **mass),
    ],
)
def test_a_mass_may_be_given_to_the_shape_or_to_the_body(shape: object) -> None:
    s = da.System()
    a, b = s.body("a", shape(mass=2.5)), s.body("b", shape(), mass=2.5)  # type: ignore[operator]
    assert (a.mass, a.com.tolist()) == (b.mass, b.com.tolist()) and np.allclose(a.inertia, b.inertia, rtol=1e-15)


def test_a_shape_may_have_an_inertia_and_a_centre_of_its_own() -> None:
    s = da.System()
    a = s.body("a", da.cylinder(0.5, 0.2), mass=3.0, inertia=(0.3, 0.2, 0.1))
    assert a.mass == 3.0 and a.inertia.tolist() == np.diag([0.3, 0.2, 0.1]).tolist() and not a.com.any()
    b = s.body(
        "b", da.cylinder(0.5, 0.2, mass=3.0), com=(0, 0, 0.1), inertia=(0.1, 0.3, 0.3), inertia_axes=("z", np.pi / 2)
    )
    assert b.mass == 3.0 and b.com.tolist() == [0, 0, 0.1] and np.allclose(b.inertia, np.diag([0.3, 0.1, 0.3]))
    assert b.shape is not None and s.copy().bodies["b"].shape is b.shape


@pytest.mark.parametrize(
    "given, message",
    [
        (
            lambda s: s.body("k", da.cylinder(1, 0.1)),
            "body 'k': mass is None; give its cylinder mass= or density=, or the body",
        ),
        (
            lambda s: s.body("k", da.cylinder(1, 0.1, mass=2.0), mass=3.0),
            "body 'k': mass is 3.0; its cylinder has 2 kg already",
        ),
        (
            lambda s: s.body("k", da.rod(1, 1.0), com=(0, 0, 0)),
            r"body 'k': com .*centre than that of the rod, \(0\.5.*inertia=",
        ),
        (lambda s: s.body("k", da.rod(1, 1.0), inertia_axes=("z", 1.0)), "body 'k': inertia_axes"),
        (lambda s: s.body("k", da.box(1, 1, 1), mass=1.0, inertia=(1, 1, 5)), "body 'k': inertia .*add up"),
    ],
)
def test_shapes_and_numbers_that_contradict_are_refused(given: object, message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        given(da.System())  # type: ignore[operator]


# ---- point masses


def test_a_point_mass_swings_slides_and_flies() -> None:
    s = da.System("pendulum")
    s.connect("A", da.Revolute("y"), s.ground, s.body("bob", mass=2.0, com=(0.5, 0, 0)))
    assert s.compile().forward_dynamics([0.0], [0.0])[0] == pytest.approx(9.81 / 0.5)
    s = da.System("slide")
    s.connect("X", da.Prismatic("z"), s.ground, s.body("p", mass=2.0))
    assert s.compile().forward_dynamics([0.0], [0.0])[0] == pytest.approx(-9.81)
    s = da.System("flight")
    s.connect("F", da.CustomJoint(["x", "y", "z"], ["x", "y", "z"]), s.ground, s.body("p", mass=2.0))
    s.initial("F", speed=(1.0, 0.0, 3.0))
    assert da.simulate(s, 0.5)["p.position"][-1] == pytest.approx([0.5, 0, 1.5 - 9.81 / 8])
    s = da.System("arm's end")
    arm = s.body("arm", da.rod(1.0, mass=1.0))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("E", da.Fixed(), arm.at(1.0), s.body("p", mass=2.0))
    assert s.compile().forward_dynamics([0.0], [0.0])[0] == pytest.approx(9.81 * 2.5 / (1 / 3 + 2))


@pytest.mark.parametrize("joint, spins", [(da.Free(), "'F.wx', 'F.wy', 'F.wz'"), (da.Revolute("x"), "'F'")])
def test_the_spin_of_a_point_mass_is_named_with_the_ways_out(joint: da.joints.Joint, spins: str) -> None:
    s = da.System("point")
    s.connect("F", joint, s.ground, s.body("p", mass=1.0))
    with pytest.raises(da.ModelError) as caught:
        s.compile()
    message = str(caught.value)
    for words in ("body 'p'", spins, "no inertia", "inertia=", "shape", "point mass has no orientation", "CustomJoint"):
        assert words in message


def test_a_point_mass_that_nothing_holds_is_named_too() -> None:
    s = da.System("lost")
    s.body("p", mass=1.0)
    with pytest.raises(da.ModelError, match=r"body 'p'.*'p\.free\.wx', 'p\.free\.wy', 'p\.free\.wz'"):
        s.compile()


# ---- decoration


def test_decoration_is_drawn_and_has_no_mass() -> None:
    s = da.System("cart")
    cart = s.body("cart", da.box(1.0, 0.5, 0.2, mass=10.0))
    for x in (-0.4, 0.4):
        cart.decorate(da.cylinder(0.05, 0.1, axis="y"), x, 0.3, -0.1)
    pole = cart.decorate(da.rod(1.0, 7.0, "z", radius=0.02), z=0.1)
    assert (pole.kind, pole.position.tolist()) == ("cylinder", [0, 0, 0.6])
    cart.decorate(da.tube(0.2, 0.1, 0.05), rotation=("x", 0.5))
    cart.decorate(da.plate(0.2, 0.1))
    assert cart.mass == 10.0
    drawn = solids.of_body(s.copy().bodies["cart"])
    assert len(drawn) == 6
    assert drawn[3].corners[:, 2].min() == pytest.approx(0.1) and drawn[3].corners[:, 2].max() == pytest.approx(1.1)
    s.connect("X", da.Prismatic("x"), s.ground, cart)
    s.draw()


def test_a_slender_rod_keeps_its_line_beside_its_decoration() -> None:
    s = da.System("hammer")
    bar = s.body("bar", da.rod(1.0, mass=1.0))
    s.connect("A", da.Revolute("y"), s.ground, bar)
    bar.decorate(da.box(0.1, 0.1, 0.2), 1.0)
    from dalembert.view.scene.scene import Scene

    (figure,) = (f for f in Scene(s.compile()).bodies if f.name == "bar")
    assert len(figure.solids) == 1 and len(figure.bars) == 1


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda b: b.decorate("box"), "decoration of body 'b': shape is 'box'"),
        (lambda b: b.decorate(da.rod(1.0)), "radius"),
        (lambda b: b.system.ground.decorate(da.box(1, 1, 1)), "fixed to ground"),
    ],
)
def test_decoration_that_cannot_be_drawn_is_refused(wrong: object, message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        wrong(da.System().body("b", mass=1.0))  # type: ignore[operator]


# ---- connections by name


def test_connections_take_the_names_that_outputs_take() -> None:
    results = []
    for named in (True, False):
        s = da.System("double")
        a, b = s.body("a", da.rod(1.0, mass=1.0)), s.body("b", da.rod(1.0, mass=1.0))
        tip = a.marker("tip", 1.0)
        if named:
            s.connect("A", da.Revolute("y"), "ground.at(0, 0, 2)", "a")
            s.connect("B", da.Revolute("y"), "a.tip", "b")
            s.connect("k", da.SpringDamper(50.0), "ground", "b.at(0.5, 0, 0).at(0.5, 0, 0)")
        else:
            s.connect("A", da.Revolute("y"), s.ground.at(0, 0, 2), a)
            s.connect("B", da.Revolute("y"), tip, b)
            s.connect("k", da.SpringDamper(50.0), s.ground, b.at(1.0))
        results.append(da.simulate(s, 0.3))
    one, other = results
    assert (one.q == other.q).all()
    assert (one["b.at(0.5, 0, 0).at(0.5, 0, 0).position"] == one["b.at(1, 0, 0).position"]).all()
    assert (one.model.pose("b.at(1, 0, 0)", one.q).position == one["b.at(1, 0, 0).position"]).all()


# ---- parts that nothing holds


def _pair(gravity: tuple[float, float, float] = (0, 0, -9.81)) -> da.System:
    s = da.System("pair", gravity=gravity)
    a, b = s.body("a", da.box(0.1, 0.1, 0.1, mass=1.0)), s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("A", da.Revolute("y"), a, b)
    return s


def test_a_forgotten_connection_to_ground_is_reported() -> None:
    s = _pair()
    (note,) = da.simulate(s, 0.1).stats.notes
    assert "'a' and 'b' are not connected to ground by anything and fall freely" in note and "da.Free()" in note
    assert note in str(s.check())


@pytest.mark.parametrize(
    "meant",
    [
        lambda s: s.connect("F", da.Free(), "ground", "a"),
        lambda s: s.place("b", position=(0, 0, 1)),
        lambda s: s.connect("k", da.SpringDamper(10.0, length=1.0), "ground.at(0, 0, 2)", "b"),
        lambda s: s.connect("d", da.Distance(2.0), "ground.at(0, 0, 2)", "a"),
        lambda s: s.connect("thrust", da.Load(force=(0, 0, 20.0)), "a"),
        lambda s: setattr(s, "gravity", np.zeros(3)),
    ],
)
def test_parts_that_fly_on_purpose_are_not_remarked_upon(meant: object) -> None:
    s = _pair()
    meant(s)  # type: ignore[operator]
    assert da.simulate(s, 0.01).stats.notes == [] and "fall" not in str(s.check())


def test_an_unconnected_body_starts_at_its_placed_position() -> None:
    s = da.System("stone", gravity=(0, 0, 0))
    s.body("stone", da.sphere(0.1, mass=1.0))
    with pytest.raises(
        da.ModelError, match=r"'stone\.free'.*place\('stone', \.\.\.\).*connect\('stone\.free', Free\(\)"
    ):
        s.initial("stone.free", speed=np.ones(6))
    s.connect("stone.free", da.Free(), "ground", "stone")
    s.initial("stone.free", speed=[0, 0, 0, 1, 0, 0])
    assert da.simulate(s, 1.0)["stone.position"][-1] == pytest.approx([1, 0, 0])


# ---- small things


def test_attitudes_as_quaternions_and_bryant_angles() -> None:
    angles = np.array([0.3, -0.5, 2.0])
    R = da.bryant(*angles)
    assert da.to_bryant(R) == pytest.approx(angles)
    assert da.quaternion(*da.to_quaternion(R)) == pytest.approx(R)
    assert da.to_quaternion(("z", 0.5)) == pytest.approx([np.cos(0.25), 0, 0, np.sin(0.25)])
    folded = da.to_bryant(da.bryant(0.3, np.pi / 2, 0.2))
    assert folded[2] == 0.0 and da.bryant(*folded) == pytest.approx(da.bryant(0.3, np.pi / 2, 0.2), abs=1e-12)
    s = da.System("thrown", gravity=(0, 0, 0))
    stone = s.body("stone", da.box(0.1, 0.2, 0.3, mass=1.0))
    stone.marker("face", rotation=("y", 0.4))
    s.place("stone", rotation=R, angular_velocity=(1.0, 2.0, 0.5))
    result = da.simulate(s, 1.0)
    assert result["stone.bryant"][0] == pytest.approx(angles)
    for k, row in enumerate(result["stone.face.bryant"]):
        assert da.bryant(*row) == pytest.approx(result["stone.face.rotation"][k], abs=1e-12)
    assert (result["stone.bryant.2"] == result["stone.bryant"][:, 1]).all()


def test_messages_read_as_sentences() -> None:
    with pytest.raises(
        da.ModelError, match=r"formula is '-k\*s - c\*ds'; the name 'c' in it is unknown here; known are"
    ):
        da.Element("joint", "-k*s - c*ds", {"k": 1.0})
    s = da.System()
    s.connect("A", da.Revolute("y"), s.ground, s.body("a", da.rod(1.0, mass=1.0)))
    with pytest.raises(da.ModelError, match=r"give 1 real number$"):
        s.initial("A", position=[1.0, 2.0])
