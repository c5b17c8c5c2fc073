"""Written constraint equations against the numeric rows, for every kind of constraint of a mechanism."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.natural import Circle, Curve, Cylinder, Line, Mechanism, Plane, Sphere, wheels

AGREEMENT = 1e-10  # of entries of order one


def linkage() -> Mechanism:
    """Links, an angle by cosine and sine, a distance, a cable, a relation, and drives of both forms."""
    m = Mechanism(2)
    m.point("A", 0.3, -0.2, fixed=True), m.point("B", 4, 0, fixed=True), m.vector("x", 1, 0.2, fixed=True)
    m.point("1", 1, 1.7), m.point("2", 4.8, 2.9), m.point("3", 2, 3.5)
    m.link("crank", "A", "1"), m.body("coupler", ["1", "2", "3"]), m.link("rocker", "B", "2")
    m.angle("psi", ("A", "1"), ("1", "2")), m.angle("phi", "x", ("A", "1"), form="switch")
    m.distance("s", "1", "B"), m.cable("rope", ["A", "3", "B"])
    m.relation("sum", {"psi": 0.5, "phi": -1.0, "3.x": 0.1})
    m.drive("s", da.Polynomial((3.0, 0.5, 0.2))), m.drive("2.x", da.Harmonic(0.2, 2.0, offset=4.8), by="row")
    return m


def planar_joints() -> Mechanism:
    """A prismatic joint, a slot, constant products, coincident points, a gear and a rack."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("C", 3, 0.1), m.point("D", 4, 0.4), m.point("E", 1, 0.5), m.point("F", 2, 1)
    m.vector("u", 1, 0.3), m.point("G", 1.1, 0.4)
    m.body("slide", ["E", "F"], ["u"]), m.body("rail", ["C", "D"])
    m.prismatic("P", "E", "C", ("C", "D"), ("E", "F"), ("C", "D"))
    m.slot("pin", "A", "C", ("C", "D"))
    m.constant_dot("dot", ("A", "E"), "u"), m.constant_cross("cross", "u", ("C", "D"))
    m.coincident("same", "G", "E"), m.combination("sum", "u", [("C", "D"), ("E", "F")])
    m.angle("a", ("A", "E"), ("E", "F")), m.angle("b", ("A", "E"), ("C", "D"))
    m.gear("mesh", "a", "b", (1.0, 2.0)), m.distance("s", "A", "F"), m.rack("rack", "s", "a", 0.3)
    return m


def spatial() -> Mechanism:
    """Bodies of points and vectors, cylindrical, universal, planar and helical joints, an angle about an axis."""
    m = Mechanism(3)
    m.point("A", 0, 0, 0, fixed=True), m.vector("z", 0, 0, 1, fixed=True), m.vector("x", 1, 0, 0, fixed=True)
    m.point("1", 0.9, 0.3, 0.1), m.point("2", 1.2, 2.4, 1.0), m.point("3", 2.0, 2.2, 1.3)
    m.vector("u", 1, -0.2, 0.3), m.vector("w", 0.1, 1.0, 0.4)
    m.body("one", ["A", "1"], ["z"]), m.body("two", ["1", "2"], ["u", "w"]), m.body("three", ["2", "3"], ["u"])
    m.slot("cylinder", "3", "2", "u"), m.universal("cross", "u", "w"), m.planar("floor", "3", "A", "z")
    m.angle("psi", "x", ("A", "1"), axis="z"), m.helical("screw", "3", "1", "u", "psi", 0.2)
    m.constant_cross("parallel", "u", ("2", "3")), m.distance("along", "A", "1", along="x")
    m.drive("psi", da.Harmonic(0.3, 1.5, offset=0.4))
    return m


def led() -> Mechanism:
    """A body that is driven as a whole."""
    m = Mechanism(3)
    m.point("1", 0.1, 0.1, 0.1), m.vector("u", 1, 0, 0), m.vector("v", 0, 1, 0), m.body("hand", ["1"], ["u", "v"])
    laws = tuple(da.Polynomial((0.1 * k, 0.3 + 0.1 * k, 0.2)) for k in range(6))
    m.drive_frame("lead", "1", ("u", "v"), position=laws[:3], angles=laws[3:])
    return m


def wheel(kind: str) -> Mechanism:
    """A wheel on a track, at rest or carried by a body, in the plane or in space."""
    m = Mechanism(2 if kind in ("line", "outside", "inside", "rod", "carried") else 3)
    if m.dimension == 2:
        m.point("O", 1.0, 1.4), m.point("A", 1.3, 1.5)
        m.point("1", 0, 0), m.point("2", 2, 0.3)
        m.link("bar", "1", "2")
        tracks = {"line": Line((0, 0.2), (1, 0.1)), "outside": Circle((0, 0), 1.0), "inside": Circle((0, 0), 3.0, True)}
        tracks["carried"] = Line((0, 0.2), (1, 0.1))
        track = ("1", "2") if kind == "rod" else tracks[kind]
        m.wheel("wheel", "O", "A", track, radius=0.5, on="bar" if kind == "carried" else None)
        m.drive("O.x", da.Polynomial((1.0, 0.3, 0.1)))
        return m
    m.point("O", 0.1, 0.2, 0.5), m.point("A", 0.4, 0.2, 0.6), m.vector("u", 0, 1, 0)
    m.point("P", 0, 0, -1), m.vector("a", 1, 0, 0), m.vector("b", 0, 1, 0.1)
    m.body("ground", ["P"], ["a", "b"])
    surface = Plane((0, 0, 0), (0, 0.1, 1)) if kind != "ball" else Sphere((0, 0, -2), 2.0)
    if kind == "moving floor":
        m.vector("c", 0, 0, 1), m.body("raft", ["P"], ["a", "b", "c"])
    on = "raft" if kind == "moving floor" else None
    m.wheel("wheel", "O", "A", surface, radius=0.5, axis="u", rolling=kind != "sliding", on=on)
    return m


WHEELS = ("line", "outside", "inside", "rod", "carried", "floor", "sliding", "ball", "moving floor")
MAKERS = {"linkage": linkage, "planar joints": planar_joints, "spatial": spatial, "led": led}
MAKERS |= {f"wheel: {kind}": lambda kind=kind: wheel(kind) for kind in WHEELS}


@pytest.mark.parametrize("name", MAKERS)
def test_written_rows_are_the_numeric_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Phi, Phi_q, b and c away from closed positions, with numbers and with symbols."""
    monkeypatch.setattr(wheels, "STEP", 1e-3)  # acceleration terms of wheels are differences of sixth order
    m = MAKERS[name]()
    e = m.equations()
    rng = np.random.default_rng(len(name))
    smooth = name.startswith("wheel")
    for symbols in (False,) if smooth else (False, True):
        written = m.symbolic(symbols=symbols)
        assert written.names == e.row_names and written.Phi_q.shape == (e.rows, e.nv)
        parts = [written.Phi, written.Phi_q, written.b]
        if name.removeprefix("wheel: ") not in ("floor", "ball", "moving floor"):  # long expressions there
            parts.append(written.c)
        functions = [written.lambdify(x) for x in parts]
        for _ in range(2):
            q, v, t = e.start() + 0.1 * rng.normal(size=e.nq), rng.normal(size=e.nv), 0.3
            active = np.setdiff1d(np.arange(e.rows), e.choice(q, t))
            numeric = (e.residual(q, t), e.jacobian(q, t), e.velocity_terms(q, t), e.acceleration_terms(q, v, t))
            for k, (function, expected) in enumerate(zip(functions, numeric, strict=False)):
                found = function(q, v, t).reshape(expected.shape)
                near = 1e-8 if smooth and k == 3 else AGREEMENT
                np.testing.assert_allclose(found[active], expected[active], atol=near, rtol=near)


def test_the_four_bar_is_written_as_in_the_book() -> None:
    """Example 3.1 and the matrix of example 3.4."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True), m.point("1", 1, 3**0.5), m.point("2", 3, 3)
    m.link("2", "A", "1", 2.0), m.link("3", "1", "2", 4.0), m.link("4", "B", "2", 3.0)
    written = m.symbolic(symbols=True)
    x1, y1, x2, y2, xA, yA, xB, yB = sp.symbols("x_1 y_1 x_2 y_2 x_A y_A x_B y_B", real=True)
    k1, k2, k3 = sp.symbols("k_1:4", real=True)
    book = [
        (x1 - xA) ** 2 + (y1 - yA) ** 2 - k1,
        (x2 - x1) ** 2 + (y2 - y1) ** 2 - k2,
        (x2 - xB) ** 2 + (y2 - yB) ** 2 - k3,
    ]
    assert all(sp.expand(a - b) == 0 for a, b in zip(written.Phi, book, strict=True))
    assert sp.simplify(written.Phi_q - sp.Matrix(book).jacobian([x1, y1, x2, y2])) == sp.zeros(3, 4)
    assert written.parameters[k2] == pytest.approx(16.0, abs=1e-15)
    assert written.with_numbers(written.Phi)[2] == (x2 - 4) ** 2 + y2**2 - 9
    assert "x_{A}" in written.latex() and r"\dot{x_{1}}" in written.latex("c")
    assert str(m.symbolic()).splitlines()[0].endswith("x_1**2 + y_1**2 - 4 = 0")


def test_rows_without_angles_are_affine() -> None:
    """Gradients are linear in q, so that the second derivatives are numbers."""
    m = Mechanism(2)
    m.point("1", 0, 0), m.point("2", 1, 0.2), m.vector("u", 0, 1), m.body("b", ["1", "2"], ["u"])
    written = m.symbolic()
    assert all(x.diff(a).diff(b) == 0 for x in written.Phi_q for a in written.q for b in written.q)


def test_tracks_without_a_closed_form_are_refused_by_name() -> None:
    m = Mechanism(3)
    m.point("O", 0, 0, 0.5), m.point("A", 0.5, 0, 0.5), m.vector("u", 0, 1, 0)
    m.wheel("w", "O", "A", Cylinder((0, 0, -2), (1, 0, 0), 2.0), radius=0.5, axis="u")
    with pytest.raises(da.ModelError, match="symbolic rows are for lines"):
        m.symbolic()
    plane = Mechanism(2)
    plane.point("O", 0, 1.5), plane.point("A", 0.5, 1.5)
    plane.wheel("w", "O", "A", Curve(lambda s: (math.cos(s), -math.sin(s)), (-2, 2)), radius=0.5)
    with pytest.raises(da.ModelError, match="Curve"):
        plane.symbolic()


def test_a_mechanism_does_not_import_sympy_until_it_writes() -> None:
    script = "import sys, dalembert as da; da.natural.Mechanism(2).point('1', 0, 0); print('sympy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "False"
