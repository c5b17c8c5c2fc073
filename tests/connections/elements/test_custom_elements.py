"""Elements with laws of their own: expressions, functions, errors, parameters."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError, UserFunctionError


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def slider(element: Any, *, position: float = 1.0, speed: float = 0.0) -> da.System:
    """Return a block of 2 kg on a slide without gravity, with an element named 'law' at the slide."""
    system = da.System("slider", gravity=(0, 0, 0))
    block = system.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
    system.connect("slide", da.Prismatic("x"), system.ground, block)
    system.connect("law", element, "slide")
    system.initial("slide", position=position, speed=speed)
    return system


def value(force: Any, s: float, ds: float, t: float = 0.0) -> float:
    model = slider(da.Element("joint", force)).compile()
    return float(model.applied_loads(t, [s], [ds])[0][0])


# text, the same in Python, and a range of s for which it is defined
EXPRESSIONS: list[tuple[str, Callable[[float, float, float], float], tuple[float, float]]] = [
    ("s + ds - t", lambda s, d, t: s + d - t, (-2, 2)),
    ("-s*ds/(2 + t)", lambda s, d, t: -s * d / (2 + t), (-2, 2)),
    ("+s**2 - s**-3", lambda s, d, t: s**2 - s**-3, (0.2, 2)),
    ("s**8 + s**7 + s**0", lambda s, d, t: s**8 + s**7 + 1, (-2, 2)),
    ("s**0.5 + s**-0.5", lambda s, d, t: s**0.5 + s**-0.5, (0.2, 2)),
    ("s**2.3", lambda s, d, t: s**2.3, (0.1, 2)),
    ("s**9", lambda s, d, t: s**9, (-2, 2)),
    ("s**ds", lambda s, d, t: s**d, (0.2, 2)),
    ("2**s", lambda s, d, t: 2**s, (-2, 2)),
    ("sqrt(s) + exp(ds) + log(s)", lambda s, d, t: math.sqrt(s) + math.exp(d) + math.log(s), (0.1, 3)),
    ("sin(s) + cos(ds) + tan(t)", lambda s, d, t: math.sin(s) + math.cos(d) + math.tan(t), (-9, 9)),
    ("asin(s) + acos(s)**2 + atan(ds)", lambda s, d, t: math.asin(s) + math.acos(s) ** 2 + math.atan(d), (-1, 1)),
    ("atan2(s, ds)", lambda s, d, t: math.atan2(s, d), (-2, 2)),
    ("sinh(s) + cosh(ds) + tanh(s)", lambda s, d, t: math.sinh(s) + math.cosh(d) + math.tanh(s), (-3, 3)),
    ("abs(s) + sign(ds)", lambda s, d, t: abs(s) + math.copysign(1.0, d), (-2, 2)),
    ("min(s, ds, 0.3) + max(s, ds)", lambda s, d, t: min(s, d, 0.3) + max(s, d), (-2, 2)),
    ("where(s < ds, s, 2*ds)", lambda s, d, t: s if s < d else 2 * d, (-2, 2)),
    ("where(s >= ds, 1, t)", lambda s, d, t: 1 if s >= d else t, (-2, 2)),
    ("pi*s + e", lambda s, d, t: math.pi * s + math.e, (-2, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted", "span"), EXPRESSIONS, ids=lambda p: p if isinstance(p, str) else "")
def test_text_gives_what_python_gives(
    text: str, wanted: Callable[..., float], span: tuple[float, float], rng: np.random.Generator
) -> None:
    model = slider(da.Element("joint", text)).compile()
    for _ in range(30):
        s, ds, t = float(rng.uniform(*span)), float(rng.uniform(-2, 2)), float(rng.uniform(0, 1))
        expected = wanted(s, ds, t)
        got = model.applied_loads(t, [s], [ds])[0][0]
        assert got == pytest.approx(expected, rel=1e-12, abs=1e-12)
        element = model.system.forces["law"].element
        assert element.evaluate([[t, s, ds]])[0, 0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_sympy_gives_what_text_gives(rng: np.random.Generator) -> None:
    sympy = pytest.importorskip("sympy")
    s, ds, t = sympy.symbols("s ds t")
    for text, _, span in EXPRESSIONS:
        names = {"s": s, "ds": ds, "t": t, "e": sympy.E, "abs": sympy.Abs, "min": sympy.Min, "max": sympy.Max}
        names["where"] = lambda c, x, y: sympy.Piecewise((x, c), (y, True))
        form = eval(text, vars(sympy) | names)
        for _ in range(5):
            at = float(rng.uniform(*span)), float(rng.uniform(-2, 2)), float(rng.uniform(0, 1))
            assert value(form, *at) == pytest.approx(value(text, *at), rel=1e-12, abs=1e-12)


def test_a_single_symbol_is_an_expression_not_a_function() -> None:
    sympy = pytest.importorskip("sympy")
    assert value(sympy.Symbol("s"), 1.5, 0.0) == 1.5


def test_definitions_are_shared() -> None:
    element = da.Element("joint", "-g", energy="g*s/2", definitions={"d": "s - 1", "g": "4*d"})
    assert element.evaluate([[0.0, 3.0, 0.0]]).tolist() == [[-8.0, 12.0]]


@pytest.mark.parametrize(
    "text",
    ["s +", "s.real", "q", "foo(s)", "s if s > 0 else 0", "where(s == 0, 1, 2)", "where(s, 1, 2)", "1e999*s",
     "sin(s, s)", "[s]", "s % 2", "~s", "'s'", "1j*s", "min()", "", "lambda: s", "s(1)", "True"],
)  # fmt: skip
def test_bad_expressions_are_named(text: str) -> None:
    with pytest.raises(ModelError) as caught:
        da.Element("joint", text)
    assert "Element" in str(caught.value)
    assert repr(text)[1:-1] in str(caught.value)


@pytest.mark.parametrize(
    "keywords",
    [
        {"measure": "angle"},
        {"measure": ["joint", "place"]},
        {"measure": ()},
        {"measure": "place"},  # one force for three measures
        {"force": ("s", "s")},
        {"force": None},
        {"force": math.nan},
        {"parameters": [1]},
        {"parameters": {1: 2}},
        {"parameters": {"s": 2.0}},
        {"parameters": {"k": math.inf}},
        {"parameters": {"lambda": 1.0}},
        {"states": [1]},
        {"states": {"a": 1.0}},
        {"states": {"a": (1.0, "-a", 3.0)}},
        {"states": {"a": (math.nan, "-a")}},
        {"states": {f"a{k}": (0.0, 0.0) for k in range(767)}},
        {"parameters": {f"k{k}": 0.0 for k in range(190)}},
        {"energy": lambda: 3},
        {"definitions": {"s": "2"}},
        {"definitions": {"sin": "2"}},
    ],
)
def test_bad_elements_are_named(keywords: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="Element"):
        da.Element(**{"measure": "joint", "force": "s"} | keywords)


def test_sympy_parts_without_counterpart_are_named() -> None:
    sympy = pytest.importorskip("sympy")
    s = sympy.Symbol("s")
    for bad in (sympy.gamma(s), sympy.I * s, sympy.Function("g")(s), sympy.Symbol("q"), s * sympy.zoo, sympy.Eq(s, 1)):
        with pytest.raises(ModelError, match="Element"):
            da.Element("joint", bad)


# ---- functions as laws


def hardening(t: float, s: float, ds: float, a: float, k: float, c: float) -> tuple[float, ...]:
    return -k * s**3 - c * ds - a, 0.5 * s - a, 0.25 * k * s**4 + a * a


EXPRESSION = da.Element(
    "joint", "-k*s**3 - c*ds - a", {"k": 3.0, "c": 0.2}, states={"a": (0.5, "0.5*s - a")}, energy="k*s**4/4 + a**2"
)


def assert_same_motion(other: da.Element, tolerance: float = 1e-12) -> None:
    times = np.linspace(0, 3, 31)
    one, two = (da.simulate(slider(element), 3.0, times=times) for element in (EXPRESSION, other))
    for name in ("slide.position", "slide.speed", "energy.total", "energy.balance", "law.effort"):
        assert np.abs(one[name] - two[name]).max() < tolerance * (1 if name != "energy.balance" else 1e3), name
    assert np.abs(one.x - two.x).max() < tolerance
    assert one.x[0] == 0.5


def test_python_functions_are_laws() -> None:
    other = da.Element("joint", hardening, {"k": 3.0, "c": 0.2}, states={"a": (0.5, None)})
    assert_same_motion(other)
    other = da.Element("joint", lambda *a: np.array(hardening(*a)), {"k": 3.0, "c": 0.2}, states={"a": 0.5})
    assert_same_motion(other)


def test_python_functions_have_derivatives() -> None:
    other = da.Element("joint", hardening, {"k": 3.0, "c": 0.2}, states={"a": (0.5, None)})
    for element in (EXPRESSION, other):
        by_q, by_v, *_ = slider(element).compile().d_dynamics(0.0, [0.7], [0.3]).a
        assert by_q[0, 0] == pytest.approx(-9 * 0.49 / 2, rel=1e-8)
        assert by_v[0, 0] == pytest.approx(-0.1, rel=1e-8)
    one, two = (da.simulate(slider(e), 3.0, method="radau") for e in (EXPRESSION, other))
    assert one["slide.position"][-1] == pytest.approx(two["slide.position"][-1], abs=1e-7)


def test_c_functions_are_laws(tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / "law.c"
    source.write_text(
        "void law(const double *in, double *out) {\n"
        "  double s = in[1], ds = in[2], a = in[3], k = in[4], c = in[5];\n"
        "  out[0] = -k*s*s*s - c*ds - a; out[1] = 0.5*s - a; out[2] = 0.25*k*s*s*s*s + a*a;\n}\n"
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(tmp_path / "law.so"), str(source)], check=True)
    library = ctypes.CDLL(str(tmp_path / "law.so"))
    function = SimpleNamespace(address=ctypes.cast(library.law, ctypes.c_void_p).value)
    assert_same_motion(da.Element("joint", function, {"k": 3.0, "c": 0.2}, states={"a": 0.5}))


def test_numba_functions_are_laws() -> None:
    numba = pytest.importorskip("numba")

    @numba.cfunc("void(CPointer(float64), CPointer(float64))")
    def law(given: Any, out: Any) -> None:
        s, ds, a, k, c = given[1], given[2], given[3], given[4], given[5]
        out[0] = -k * s**3 - c * ds - a
        out[1] = 0.5 * s - a
        out[2] = 0.25 * k * s**4 + a * a

    assert_same_motion(da.Element("joint", law, {"k": 3.0, "c": 0.2}, states={"a": 0.5}))


# ---- laws that fail


def raises_late(t: float, s: float, ds: float) -> float:
    if t > 0.3:
        raise RuntimeError("no more")
    return -s


@pytest.mark.parametrize("method", ["auto", "radau", "dopri5"])
@pytest.mark.parametrize(
    ("law", "cause"),
    [
        (raises_late, RuntimeError),
        (lambda t, s, ds: math.nan if t > 0.3 else -s, None),
        (lambda t, s, ds: (1.0, 2.0, 3.0) if t > 0.3 else -s, None),
        (lambda t, s, ds: "text" if t > 0.3 else -s, None),
        ("-s + sqrt(0.3 - t)", None),
        ("-s + log(0.3 - t)*0", None),
    ],
)
def test_a_law_that_fails_names_its_element_and_the_time(law: Any, cause: type | None, method: str) -> None:
    with pytest.raises(UserFunctionError, match=r"element 'law'.*t = 0\.3") as caught:
        da.simulate(slider(da.Element("joint", law)), 5.0, method=method)
    assert cause is None or isinstance(caught.value.__cause__, cause)
    result = caught.value.result
    assert result.status == "failed"
    assert 0.25 < result.t[-1] < 0.31


def test_a_law_that_fails_at_once_keeps_the_start() -> None:
    with pytest.raises(UserFunctionError, match="element 'law'") as caught:
        da.simulate(slider(da.Element("joint", lambda t, s: -s)), 5.0)
    assert isinstance(caught.value.__cause__, TypeError)
    partial = da.simulate(slider(da.Element("joint", raises_late)), 5.0, on_error="return")
    assert partial.status == "failed"
    assert "element 'law'" in partial.message


def test_an_event_before_the_failure_still_happens() -> None:
    event = da.Event("slow", lambda state: state.t - 0.2, terminal=True)
    result = da.simulate(slider(da.Element("joint", raises_late)), 5.0, events=event)
    assert result.status == "event"
    assert result.t[-1] == pytest.approx(0.2)


def test_a_law_that_fails_names_the_right_one_of_several() -> None:
    system = slider(da.Element("joint", "-s"))
    system.connect("root", da.Element("distance", "-sqrt(s - 0.5)*40"), system.ground, system.bodies["block"])
    with pytest.raises(UserFunctionError, match=r"element 'root'.*s = "):
        da.simulate(system, 5.0)


def test_kernels_name_a_failing_law_too() -> None:
    model = slider(da.Element("joint", lambda t, s, ds: math.nan)).compile()
    for kernel in (model.applied_loads, model.dynamics, model.d_dynamics, model.force_energy):
        with pytest.raises(UserFunctionError, match="element 'law'"):
            kernel(0.0, [1.0], [0.0])


def test_many_runs_name_a_failing_law_too() -> None:
    model = slider(da.Element("joint", raises_late)).compile()
    state = model.initial_state()
    many = da.State(q=np.ones((5, 1)), v=np.zeros((5, 1)), x=state.x)
    with pytest.raises(UserFunctionError, match="element 'law'"):
        da.simulate(model, 1.0, state=many)


# ---- parameters


def test_parameters_are_changed_by_name() -> None:
    element = da.Element("joint", "-k*s", {"k": 2.0}, energy="k*s**2/2")
    result = da.simulate(slider(element), 1.0, parameters={"law.k": 8.0})
    assert result["slide.position"][-1] == pytest.approx(math.cos(2.0), abs=1e-7)
    many = da.simulate(slider(element), 1.0, parameters={"law.k": np.array([2.0, 8.0, 18.0])}, times=[0.0, 1.0])
    assert many["slide.position"][:, -1] == pytest.approx(np.cos([1.0, 2.0, 3.0]), abs=1e-7)
    with pytest.raises(ModelError, match=r"law\.q"):
        da.simulate(slider(element), 1.0, parameters={"law.q": 8.0})


def test_events_change_parameters() -> None:
    element = da.Element("joint", "-k*s", {"k": 2.0})
    stiffen = da.Event("stiffen", lambda state: state.t - 1.0, action=lambda now: now.set("law.k", 0.0))
    result = da.simulate(slider(element), 2.0, events=stiffen)
    assert result["slide.position"][-1] == pytest.approx(math.cos(1.0) - math.sin(1.0), abs=1e-7)


# ---- outputs


def test_loads_of_elements_are_outputs() -> None:
    system = slider(da.Element("joint", "-s"), speed=0.3)
    block = system.bodies["block"]
    system.connect("pose", da.Element("pose", ("-x", "-y", "-z", "-rx", "0.4", "-wz")), system.ground, block)
    system.connect("line", da.Element("distance", "-2*s"), system.ground.at(0, 0.5, 0), block)
    result = da.simulate(system, 0.1, times=[0.0, 0.1])
    place = result["slide.position"]
    assert result["law.effort"] == pytest.approx(-place)
    assert result["pose.force"][:, 0] == pytest.approx(-place)
    assert result["pose.moment"] == pytest.approx(np.tile([0, 0.4, 0], (2, 1)))
    assert result["line.force"] == pytest.approx(np.column_stack([-2 * place, 1 + 0 * place, 0 * place]))


def test_an_element_may_have_two_ends_on_each_of_two_bodies() -> None:
    """Two springs between two bodies, as one element with one energy, move them as two springs do."""

    def bodies(*, one: bool) -> da.System:
        s = da.System("pair", gravity=(0, 0, 0))
        a, b = s.body("a", da.box(1, 1, 1, mass=1.0)), s.body("b", da.box(1, 0.5, 0.3, mass=2.0))
        s.place("a", position=(0, 0, 0), velocity=(0.1, 0, 0))
        s.place("b", position=(2, 0.1, 0.2), velocity=(0, 0.2, 0.1))
        left, right = (a.at(0.5, 0.5, 0), a.at(0.5, -0.5, 0)), (b.at(-0.5, 0.25, 0), b.at(-0.5, -0.25, 0))
        if one:
            first, second = "sqrt(x2**2 + y2**2 + z2**2)", "sqrt((x3 - x1)**2 + (y3 - y1)**2 + (z3 - z1)**2)"
            energy = f"k/2*({first} - 1)**2 + k/2*({second} - 1)**2"
            s.connect("both", da.Element(("place",) * 3, None, {"k": 10.0}, energy=energy), *left, *right)
        else:
            for name, ends in zip(("k1", "k2"), zip(left, right, strict=True), strict=True):
                s.connect(name, da.SpringDamper(10.0, 0.0, 1.0), *ends)
        return s

    together, apart = (da.simulate(bodies(one=one), 1.0, rtol=1e-10) for one in (True, False))
    for name in ("a.position", "b.position"):
        np.testing.assert_allclose(together[name][-1], apart[name][-1], atol=1e-8)  # of two runs at rtol 1e-10
    assert np.ptp(together["energy.total"]) < 1e-9
    s = bodies(one=True)
    with pytest.raises(da.ModelError, match="a connection needs two different bodies"):
        s.connect(
            "none",
            da.Element(("place",) * 2, None, {"k": 1.0}, energy="k*x1*x2"),
            *[s.bodies["a"].at(k, 0, 0) for k in range(3)],
        )
