"""Systems into URDF: the same mass matrix, forces and motion when they are read again, by us and by Pinocchio."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError, OmissionWarning
from dalembert.io import load_urdf
from dalembert.rotation import from_rotation_vector


def chain(joints: list[Any], rng: np.random.Generator) -> da.System:
    """Return a chain of bodies, every other joint named from outside inward."""
    s = da.System("chain")
    last = s.ground
    for k, joint in enumerate(joints):
        body = s.body(f"b{k}", mass=1.0 + k, com=0.1 * rng.normal(size=3), inertia=np.diag([0.1, 0.12, 0.13]) + 0.01)
        inner = last.at(*rng.normal(size=3), rotation=from_rotation_vector(rng.normal(size=3)))
        outer = body.at(*0.3 * rng.normal(size=3), rotation=from_rotation_vector(rng.normal(size=3)))
        s.connect(f"h{k}", joint, *((inner, outer) if k % 2 else (outer, inner)))
        last = body
    return s


def saved(s: da.System, path: Path) -> da.System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OmissionWarning)
        da.save(s, path)
    return da.load(path)


PLAIN = [
    da.Revolute([1, 2, 3], lower=-2.0, upper=2.5, damping=0.1), da.Prismatic("x", max_effort=30.0), da.Revolute("z"),
    da.Cylindrical("y", damping=[0.1, 0.2]), da.Universal("x", "z"), da.Fixed(), da.Planar("y"),
]  # fmt: skip


def test_mass_matrix_and_forces_come_back(tmp_path: Path) -> None:
    s = chain(PLAIN, np.random.default_rng(2))
    again = saved(s, tmp_path / "chain.urdf")
    before, after = s.compile(), again.compile()
    assert sorted(before.coordinate_names) == sorted(name for name in after.coordinate_names)
    order = [after.coordinate_names.index(name) for name in before.coordinate_names]
    rng = np.random.default_rng(5)
    for _ in range(4):
        q, v = rng.normal(size=(2, before.nq))
        q2, v2 = np.zeros((2, before.nq))
        q2[order], v2[order] = q, v
        # angles of roll, pitch and yaw round, as do sums in another order
        M = before.mass_matrix(q)
        assert np.allclose(M, after.mass_matrix(q2)[np.ix_(order, order)], rtol=0, atol=1e-12 * np.abs(M).max())
        b = before.bias_forces(q, v)
        assert np.allclose(b, after.bias_forces(q2, v2)[order], rtol=0, atol=1e-12 * np.abs(b).max())


def test_pinocchio_reads_the_same_mass_matrix(tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    s = chain([h for h in PLAIN if h.kind != "Planar"], np.random.default_rng(2))
    saved(s, tmp_path / "chain.urdf")
    theirs = pin.buildModelFromUrdf(str(tmp_path / "chain.urdf"))
    data, ours = theirs.createData(), s.compile()
    rng = np.random.default_rng(7)
    q, v = rng.normal(size=(2, ours.nq))
    place, speed = pin.neutral(theirs), np.zeros(theirs.nv)
    columns = []
    for name, x, y in zip(ours.coordinate_names, q, v, strict=True):
        joint = theirs.joints[theirs.getJointId(name)]
        place[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
        speed[joint.idx_v] = y
        columns.append(joint.idx_v)
    M = pin.crba(theirs, data, place)
    M = np.triu(M) + np.triu(M, 1).T
    assert np.allclose(ours.mass_matrix(q), M[np.ix_(columns, columns)], rtol=0, atol=1e-12 * np.abs(M).max())
    b = pin.rnea(theirs, data, place, speed, np.zeros(theirs.nv))[columns]
    assert np.allclose(ours.bias_forces(q, v, bare=True), b, rtol=0, atol=1e-12 * np.abs(b).max())


@pytest.mark.parametrize(
    "closing", [da.Revolute("y"), da.Spherical(), da.Cylindrical("y"), da.Universal("x", "y"), da.Prismatic("x")]
)
def test_loops_come_back(closing: Any, tmp_path: Path) -> None:
    s = da.System("four-bar")
    rod = da.rod(length=0.5, mass=1.0, radius=0.01)
    a, b, c = (s.body(name, rod) for name in "abc")
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), a.at(0.5, 0, 0), b)
    s.connect("D", da.Revolute("y"), s.ground.at(0.6, 0, 0), c)
    turned = c.at(0.5, 0, 0, rotation=from_rotation_vector([0, 0.3, 0]))
    s.connect("C", closing, b.at(0.5, 0, 0), turned)
    again = saved(s, tmp_path / "loop.urdf")
    for x in (s, again):
        x.initial("A", position=-1.0)
        for name, guess in (("B", 0.9), ("D", -1.2)):
            x.initial(name, position=guess, guess=True)
    assert again.check().mobility == s.check().mobility
    before, after = (da.simulate(x, 0.3, rtol=1e-9, atol=1e-9) for x in (s, again))
    assert np.allclose(before["c.position"][-1], after["c.position"][-1], rtol=0, atol=1e-6)


def test_a_screw_and_couplings_become_mimics(tmp_path: Path) -> None:
    s = chain([da.Screw("z", 0.3), da.Revolute("y"), da.Revolute("x")], np.random.default_rng(3))
    s.connect("gear", da.Coupling(-2.0, 0.1), "h1", "h2")
    again = saved(s, tmp_path / "screw.urdf")
    assert again.mimics["h0.advance"].multiplier == pytest.approx(0.3 / (2 * np.pi), rel=1e-15)
    assert (again.mimics["h2"].joint, again.mimics["h2"].multiplier, again.mimics["h2"].offset) == ("h1", -2.0, 0.1)
    before, after = (da.simulate(x, 0.3, rtol=1e-10, atol=1e-10) for x in (s, again))
    for angle in ("h0", "h1", "h2"):
        assert np.allclose(before[f"{angle}.position"][-1], after[f"{angle}.position"][-1], rtol=0, atol=1e-7)


def test_items_that_urdf_cannot_hold_are_reported(tmp_path: Path) -> None:
    s = chain([da.Revolute("y", armature=0.1), da.Spherical()], np.random.default_rng(4))
    s.gravity = (0, 0, -1.62)
    s.connect("spring", da.JointSpring(3.0), "h0")
    with pytest.warns(OmissionWarning) as caught:
        da.save(s, tmp_path / "said.urdf")
    told = "\n".join(caught[0].message.items)
    for words in ("its armature", "type spherical", "force 'spring'", "gravity", "frame of its link"):
        assert words in told
    s.connect("rail", da.constraints.PointOnLine("x"), s.ground, s["b1"].at(0.1, 0, 0))
    with pytest.raises(ModelError, match="'PointOnLine'; URDF closes loops by"):
        da.save(s, tmp_path / "said.urdf")


def test_a_joint_within_gazebo_closes_a_loop() -> None:
    def link(name: str) -> str:
        inertia = '<inertia ixx="1" iyy="1" izz="1"/>'
        return f'<link name="{name}"><inertial><mass value="1"/>{inertia}</inertial></link>'

    def joint(name: str, parent: str, child: str, x: float) -> str:
        ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{x} 0 0"/><axis xyz="0 1 0"/>'
        return f'<joint name="{name}" type="continuous">{ends}</joint>'

    s = load_urdf(
        f"""<robot name="r">{"".join(map(link, ("base", "a", "b", "c")))}
        {joint("A", "base", "a", 0)}{joint("B", "a", "b", 1)}{joint("C", "base", "c", 3)}
        <gazebo><joint name="D" type="revolute"><parent>b</parent><child>c</child><pose>0 0 1 0 0 0</pose>
        <axis><xyz>0 1 0</xyz></axis></joint></gazebo></robot>"""
    )
    assert np.array_equal(s["D"].first.position, [2, 0, 1]) and np.array_equal(s["D"].second.position, [0, 0, 1])
    assert s.check().mobility == 1
    with pytest.raises(ModelError, match=r"constraint 'k': type is 'bal'.*did you mean 'ball'.*\(line 2\)"):
        load_urdf(f'<robot name="r">{link("a")}\n<constraint name="k" type="bal"/></robot>')
