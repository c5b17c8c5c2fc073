"""Flexible bodies in a system: names, start values, outputs, elements at nodes, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from systems.flexible_systems import beam

import dalembert as da
from dalembert.oracles.operators import Operators
from dalembert.result.outputs.lookup import names


def arm_system(gravity=(0, 0, -9.81), **options):
    """Return a beam on a joint with a load at its end."""
    s = da.System("arm", gravity=gravity)
    arm = s.body("arm", beam(8, nm=4, **({"stiffness": (50.0, 80.0)} | options)))
    load = s.body("load", da.sphere(0.05, 0.3))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("T", da.Revolute("y"), arm.at(1, 0, 0), load)
    return s


def test_names_and_slices():
    model = arm_system().compile()
    etas = tuple(f"arm.eta[{k}]" for k in range(4))
    assert model.coordinate_names == model.speed_names == ("A", *etas, "T")
    assert model.coordinate_kinds == ("angle", "eta", "eta", "eta", "eta", "angle")
    assert model.flexible_names == ("arm",)
    assert model.q_slice("arm") == model.v_slice("arm") == slice(1, 5)
    assert (model.nb, model.nq, model.nv) == (2, 6, 6)
    assert model.poses(model.zero_configuration()).position.shape == (2, 3)
    assert not model.random_state(1).q[1:5].any() and model.random_state(1).v[1:5].all()


def test_modal_coordinates_have_start_values():
    s = arm_system()
    s.initial("arm", position=[0.01, 0, 0, 0])
    s.initial(s.bodies["arm"], speed=[0, 0.2, 0, 0])
    s.initial("A", position=0.3)
    state = s.compile().initial_state()
    assert np.array_equal(state.q, [0.3, 0.01, 0, 0, 0, 0])
    assert np.array_equal(state.v, [0, 0, 0.2, 0, 0, 0])
    assert np.array_equal(s.copy().compile().initial_state().q, state.q)
    s.remove("arm")
    assert "arm" not in s.initials


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.initial("load", position=[0.0]), "it is rigid"),
        (lambda s: s.initial("arm", position=[0.0]), "give 4 real numbers"),
        (lambda s: s.initial(arm_system().bodies["arm"], position=[0.0] * 4), "not a body of this system"),
        (lambda s: s.compile().mixed_dynamics(np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(6), "arm"), "of modes"),
        (lambda s: Operators(s, np.zeros(6)), "flexible"),
        (lambda s: s.compile().forward_dynamics(np.zeros(5), np.zeros(6)), "6"),
    ],
)
def test_misuse_of_modal_coordinates_is_refused(call, words):
    with pytest.raises(da.ModelError, match=words):
        call(arm_system())


def test_outputs_of_flexible_bodies_and_their_markers():
    s = arm_system()
    s.bodies["arm"].marker("mid", 0.5, 0, 0)
    s.initial("arm", position=[0.02, 0, 0, 0])
    result = da.simulate(s, 0.05)
    model, n = result.model, len(result.t)
    eta = result["arm.eta"]
    assert eta.shape == (n, 4) and np.array_equal(eta[0], [0.02, 0, 0, 0])
    assert np.array_equal(result["arm.eta[2]"], eta[:, 2])
    assert np.array_equal(result["arm.eta.speed"], result["v"][:, 1:5])
    assert np.array_equal(result["arm.eta[1].acceleration"], result["a"][:, 2])
    K = s.bodies["arm"].flexible.modal_stiffness
    assert np.allclose(result["arm.strain_energy"], np.einsum("ni,ij,nj->n", eta, K, eta) / 2)
    # where the material is: at named and at other points, and at the load that hangs on it
    tip = result["arm.at(1, 0, 0).position"]
    assert np.allclose(tip, result["load.position"], atol=1e-12)
    moved = np.array([model.pose("arm.mid", q).position for q in result["q"]])
    assert np.allclose(result["arm.mid.position"], moved)
    assert "arm.eta.speed" in names(model)
    with pytest.raises(da.ModelError, match="strain_energy"):
        result["arm.eta[7]"]
    assert np.abs(result["energy.balance"]).max() < 1e-9


def test_results_are_kept_on_file(tmp_path):
    result = da.simulate(arm_system(), 0.02)
    table = result.to_xarray()
    assert list(table.coordinate.values[:2]) == ["A", "arm.eta[0]"]
    assert list(table.coordinate_unit.values[:2]) == ["rad", "1"]


def test_static_deflection_of_library_beam():
    """A load at the end of a clamped beam: F L^3 / 3 E I, and its slope F L^2 / 2 E I, as modes are added."""
    section, material = da.Section.rectangle(0.02, 0.02), da.Material(E=70e9, nu=0.3, density=2700)
    body = da.beam(1.0, section, material, elements=10, theory="euler", modes=da.CantileverModes(10), damping=1.0)
    s = da.System("console", gravity=(0, 0, 0))
    arm = s.body("arm", body)
    arm.marker("tip", 1, 0, 0)
    s.connect("wall", da.Fixed(), s.ground, arm)
    s.connect("F", da.Load(force=(0, 0, -10.0)), arm.at(1, 0, 0))
    result = da.simulate(s, 2.0, method="radau", rtol=1e-6)
    EI = 70e9 * 0.02**4 / 12
    drop = result["arm.tip.position"][-1, 2]
    assert drop == pytest.approx(-10.0 / (3 * EI), rel=1e-3)
    slope = result["arm.tip.rotation"][-1][0, 2]
    assert slope == pytest.approx(10.0 / (2 * EI), rel=1e-2)  # slopes converge slower with the modes


def test_spring_between_nodes_of_two_bodies():
    """The load of an element at a node is what its Jacobian makes of it."""
    s = da.System("pair", gravity=(0, 0, 0))
    one, two = s.body("one", beam(4, nm=3)), s.body("two", beam(4, nm=3, free=True, rotary=1e-3))
    s.connect("A", da.Revolute("z"), s.ground, one)
    s.connect("B", da.Free(), s.ground, two.at(node=0))
    s.connect("k", da.SpringDamper(stiffness=7.0, damping=0.5, length=0.2), one.at(node=4), two.at(node=3))
    model = s.compile()
    rng = np.random.default_rng(0)
    state = model.random_state(rng)
    q, v = state.q.copy(), state.v
    for name in model.flexible_names:
        q[model.q_slice(name)] = 0.1 * rng.normal(size=3)
    ends = s.forces["k"].first, s.forces["k"].second
    a, b = (model.pose(end, q).position for end in ends)
    rates = [model.velocity(end, q, v)[3:] for end in ends]
    length = np.linalg.norm(b - a)
    e = (b - a) / length
    tension = 7.0 * (length - 0.2) + 0.5 * e @ (rates[1] - rates[0])
    J = [model.jacobian(end, q)[3:] for end in ends]
    expected = tension * e @ (J[0] - J[1])
    found = model.forward_dynamics(q, v) - model.forward_dynamics(q, v, bare=True)
    assert np.allclose(model.mass_matrix(q) @ found, expected, atol=1e-10)
    by_q = model.d_dynamics(0.0, q, v).a.q
    h = 1e-5
    for k, unit in enumerate(np.eye(model.nv)):
        ahead, behind = (model.dynamics(0.0, model.integrate(q, s_ * h * unit), v).a for s_ in (1, -1))
        assert np.allclose(by_q[:, k], (ahead - behind) / (2 * h), atol=1e-4 * (1 + np.abs(by_q).max()))


def test_assembly_does_not_bend_bodies():
    s = da.System("frame")
    one = s.body("one", beam(4, nm=3, stiffness=(50, 50)))
    two = s.body("two", beam(4, nm=3, stiffness=(50, 50), rotary=1e-3))
    s.connect("A", da.Revolute("y"), s.ground, one)
    s.connect("B", da.Revolute("y"), one.at(node=4), two)
    s.connect("C", da.Revolute("y"), two.at(node=4), s.ground.at(1.2, 0, 0))
    found = da.assemble(s, state=np.r_[0.8, np.zeros(3), -1.8, np.zeros(3)])
    assert found.residual < 1e-12
    for name in ("one", "two"):
        assert not found.q[found.model.q_slice(name)].any()


def test_driven_joint_of_a_flexible_body():
    s = arm_system()
    s.drive("A", position=da.Harmonic(0.3, 4.0))
    result = da.simulate(s, 0.5)
    assert np.abs(result["A"] - 0.3 * np.sin(4.0 * result.t)).max() < 1e-10
    scale = np.abs(result["energy.total"]).max()
    assert np.abs(result["energy.balance"]).max() < 1e-6 * scale
    assert np.abs(result["arm.eta"]).max() > 1e-4


def test_no_modes_is_rigid():
    flexible = beam(8, nm=4)
    rigid = da.FlexibleBody(
        flexible.nodes, np.zeros((54, 0)), mass_matrix=flexible.mass_matrix, modal_stiffness=np.zeros((0, 0))
    )
    s, other = da.System("rigid"), da.System("rod")
    s.connect("A", da.Revolute("y"), s.ground, s.body("b", rigid))
    other.connect("A", da.Revolute("y"), other.ground, other.body("b", da.rod(1.0, 1.0)))
    models = s.compile(), other.compile()
    assert models[0].nv == 1
    assert models[0].forward_dynamics([0.3], [1.0]) == pytest.approx(models[1].forward_dynamics([0.3], [1.0]), rel=1e-9)


def test_impulse_on_a_flexible_body():
    """An impulse at a node: M dv = J* p."""
    s = arm_system()
    model = s.compile()
    q = model.zero_configuration()
    middle = s.bodies["arm"].at(0.5, 0, 0)
    blow = da.impulse(model, q, np.zeros(6), {middle: (0, 0, 0.4)})
    J = model.jacobian(middle, q)[5]
    assert np.allclose(model.mass_matrix(q) @ blow.v, 0.4 * J)


def test_laws_that_sense_flexible_bodies():
    """Inputs of laws: the load of a joint at a node, and what is measured at a node; against the result's outputs."""
    s = arm_system()
    arm = s.bodies["arm"]
    reading = {
        "load": da.Reaction("T", "force.z"),
        "root": da.Reaction("A", "force.x"),
        "height": da.Sensor(s.ground, arm.at(0.75, 0, 0), "z"),
    }
    law = da.Element("joint", "-0.01*load", inputs=reading, signals={"load_": "load", "root_": "root", "z_": "height"})
    s.connect("brake", law, "A")
    s.initial("arm", position=[0.02, 0, 0, 0])
    result = da.simulate(s, 0.1, times=[0.05, 0.1])
    for name, joint, marker, axis in (("load_", "T", "load", 2), ("root_", "A", "arm", 0)):
        axes = result[f"{marker}.rotation"]
        expected = np.einsum("nij,ni->nj", axes, result[f"{joint}.force"])[:, axis]
        assert np.allclose(result[f"brake.{name}"], expected, rtol=1e-9)
    assert np.allclose(result["brake.z_"], result["arm.at(0.75, 0, 0).position"][:, 2], atol=1e-12)
    assert np.allclose(result["brake.effort"], -0.01 * result["brake.load_"])
