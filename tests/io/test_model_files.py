"""Systems as files: what is written is read again, to the last bit; what is wrong is said with its place."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.model_file_systems import system_of_all_families

import dalembert as da
import dalembert.library
from dalembert.io.model_files.expressions import Term, evaluate
from dalembert.io.model_files.registry import same
from dalembert.io.model_files.text import dumped, parsed
from dalembert.io.model_files.writer import tree_of
from dalembert.units import quantity
from dalembert.view.scene.scene import connection_figures

WHEEL = dalembert.library.Gear(0.002, 24)
PINION = dalembert.library.Gear(0.002, 18)
LIFT = dalembert.library.FollowerMotion(
    [(2.0, 0.01, "cycloidal"), (1.0, 0.01), (2.0, 0.0, "polynomial345"), (2 * np.pi - 5.0, 0.0)]
)

# of those that need some
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "binary_tree": (7,),
    "cam_drive": (dalembert.library.Cam(LIFT, 0.03, "roller", 0.008),),
    "chain": (5,),
    "linkage": (
        {"A": (0, 0), "B": (0.1, 0.2), "C": (0.5, 0.4), "D": (0.6, 0)},
        {"crank": ("A", "B"), "coupler": ("B", "C"), "rocker": ("C", "D")},
    ),
    "planetary": (WHEEL, PINION),
    "rack_drive": (PINION,),
    "spur_gears": (PINION, WHEEL),
    "windows": (3,),
}


def _library() -> list[Callable[[], da.System]]:
    functions = [getattr(da.library, name) for name in da.library.__all__]
    functions = [make for make in functions if inspect.isfunction(make)]
    return [make for make in functions if inspect.signature(make).return_annotation in ("System", da.System)]


def _again(system: da.System, tmp_path: Path, ending: str = "yaml") -> da.System:
    da.save(system, tmp_path / f"model.{ending}")
    return da.load(tmp_path / f"model.{ending}")


@pytest.mark.parametrize("make", _library(), ids=lambda make: make.__name__)
def test_systems_of_the_library_come_back_to_the_last_bit(make: Callable[[], da.System], tmp_path: Path) -> None:
    fixed = {"ground": ("A", "D")} if make is dalembert.library.linkage else {}
    system = make(*ARGUMENTS.get(make.__name__, ()), **fixed)
    again = _again(system, tmp_path)
    assert tree_of(again) == tree_of(system)
    one, other = system.compile(), again.compile()
    state = one.random_state(3)
    np.testing.assert_array_equal(one.dynamics(0.1, state.q, state.v).a, other.dynamics(0.1, state.q, state.v).a)


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_everything_comes_back(ending: str, tmp_path: Path) -> None:
    system = system_of_all_families()
    again = _again(system, tmp_path, ending)
    assert tree_of(again) == tree_of(system)
    one, other = (da.simulate(s, 0.2) for s in (system, again))
    np.testing.assert_array_equal(one.q, other.q)
    assert one.stats.notes == other.stats.notes


def test_flexible_bodies_are_kept_as_they_were_made(tmp_path: Path) -> None:
    steel = da.Material(E=210e9, nu=0.3, density=7850)
    s = da.System("bent")
    rod = s.body("rod", da.beam(1.0, da.Section.circle(0.004), steel, elements=6))
    s.connect("A", da.Revolute("y"), s.ground, rod)
    s.connect("B", da.Fixed(), rod.at(1, 0, 0), s.body("bob", da.sphere(0.05, 1.0)))
    again = _again(s, tmp_path)
    np.testing.assert_array_equal(da.simulate(s, 0.05).q, da.simulate(again, 0.05).q)


STEEL = da.Material(E=210e9, nu=0.3, density=7850)


def _loose() -> Any:
    """A structure by its matrices alone: two nodes and a spring in every direction."""
    k = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.diag([3.0, 4.0, 5.0, 1.0, 1.0, 2.0]))
    k[1, 5] = k[5, 1] = 0.0
    places, spring = np.array([[0.0, 0, 0], [0, 0, 0]]), k
    return da.structures.Structure(places, np.eye(12), spring)


@pytest.mark.parametrize(
    "body",
    [
        lambda: da.structures.plate_structure(0.4, 0.3, 0.005, STEEL, elements=(3, 2)).reduce(
            da.structures.FreeModes(4)
        ),
        lambda: _frame().reduce(da.structures.CantileverModes(3), stiffening=True, damping=0.01),
        lambda: _frame().with_mass(4, 0.3, inertia=(1e-3, 1e-3, 2e-3)).reduce(da.structures.CraigBampton([0, 4], 3)),
        lambda: _frame().rigid_region([3, 4]).reduce(da.structures.CantileverModes(2), order="ruthless"),
        lambda: _loose().reduce(da.structures.FreeModes(3)),
    ],
    ids=["plate", "stiffened frame", "mass at a node", "rigid region", "matrices"],
)
def test_reduced_structures_come_back_to_the_last_bit(body: Callable[[], Any], tmp_path: Path) -> None:
    s = da.System("bent")
    one = s.body("part", body())
    s.connect("A", da.Free(), s.ground, one.at(node=0))
    other = _again(s, tmp_path).bodies["part"]
    assert one.flexible is not None and other.flexible is not None
    assert same(one.flexible, other.flexible)
    np.testing.assert_array_equal(one.flexible.modes, other.flexible.modes)
    assert str(one.flexible.report) == str(other.flexible.report)


def _frame() -> Any:
    member = da.structures.Member([(0, 0, 0), (1, 0, 0)], da.Section.circle(0.01), STEEL, elements=4)
    return da.structures.frame_structure([member])


def test_belts_stay_belts_and_gears_gears(tmp_path: Path) -> None:
    s = da.System("drive")
    for k, name in enumerate("ABC"):
        s.connect(
            name, da.Revolute("z"), s.ground.at(0.5 * k, 0, 0), s.body(f"wheel {k}", da.cylinder(0.02, 0.1, mass=1.0))
        )
    s.connect("belt", da.constraints.belt(0.05, 0.1, crossed=True), "A", "B")
    s.connect("teeth", da.gear(20, 41), "B", "C")
    again = _again(s, tmp_path)
    text = (tmp_path / "model.yaml").read_text()
    assert "{type: belt, radius_1: 0.05, radius_2: 0.1, crossed: true" in text and "{type: gear, teeth_1: 20" in text
    figures = [
        sorted((p.name, p.symbol, p.size) for p in connection_figures(one.compile()).patches) for one in (s, again)
    ]
    assert figures[0] == figures[1]
    assert again.couplings["belt"].element.ratio == -0.5


def test_curves_and_chains_come_back(tmp_path: Path) -> None:
    s = da.System("curves")
    bead, end = s.body("bead", mass=1.0), s.body("end", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("wire", da.PointOnCurve(da.Curve([(-1, 0, 1), (0, 0, 0), (1, 0, 1), (2, 0, 4)])), s.ground, bead)
    s.connect("rod", da.KinematicChain([da.Spherical(), da.bar(0.5), da.Spherical()]), bead, end)
    cam = da.Curve.path([da.Line((-1, -1), (1, -1)), da.Arc((1, 0), 1.0, -np.pi / 2, np.pi / 2),
                         da.Line((1, 1), (-1, 1)), da.Arc((-1, 0), 1.0, np.pi / 2, 3 * np.pi / 2)])  # fmt: skip
    s.connect("cam", da.CamFollower(cam, "roller", radius=0.1), s.ground.at(0, 5, 0), end)
    again = _again(s, tmp_path)
    assert tree_of(again) == tree_of(s)


def test_what_no_file_can_hold_is_named(tmp_path: Path) -> None:
    s = da.System("python")
    s.connect("A", da.Revolute("y"), s.ground, s.body("b", da.rod(1.0, 1.0)))
    s.drive("A", position=lambda t: 0.1 * t)
    with pytest.raises(da.ModelError, match=r"drive 'A'.*function.*describe this one in Python"):
        da.save(s, tmp_path / "a.yaml")
    assert not (tmp_path / "a.yaml").exists()


# ---- by hand

BY_HAND = """\
dalembert: 1
name: four-bar            # lengths with units, parameters in expressions
parameters:
  a: 100 mm
  b: = 4*a
gravity: [0, 0, -9.81]
bodies:
  crank: {shape: {type: rod, length: = a, mass: 500 g}, markers: {tip: [= a, 0, 0]}}
  coupler: {shape: {type: rod, length: = b, mass: 1}}
  rocker: {mass: 0.8, com: [0.15, 0, 0], inertia: [1e-3, 6e-3, 6e-3]}
connections:
  A: {type: Revolute, axis: y, between: [ground, crank]}
  B: {type: Revolute, axis: y, between: [crank.tip, coupler]}
  C: {type: Revolute, axis: y, between: [{body: coupler, at: [= b, 0, 0]}, {body: rocker, at: [0.3, 0, 0]}]}
  D: {type: Revolute, axis: y, between: [{body: ground, at: [350 mm, 0, 0]}, rocker]}
forces:
  k: {type: SpringDamper, stiffness: 0.1 N/mm, damping: 1, length: 30 cm, between: [coupler, ground]}
drives:
  A: {speed: 60 rpm}
"""


def test_a_file_written_by_hand_gives_its_system(tmp_path: Path) -> None:
    (tmp_path / "four_bar.yaml").write_text(BY_HAND)
    s = da.load(tmp_path / "four_bar.yaml")
    assert s.bodies["crank"].mass == 0.5 and s.bodies["coupler"].shape.size["length"] == 0.4  # type: ignore[union-attr]
    assert s.forces["k"].element.stiffness == pytest.approx(100.0)  # type: ignore[attr-defined]
    result = da.simulate(s, 0.1)
    assert result["A.speed"][-1] == pytest.approx(2 * np.pi)


def test_files_include_others_but_not_in_circles(tmp_path: Path) -> None:
    (tmp_path / "lengths.yaml").write_text("dalembert: 1\nparameters: {a: 2 m}\n")
    (tmp_path / "main.yaml").write_text(
        "dalembert: 1\ninclude: lengths.yaml\nbodies: {b: {shape: {type: rod, length: = a, mass: 1}}}\n"
    )
    assert da.load(tmp_path / "main.yaml").bodies["b"].com[0] == 1.0
    (tmp_path / "one.yaml").write_text("dalembert: 1\ninclude: [two.yaml]\n")
    (tmp_path / "two.yaml").write_text("dalembert: 1\ninclude: [one.yaml]\n")
    with pytest.raises(da.FileError, match="circle"):
        da.load(tmp_path / "one.yaml")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("A: {type: Revolute", "A: {type: Revolut"), r":12:13: type is 'Revolut'; did you mean 'Revolute'"),
        (("mass: 500 g", "mess: 500 g"), r"four_bar\.yaml:8:\d+: rod is .*'mess'"),
        (("mass: 0.8", "mas: 0.8"), r":10:\d+: key is 'mas'; did you mean 'mass'"),
        (("crank.tip, coupler]", "crank.top, coupler]"), r":13:6.*crank\.top"),
        (("= 4*a", "= 4*aa"), r":5:6.*name is 'aa'; did you mean 'a'"),
        (("= 4*a", "= 1/0"), r":5:6.*no value"),
        (("= 4*a", "= __import__('os')"), r":5:6.*write numbers"),
        (("mass: 0.8", "mass: -0.8"), r":10:11: body 'rocker': mass is -0\.8"),
        (("dalembert: 1", "dalembert: 9"), r":1:12: dalembert is 9"),
        (("name: four-bar", "name: &x four-bar"), r":2:7: alias"),
        (("name: four-bar", "name: !!python/object/apply:os.system four-bar"), r":2:7: tag"),
        (("  A: {speed: 60 rpm}", "  A: {speed: 60 rpm}\n  A: {speed: 1}"), r":20:3: key is 'A'; it comes twice"),
        (("drives:", "drivers:"), r"key is 'drivers'; did you mean 'drives'"),
        (("bodies:\n", "bodies: [\n"), r"this is not YAML"),
    ],
)  # fmt: skip
def test_errors_name_their_position(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    assert change[0] in BY_HAND
    (tmp_path / "four_bar.yaml").write_text(BY_HAND.replace(*change))
    with pytest.raises(da.FileError, match=said):
        da.load(tmp_path / "four_bar.yaml")


def test_includes_are_names_of_files(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("dalembert: 1\ninclude: 3\n")
    with pytest.raises(da.FileError, match=r"m\.yaml:2:\d+: include is 3; give the name of a file"):
        da.load(file)


def test_bombs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.yaml").write_text("dalembert: 1\nname: " + "[" * 200 + "]" * 200)
    with pytest.raises(da.FileError, match="depth"):
        da.load(tmp_path / "deep.yaml")
    (tmp_path / "laughs.yaml").write_text("a: &a [x, x]\nb: &b [*a, *a]\n")
    with pytest.raises(da.FileError, match="alias"):
        da.load(tmp_path / "laughs.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(da.FileError, match="cannot be read"):
        da.load(tmp_path / "binary.yaml")
    with pytest.raises(da.FileError, match="cannot be read"):
        da.load(tmp_path / "none.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(da.FileError, match="cannot be read"):
        da.load(tmp_path / "folder.yaml")
    with pytest.raises(da.ModelError, match="folder"):
        da.save(da.System(), tmp_path / "folder.yaml")
    assert (tmp_path / "folder.yaml").is_dir()


# ---- pieces


def test_yaml_is_read_as_version_1_2_has_it() -> None:
    found = parsed("{a: 1e3, b: on, c: 012, d: 1:30, e: 0x1F, f: .inf, g: ~, h: '1', i: -2.5, j: 2026-01-01}", "x")
    assert dict(found) == {
        "a": 1000.0, "b": "on", "c": 12, "d": "1:30", "e": 31, "f": float("inf"), "g": None, "h": "1", "i": -2.5,
        "j": "2026-01-01",
    }  # fmt: skip


def test_text_comes_back_from_yaml_whatever_it_is() -> None:
    tree = {
        "name": "a: b",
        "on": ["yes", "1", "", "größe", "#x", "- y", "{", "é\n", "null", " x "],
        "n": [1.0, 1e-7, 3, None],
    }
    assert parsed(dumped(tree), "x") == tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12 mm", 0.012), ("30 deg", np.pi / 6), ("5 N/mm", 5000.0), ("2 kg*m^2", 2.0), ("3 m/s2", 3.0),
        ("1 N m/deg", 180 / np.pi), ("60 rpm", 2 * np.pi), ("1 GPa", 1e9), ("-1e2 kN", -1e5), ("2 uF", 2e-6),
        ("y", None), ("3", None), ("3 apples", None), ("1 kg m2/s", 1.0), ("1 g/cm3", 1000.0),
    ],
)  # fmt: skip
def test_quantities_with_units_are_converted_to_si(text: str, value: float | None) -> None:
    found = quantity(text)
    assert found is None if value is None else found is not None and found.value == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    "text", ["", "a.b", "f()", "[1]", "1 if 1 else 2", "x", "lambda: 1", "9**9**9", "(-1)**0.5", "'a'", "True"]
)
def test_expressions_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(da.ModelError):
        evaluate(text, {"a": Term(1.0)})


@pytest.mark.parametrize("name", ["../secret.txt", "{0}/secret.txt", "link.txt", "sub/../../secret.txt", "/etc/passwd"])
def test_files_that_a_model_names_lie_in_its_folder(name: str, tmp_path: Path) -> None:
    """Includes and tables of a model from elsewhere do not look around; what is there is not said."""
    (tmp_path / "secret.txt").write_text("word, other\nhunter2, 3\n")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    path = name.format(tmp_path)
    law = f"{{type: Spline, times: [0, 1, 2, 3], values: {{csv: {path}, column: word}}}}"
    table = "bodies: {b: {mass: 1, inertia: [1, 1, 1]}}\nconnections: {A: {type: Revolute, between: [ground, b]}}\n"
    for text in (f"include: {path}\n", f"{table}drives: {{A: {{position: {law}}}}}\n"):
        (folder / "m.yaml").write_text(f"dalembert: 1\n{text}")
        with pytest.raises(da.FileError, match=r"it is outside of the folder .*root=") as caught:
            da.load(folder / "m.yaml")
        assert "hunter" not in str(caught.value)


def test_a_wider_folder_may_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "common.yaml").write_text("dalembert: 1\nbodies: {b: {mass: 2}}\n")
    (tmp_path / "notes.txt").write_text("hunter2\n")
    (tmp_path / "model" / "m.yaml").write_text("dalembert: 1\ninclude: ../common.yaml\n")
    assert da.load(tmp_path / "model" / "m.yaml", root=tmp_path).bodies["b"].mass == 2.0
    (tmp_path / "model" / "m.yaml").write_text("dalembert: 1\ninclude: ../notes.txt\n")
    with pytest.raises(da.FileError, match="a model file is a mapping") as caught:
        da.load(tmp_path / "model" / "m.yaml", root=tmp_path)
    assert "hunter" not in str(caught.value)


@pytest.mark.parametrize("given", ["{type: chain, n: 100000000}", "{type: windows, n: 20000}", "{type: chain, n: 1e9}"])
def test_a_small_file_does_not_fill_the_memory(given: str, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(f"dalembert: 1\nlibrary: {given}\n")
    with pytest.raises(da.FileError, match=r"m\.yaml:2:.*n is .*; (a model file permits at most 10000|.*whole number)"):
        da.load(tmp_path / "m.yaml")
