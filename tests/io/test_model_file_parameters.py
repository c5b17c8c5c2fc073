"""Parameters, expressions and units in model files: kept exactly, live after loading, refused by place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from systems.linkages import four_bar_with_numbers, four_bar_with_parameters
from systems.model_file_systems import system_of_expressions

import dalembert as da
from dalembert.io.model_files.expressions import Term, evaluate
from dalembert.io.model_files.writer import tree_of
from dalembert.parameters import Expression


def again(system: da.System, tmp_path: Path, ending: str = "yaml") -> da.System:
    da.save(system, tmp_path / f"model.{ending}")
    return da.load(tmp_path / f"model.{ending}")


def said(tmp_path: Path, text: str) -> str:
    """Return how a file is refused, without its folder."""
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(da.FileError) as caught:
        da.load(tmp_path / "m.yaml")
    return str(caught.value).replace(f"{tmp_path}/", "")


# ---- live parameters


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_parameter_moves_everything_after_loading_as_it_did_before(ending: str, tmp_path: Path) -> None:
    s = four_bar_with_parameters()
    back = again(s, tmp_path, ending)
    assert tree_of(back) == tree_of(s)
    assert (back.named["crank"].unit, back.named["crank"].meaning) == ("m", "from pin to pin")
    np.testing.assert_array_equal(da.simulate(s, 0.1).q, da.simulate(back, 0.1).q)
    ours = da.simulate(back, 0.2, parameters={"crank": 0.12})
    theirs = da.simulate(four_bar_with_numbers(0.12), 0.2)
    for name in ("A.position", "rocker.position", "energy.total", "D.force", "k.force"):
        mine, wanted = (result.output(name, times=[0.2]) for result in (ours, theirs))
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_expressions_stay_wherever_they_may_stand(ending: str, tmp_path: Path) -> None:
    s = system_of_expressions()
    back = again(s, tmp_path, ending)
    assert tree_of(back) == tree_of(s)
    one, other = s.compile(), back.compile()
    state = one.random_state(3)
    for value in (0.5, 0.7):
        of = [model.with_parameters({"a": value, "odd name": 3 * value}) for model in (one, other)]
        a, b = (model.forward_dynamics(state.q, state.v, t=0.2) for model in of)
        np.testing.assert_array_equal(a, b)
    assert [repr(row) for row in s.parameters] == [repr(row) for row in back.parameters]


@pytest.mark.parametrize(
    "build",
    [
        lambda a, b: a - (b - a), lambda a, b: a + (b + 1.0), lambda a, b: (a**b) ** 2, lambda a, b: a ** (b**2),
        lambda a, b: (-a) ** 2, lambda a, b: -(a**2), lambda a, b: a / (b / 3.0), lambda a, b: -2.0 * a * -b,
        lambda a, b: np.sin(a) ** 2 / np.sqrt(b) - 0.1, lambda a, b: 2 ** (-a), lambda a, b: (a * b) * (1 / (a * 3)),
        lambda a, b: a * (b * (1 / 3)), lambda a, b: np.arcsin(a / 10) - np.arccos(b / 10), lambda a, b: -(a * b) + 0.3,
    ],
)  # fmt: skip
def test_text_of_an_expression_is_read_as_the_very_same(build: object) -> None:
    s = da.System()
    a, b = s.parameter("a", 1.1), s.parameter("b", 0.7)
    expression = build(a, b)  # type: ignore[operator]
    read = evaluate(expression.written(), {"a": Term(a), "b": Term(b)}).value
    assert isinstance(read, Expression) and read.written() == expression.written()
    assert read.value == expression.value
    assert eval(str(expression), {"sin": np.sin, "sqrt": np.sqrt, "arcsin": np.arcsin, "arccos": np.arccos},
                {"a": 1.1, "b": 0.7}) == pytest.approx(expression.value, rel=1e-11)  # fmt: skip


BODY = "bodies: {b: {shape: {type: rod, length: = a, mass: 1}}}\n"


def test_files_may_list_parameters_in_any_order_and_with_units(tmp_path: Path) -> None:
    text = "dalembert: 1\nparameters: {a: = 2*c + 1 mm, c: 100 mm, `d`: {value: 3 kg, meaning: of all}}\n" + BODY
    (tmp_path / "m.yaml").write_text(text.replace("`d`", "d"))
    s = da.load(tmp_path / "m.yaml")
    assert list(s.named) == ["c", "d"] and s.named["c"].unit == "m" and s.named["d"].meaning == "of all"
    assert s.bodies["b"].com[0] == pytest.approx(0.1005)
    assert s.bodies["b"].expressions["com.x"].at({"c": 0.2}) == pytest.approx(0.2005)


def test_an_including_file_overrides_parameters(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "base.yaml").write_text("dalembert: 1\ninclude: deep.yaml\nparameters: {a: 1}\n" + BODY)
    (tmp_path / "sub" / "deep.yaml").write_text("dalembert: 1\nconstants: {c: 3}\n")
    (tmp_path / "m.yaml").write_text("dalembert: 1\ninclude: sub/base.yaml\nparameters: {a: = 2*c}\n")
    assert da.load(tmp_path / "m.yaml").bodies["b"].com[0] == 3.0


def test_constants_may_stand_where_parameters_may_not(tmp_path: Path) -> None:
    text = (
        "dalembert: 1\n{part}: {{a: 0.3}}\nbodies: {{b: {{mass: 1}}}}\nconnections: {{A: {{type: Prismatic, axis: x, "
    )
    text += "between: [ground, b]}}}}\ninitial: {{A: {{position: = a}}}}\n"
    (tmp_path / "m.yaml").write_text(text.format(part="constants"))
    assert da.load(tmp_path / "m.yaml").initials["A"].position == [0.3]
    assert "m.yaml:5:14" in (told := said(tmp_path, text.format(part="parameters"))) and "'constants'" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("parameters: {a: = b, b: = c, c: = a}\n", r"m.yaml:2:17: parameter is 'a'; it depends on itself: a -> b"),
        ("parameters: {a: = 1/(2 - 2)}\n", "m.yaml:2:17: expression: text is '1/(2 - 2)'; it has no value"),
        ("parameters: {z: 0, a: = 1/z}\n", "m.yaml:2:23: expression: text is '1/z'; it has no value"),
        ("parameters: {a: = lenght, length: 1}\n", "did you mean 'length'"),
        ("parameters: {a: = 1 mm + 1 kg}\n", "cannot add m and kg: check the units"),
        ("parameters: {a: = sin(1 m)}\n", "sin of m has no meaning"),
        ("parameters: {a: 1 kg}\n" + BODY, "m.yaml:3:41: unit is '= a'; the unit must be m, and this is kg"),
        ("parameters: {a: 1, b: 1}\n" + BODY, "has a part of that name already"),
        ("parameters: {a: {value: 1, unit: mm}}\n", "numbers are in SI units: write 'value: 1 mm'"),
        ("parameters: {a: [1, 2]}\n", "give a number, a quantity or '= expression'"),
        ("constants: {a: 1}\nparameters: {a: 1}\n", "it is one of the constants already"),
        ("constants: {a: = b}\nparameters: {b: 1}\n", "a constant cannot depend on parameters"),
        ("parameters: {m: 1, a: = 5 N/m}\n", "may be a unit or mean the parameter 'm'"),
        ("parameters: {a: = 5 apples}\n", "'apples' is not a unit"),
        ("parameters:\n  b1: 1\n  a: = max(b1, 2)\n", "put them under 'constants'"),
        ("parameters: {a: = " + "(" * 300 + "1" + ")" * 300 + "}\n", "nested too deeply"),
    ],
)  # fmt: skip
def test_errors_of_parameters_name_their_position(text: str, told: str, tmp_path: Path) -> None:
    assert told in said(tmp_path, "dalembert: 1\n" + text)


# ---- dimensions


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("mass: 2 kg", "mass: 12 mm"), "m.yaml:3:28: unit is '12 mm'; the unit must be kg, and this is m"),
        (("tip: [1 m, 0, 0]", "tip: [1 m, 30 deg, 0]"), "m.yaml:3:56: unit is '30 deg'; the unit must be m"),
        (("lower: -30 deg", "lower: -30 mm"), "the unit must be rad"),
        (("stiffness: 5 N m/rad", "stiffness: 5 N/m"), "the unit must be N m/rad"),
        (("speed: 1 rpm", "speed: 1 kg"), "the unit must be m/s or rad/s"),
        (("gravity: [0, 0, -9.81]", "gravity: [0, 0, -9.81 m/s]"), "the unit must be m/s2"),
        (("frequency: 3 rad/s", "frequency: 3 Hz"), "the unit must be rad/s, and this is s^-1 cycle"),
    ],
)  # fmt: skip
def test_a_quantity_of_the_wrong_dimension_is_refused_where_it_stands(
    change: tuple[str, str], told: str, tmp_path: Path
) -> None:
    text = (
        "dalembert: 1\ngravity: [0, 0, -9.81]\nbodies: {b: {shape: &, markers: {tip: [1 m, 0, 0]}}}\n"
        "connections: {A: {type: Revolute, axis: y, lower: -30 deg, between: [ground, b]}}\n"
        "forces: {k: {type: TorsionSpring, stiffness: 5 N m/rad, between: [A]}}\n"
        "drives: {A: {position: {type: Harmonic, amplitude: 1 deg, frequency: 3 rad/s}}}\n"
        "initial: {A: {speed: 1 rpm}}\n"
    ).replace("shape: &", "mass: 2 kg, com: [5 cm, 0, 0]")
    text = text.replace("bodies: {b: {mass", "bodies: {b:        {mass")
    assert change[0] in text
    assert told.split("unit is")[-1] in said(tmp_path, text.replace(*change))
    (tmp_path / "m.yaml").write_text(text)
    da.load(tmp_path / "m.yaml").compile()


def test_quantities_of_pint_are_taken_for_what_they_are() -> None:
    class Quantity:  # as pint has it
        def __init__(self, magnitude: float, factor: float) -> None:
            self.magnitude, self.factor = magnitude, factor

        def to_base_units(self) -> Quantity:
            return Quantity(self.magnitude * self.factor, 1.0)

    mm, g = Quantity(100.0, 1e-3), Quantity(500.0, 1e-3)
    s = da.System()
    b = s.body("b", da.rod(length=mm, mass=g))  # type: ignore[arg-type]
    assert (b.mass, b.com[0]) == pytest.approx((0.5, 0.05))
    assert b.at(mm, 0, 0).position[0] == pytest.approx(0.1)  # type: ignore[arg-type]
    assert da.SpringDamper(Quantity(2.0, 1e3), 0, mm).stiffness == 2000.0  # type: ignore[arg-type]


# ---- tables from CSV files


def test_tables_and_splines_come_from_columns_with_units(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "lift.csv").write_text("# measured\ntime [ms];lift [mm]\n0;0\n250;7\n500;10\n1000;0\n")
    file = tmp_path / "m.yaml"
    text = (
        "dalembert: 1\nbodies: {b: {mass: 1}}\n"
        "connections: {A: {type: Prismatic, axis: z, between: [ground, b]}}\n"
        "drives: {A: {position: {type: Spline, times: {csv: data/lift.csv, column: time}, "
        "values: {csv: data/lift.csv, column: lift}}}}\n"
    )
    file.write_text(text)
    result = da.kinematics(da.load(file), times=[0.0, 0.5, 1.0])
    np.testing.assert_allclose(result["A.position"], [0, 0.01, 0], atol=1e-12)
    assert "lift.csv has 'time', 'lift'" in said(tmp_path, text.replace("column: lift", "column: lif"))
    assert "the unit must be s, and this is m" in said(tmp_path, text.replace("column: time", "column: lift"))
    assert "cannot be read" in said(tmp_path, text.replace("data/lift.csv, column: lift", "none.csv, column: lift"))
    (tmp_path / "data" / "lift.csv").write_text("time [ms];lift [mm]\n0;0\n500;ten\n")
    assert "lift.csv:3: lift is 'ten'; give a number" in said(tmp_path, text)


# ---- systems of the library, settings


def test_a_file_may_begin_with_a_system_of_the_library_and_settings(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(
        "dalembert: 1\nlibrary: {type: chain, n: 3}\nsimulate: {t_end: 200 ms, rtol: 1e-9, outputs: [energy.total]}\n"
        "bodies: {load: {mass: 100 g}}\n"
    )
    s = da.load(file)
    assert s.settings == {"simulate": {"t_end": 0.2, "rtol": 1e-9, "outputs": ["energy.total"]}}
    assert "load" in s.bodies and len(s.bodies) == 4
    assert again(s, tmp_path).settings == s.settings and s.copy().settings == s.settings
    assert "did you mean 't_end'" in said(tmp_path, "dalembert: 1\nsimulate: {tend: 3}\n")
    assert "the unit must be s" in said(tmp_path, "dalembert: 1\nsimulate: {t_end: 3 m}\n")
    assert "there are four_bar" in said(tmp_path, "dalembert: 1\nlibrary: four_baar\n")
    assert "it takes (" in said(tmp_path, "dalembert: 1\nlibrary: {type: chain, count: 3}\n")


def test_files_that_include_each_other_behind_a_third_are_refused(tmp_path: Path) -> None:
    for name, other in (("b", "c"), ("c", "b")):
        (tmp_path / f"{name}.yaml").write_text(f"dalembert: 1\ninclude: {other}.yaml\n")
    assert "circle" in said(tmp_path, "dalembert: 1\ninclude: b.yaml\n")


def test_text_that_looks_like_a_quantity_stays_text(tmp_path: Path) -> None:
    s = da.System("12 mm")
    b = s.body("b", da.rod(1.0, 1.0))
    s.connect("3 m", da.Revolute("y"), s.ground, b)
    s.connect("f", da.JointFriction("3 m", 0.1, radius=0.01), "3 m")
    back = again(s, tmp_path)
    assert back.name == "12 mm" and tree_of(back) == tree_of(s)


def test_parameters_that_follow_from_each_other_load_at_once(tmp_path: Path) -> None:
    """Each of sixty is twice named in the next; evaluated as a tree that were 2^60 terms."""
    chain = "".join(f"  a{k + 1}: = a{k}/2 + a{k}/2\n" for k in range(60))
    (tmp_path / "m.yaml").write_text(f"dalembert: 1\nparameters:\n  a0: 2 kg\n{chain}bodies:\n  b: {{mass: = a60}}\n")
    s = da.load(tmp_path / "m.yaml")
    assert s.bodies["b"].mass == 2.0
    assert s.bodies["b"].expressions["mass"].at({"a0": 3.0}) == 3.0
