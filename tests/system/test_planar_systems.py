"""Systems that are said to move in a plane: three coordinates instead of six (Sol 1983, section 9.1)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.linkages import four_bar

import dalembert as da

NORMALS: list[Any] = ["y", "-y", (0.0, 1.0, 0.0)]


def moving_four_bar(planar: Any = None, *, layer: float = 0.0, cut: str = "D", **of_pin: Any) -> da.System:
    """Links 1, 2.5 and 2 m; options `of_pin` for the pin at which the loop is cut."""
    s = four_bar((1.0, 2.5, 2.0), 2.5, layer=layer, cut=cut, joints={cut: of_pin}, planar=planar)
    for name, angle in (("A", -1.047198), ("B", 0.582618), ("C", 2.153161 - math.pi)):
        if name != cut:
            s.initial(name, position=angle, guess=name != "A", speed=-2.0 if name == "A" else None)
    return s


def inclined_slider_crank(planar: Any = None) -> da.System:
    """Cut at its slide, which is not along an axis of its marker; a weld closes a second loop."""
    s = da.System("slider-crank", planar=planar)
    crank, rod, block = s.body("crank", da.rod(0.3, 1.0)), s.body("rod", da.rod(1.0, 2.0)), s.body("block", mass=1.5)
    plate = s.body("plate", da.box(0.1, 0.1, 0.1, 0.4))
    s.connect("table", da.Planar("y"), s.ground, plate)
    s.connect("A", da.Revolute("y"), s.ground, crank)
    s.connect("B", da.Revolute("y"), crank.at(0.3, 0, 0), rod)
    s.connect("C", da.Revolute("y"), rod.at(1.0, 0, 0), block)
    along = (math.cos(0.3), 0.0, -math.sin(0.3))
    s.connect("weld", da.Fixed(), rod.at(0.4, 0, 0), plate)
    s.connect("slide", da.Prismatic(along), s.ground.at(0, 0, 0.1), block)
    s.initial("A", position=0.7, speed=3.0)
    s.initial("B", position=-0.9, guess=True)
    s.initial("C", position=0.2, guess=True)
    return s


# ---- rows and counts


@pytest.mark.parametrize("normal", NORMALS)
def test_nothing_is_redundant_in_a_plane(normal: Any) -> None:
    report = da.mobility(moving_four_bar(normal))
    assert (report.mobility, report.gruebler, report.planar, report.redundant) == (1, 1, 1, {})
    assert report.model.constraint_names == ("D.x", "D.y")
    in_space = da.mobility(moving_four_bar())
    assert (in_space.mobility, in_space.gruebler, in_space.redundant) == (1, -2, {"D": 3})


def test_redundant_constraints_of_planar_systems_are_reported() -> None:
    """A third crank of a parallelogram repeats one row of the plane."""
    s = da.System("parallelogram", planar="y")
    coupler = s.body("coupler", da.rod(2.0, 1.0))
    for k, x in enumerate((0.0, 1.0, 2.0)):
        crank = s.body(f"crank_{k}", da.rod(0.5, 1.0, axis="z"))
        s.connect(f"low_{k}", da.Revolute("y"), s.ground.at(x, 0, 0), crank)
        s.connect(f"high_{k}", da.Revolute("y"), crank.at(0, 0, 0.5), coupler.at(x, 0, 0))
    report = da.mobility(s)
    assert (report.mobility, report.gruebler, sum(report.redundant.values())) == (1, 0, 1)


def test_parts_that_nothing_holds_have_three_dofs() -> None:
    s = da.System("thrown", planar="y")
    s.body("stick", da.rod(1.0, 2.0))
    model = s.compile()
    assert (model.nq, model.nv) == (3, 3)
    assert model.forest.joints[0].element.kind == "Planar"
    v = np.array([1.0, 2.0, 3.0])
    result = da.simulate(model, 0.5, state=da.State(np.zeros(3), v))
    angle = v[2] * 0.5  # axes of a plane across y: z, then x; the centre of mass is 0.5 m along the stick
    place = result["stick.position"][-1] + 0.5 * np.array([math.cos(angle), 0, -math.sin(angle)])
    start = np.array([0.5, 0.0, 0.0])
    speed = np.array([v[1], 0.0, v[0]]) + np.cross([0, v[2], 0], start)
    fall = np.array([0.0, 0.0, -9.81])
    assert np.allclose(place, start + speed * 0.5 + 0.5 * fall * 0.25, atol=1e-7)
    assert math.isclose(result["stick.free.angle"][-1], angle, rel_tol=1e-8)


# ---- the same motion as in space


@pytest.mark.parametrize("cut", list("ABCD"))
def test_a_four_bar_moves_as_in_space_wherever_it_is_cut(cut: str) -> None:
    flat, space = (moving_four_bar(planar, cut=cut).compile() for planar in ("y", None))
    assert flat.nc == 2 and space.nc == 5
    start = da.start_state(space)
    q, v = start.q, start.v
    rng = np.random.default_rng(3)
    tau = rng.normal(size=flat.nv)
    a, b = (m.forward_dynamics(q, v, tau) for m in (flat, space))
    assert np.allclose(a, b, rtol=1e-12, atol=1e-12)
    loads = [m.connection_loads(q, v, tau) for m in (flat, space)]
    for name in "ABCD":
        assert np.allclose(loads[0][name], loads[1][name], atol=1e-9), name
    # lanes
    many = np.tile(q, (9, 1)), np.tile(v, (9, 1)), np.tile(tau, (9, 1))
    assert np.allclose(flat.forward_dynamics(*many), b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["dopri5", "radau", "alpha"])
def test_slides_and_welds_close_loops_in_the_plane(method: str) -> None:
    options: dict[str, Any] = {"fixed_step": 2e-3} if method == "alpha" else {"rtol": 1e-9, "atol": 1e-9}
    runs = [da.simulate(inclined_slider_crank(planar), 0.4, method=method, **options) for planar in ("y", None)]
    assert runs[0].model.nc < runs[1].model.nc
    assert da.mobility(runs[0].model).redundant == {}
    for name in ("A", "B", "slide", "block.position", "slide.force", "weld.force", "weld.moment"):
        assert np.allclose(runs[0][name][-1], runs[1][name][-1], rtol=1e-6, atol=1e-6), name


def test_derivatives_and_linear_systems_of_planar_systems() -> None:
    flat, space = (moving_four_bar(planar) for planar in ("y", None))
    for s in (flat, space):
        s.connect("k", da.TorsionSpring(stiffness=40.0, damping=2.0), "A")
    a, b = (da.modes(s, da.equilibrium(s)) for s in (flat, space))
    assert np.allclose(a.eigenvalues, b.eigenvalues, rtol=1e-8)


def test_dry_friction_at_the_cut_pin_holds_in_the_plane() -> None:
    runs = [da.simulate(moving_four_bar(planar, friction=60.0), 1.5) for planar in ("y", None)]
    assert np.allclose(runs[0]["D"], runs[1]["D"], atol=1e-5)
    assert abs(runs[0]["D.speed"][-1]) < 1e-6


def test_heights_above_the_plane_are_of_no_matter() -> None:
    """Links lie beside each other, as they are built; in space that loop does not close."""
    with pytest.raises(da.AssemblyError):
        da.assemble(moving_four_bar(layer=0.05))
    layered, flat = (da.simulate(moving_four_bar("y", layer=h), 0.5) for h in (0.05, 0.0))
    for name in ("A", "D", "rocker.angular_velocity", "D.force", "C.force"):
        assert np.allclose(layered[name], flat[name], rtol=1e-6, atol=1e-6), name


def test_joints_of_ones_own_and_reversed_ones_fit_in() -> None:
    s = moving_four_bar("y")
    arm = s.body("arm", da.rod(0.5, 0.3))
    path = da.CustomJoint(position=("0.3*s", 0, "0.1*s**2"), coordinates=("s",))
    s.connect("path", path, arm, s["coupler"].at(1.0, 0, 0))  # from the end to the root
    assert da.mobility(s).mobility == 2


def test_a_beam_that_bends_in_the_plane_moves_as_in_space() -> None:
    material, section = da.Material(E=70e9, nu=0.3, density=2700), da.Section.rectangle(y=0.004, z=0.05)
    beam = da.beam(1.0, section, material, elements=4, modes=da.structures.CantileverModes(2))
    tilted = [np.abs(beam.shapes[:, 4, k]).max() > 1e-9 for k in range(2)]  # displacements along y, the soft side
    assert all(tilted)
    with pytest.raises(da.ModelError, match=r"body 'arm'.*these modes leave the plane"):
        s = da.System("arm", planar="y")
        s.connect("A", da.Revolute("y"), s.ground, s.body("arm", beam))
        s.compile()
    ends = []
    for planar in ("z", None):
        s = da.System("arm", planar=planar, gravity=(0, -9.81, 0))
        s.connect("A", da.Revolute("z"), s.ground, s.body("arm", beam))
        ends.append(da.simulate(s, 0.2)["arm.eta"][-1])
    assert np.allclose(*ends, atol=1e-9)


# ---- what leads out of the plane


@pytest.mark.parametrize(
    ("element", "fits"),
    [
        (da.Revolute("y"), True),
        (da.Revolute("z"), False),
        (da.Prismatic((1, 0, 2)), True),
        (da.Prismatic("y"), False),
        (da.Planar("y"), True),
        (da.Planar("x"), False),
        (da.Spherical(), False),
        (da.Free(), False),
        (da.Cylindrical("y"), False),
        (da.Fixed(), True),
        (da.CustomJoint(position=(0, "s", 0), coordinates=("s",)), False),
    ],
)
def test_joints_that_leave_the_plane_are_named(element: Any, fits: bool) -> None:
    s = da.System("plane", planar="y")
    s.connect("J", element, s.ground, s.body("b", da.sphere(0.1, 1.0)))
    if fits:
        s.compile()
        return
    with pytest.raises(da.ModelError, match=r"connection 'J'.*out of the plane across 'y'.*Revolute\('y'\)"):
        s.compile()


def test_markers_that_tilt_a_body_are_named_where_they_close_a_loop() -> None:
    s = moving_four_bar("y")
    s.connect(
        "E", da.Fixed(), s["coupler"].at(1, 0, 0, rotation=("x", 0.1)), s.body("plate", da.box(0.1, 0.1, 0.1, 1.0))
    )
    s.compile()  # a body may lie as it likes
    s.connect("F", da.Planar("y"), s.ground, s["plate"])
    with pytest.raises(da.ModelError, match=r"connection 'F'.*turn one of them"):
        s.compile()


def test_gravity_out_of_the_plane_is_refused_with_what_acts_within() -> None:
    s = da.System("table", planar="z", gravity=(0.0, -1.0, -9.81))
    s.body("puck", mass=1.0)
    with pytest.raises(da.ModelError, match=r"gravity.*out of the plane across 'z'.*\(0\.0, -1\.0, 0\.0\)"):
        s.compile()


def test_files_and_copies_keep_the_plane(tmp_path: Path) -> None:
    s = moving_four_bar("y")
    assert np.array_equal(s.copy().planar, [0.0, 1.0, 0.0])
    da.save(s, tmp_path / "four_bar.yaml")
    again = da.load(tmp_path / "four_bar.yaml")
    assert again.compile().constraint_names == ("D.x", "D.y")
    text = (tmp_path / "four_bar.yaml").read_text()
    (tmp_path / "by_letter.yaml").write_text(text.replace("planar: [0.0, 1.0, 0.0]", "planar: y"))
    assert np.array_equal(da.load(tmp_path / "by_letter.yaml").planar, [0.0, 1.0, 0.0])
