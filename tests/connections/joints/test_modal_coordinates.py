"""Actions within one flexible body: elements, couplings and drives of modal coordinates; between two of its nodes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

import dalembert as da
from dalembert.system.lookup import modal_coordinates

ALUMINIUM = da.Material(E=70e9, nu=0.33, density=2700)
BAR = da.Section.rectangle(0.02, 0.01)


def arm(modes: int = 4, **changes: object) -> da.FlexibleBody:
    return da.beam(0.8, BAR, ALUMINIUM, elements=8, modes=da.CantileverModes(modes), **changes)


def swinging(body: da.FlexibleBody) -> da.System:
    s = da.System("arm")
    link = s.body("arm", body)
    link.marker("tip", node=8)
    s.connect("A", da.Revolute("y"), s.ground, link)
    return s


def fork() -> da.FlexibleBody:
    """Return two parallel bars on a foot: nodes 0 at the foot, tips at (0.5, 0, 0) and (0.5, 0, 0.1)."""
    return da.frame(
        [
            da.Member([(0, 0, 0), (0.5, 0, 0)], BAR, ALUMINIUM, elements=5),
            da.Member([(0, 0, 0), (0, 0, 0.1)], BAR, ALUMINIUM, elements=2),
            da.Member([(0, 0, 0.1), (0.5, 0, 0.1)], BAR, ALUMINIUM, elements=5),
        ],
        modes=da.CraigBampton([(0, 0, 0), (0.5, 0, 0), (0.5, 0, 0.1)], count=6),
    )


def tips(body: da.FlexibleBody) -> tuple[int, int]:
    return body.structure.node((0.5, 0, 0)), body.structure.node((0.5, 0, 0.1))


# ---- modal coordinates


def test_a_spring_on_a_modal_coordinate_is_more_modal_stiffness() -> None:
    plain = arm()
    stiffness, damping = plain.modal_stiffness.copy(), plain.modal_damping.copy()
    stiffness[0, 0] += 300.0
    damping[0, 0] += 2.0
    mass = {"mass_matrix": plain.mass_matrix, "structure": plain.structure}
    twin = da.FlexibleBody(plain.nodes, plain.modes, modal_stiffness=stiffness, damping=damping, **mass)
    s = swinging(plain)
    s.connect("k", da.JointSpring(stiffness=300.0, damping=2.0), "arm.eta[0]")
    times = np.linspace(0, 0.1, 6)
    found, wanted = (da.simulate(system, 0.1, times=times, rtol=1e-10, atol=1e-12) for system in (s, swinging(twin)))
    assert np.abs(found["arm.eta"] - wanted["arm.eta"]).max() < 1e-11
    assert np.abs(wanted["arm.eta[0]"]).max() > 5e-5
    assert np.abs(found["energy.balance"]).max() < 1e-9


def test_one_mode_is_found_by_its_number_too() -> None:
    s = swinging(arm(1))
    s.connect("k", da.JointSpring(stiffness=300.0), "arm.eta[0]")
    again = s.copy()
    assert again.forces["k"].joint_coordinates[0][0] is modal_coordinates(again, "arm")
    assert da.simulate(again, 0.01)["k.effort"].shape[0] > 1


def test_elements_with_laws_and_signals_take_modal_coordinates() -> None:
    s = swinging(arm())
    s.connect("piezo", da.Element("joint", "-gain*ds - 1e4*s**3", {"gain": 3.0}), "arm.eta[1]")
    s.connect(
        "control", da.Element("joint", "-20*rate", inputs={"rate": "arm.eta[0].speed"}), "A"
    )  # collocated nowhere, still a law
    result = da.simulate(s, 0.05)
    eta, rate = result["arm.eta[1]"], result["arm.eta[1].speed"]
    assert np.allclose(result["piezo.effort"], -3.0 * rate - 1e4 * eta**3, rtol=1e-12, atol=1e-15)
    assert np.allclose(result["control.effort"], -20 * result["arm.eta[0].speed"], rtol=1e-12)
    assert np.abs(result["energy.balance"]).max() < 1e-8


def test_a_modal_force_does_what_the_mass_matrix_says() -> None:
    s = swinging(arm())
    s.connect("f", da.Effort(3.0), "arm.eta[2]")
    model = s.compile()
    q, v = 0.01 * np.arange(1.0, model.nq + 1), 0.1 * np.arange(1.0, model.nv + 1)
    force = np.zeros(model.nv)
    force[model.v_slice("arm").start + 2] = 3.0
    expected = np.linalg.solve(model.mass_matrix(q), force - model.bias_forces(q, v, bare=True))
    assert np.allclose(model.dynamics(0.0, q, v).a, expected, rtol=1e-9)


@pytest.mark.parametrize("level", ["position", "speed", "acceleration"])
def test_a_driven_mode_follows_its_law_and_its_effort_is_what_that_takes(level: str) -> None:
    law = da.Harmonic(0.004, 25.0)
    s = swinging(arm())
    s.drive("arm.eta[0]", **{level: law})
    result = da.simulate(s, 0.1, times=np.linspace(0, 0.1, 11), rtol=1e-9, atol=1e-11)
    follows = {"position": "arm.eta[0]", "speed": "arm.eta[0].speed", "acceleration": "arm.eta[0].acceleration"}
    expected = [law(t)[0] for t in result.t]
    assert np.allclose(result[follows[level]], expected, atol=1e-9)
    model = s.compile()
    place = model.v_slice("arm").start
    q, v = result.q, result.v
    for k in range(len(result.t)):  # all other speeds are free: only the driven one gets a force
        force = model.mass_matrix(q[k]) @ model.dynamics(result.t[k], q[k], v[k]).a + model.bias_forces(q[k], v[k])
        assert np.isclose(force[place], result["arm.eta[0].drive.effort"][k], rtol=1e-6, atol=1e-6)
        force[place] = 0.0
        assert np.abs(force).max() < 1e-6
    assert np.abs(result["energy.balance"]).max() < 1e-7


def test_a_second_drive_of_a_mode_replaces_the_first_and_goes_with_the_body() -> None:
    s = swinging(arm())
    s.drive("arm.eta[0]", position=0.01)
    s.drive("arm.eta[0]", speed=0.01)
    s.drive("arm.eta[1]", position=0.0)
    assert list(s.couplings) == ["arm.eta[0].drive", "arm.eta[1].drive"] == list(s.drives)
    s.connect("k", da.JointSpring(stiffness=1.0), "arm.eta[2]")
    s.remove("arm")
    assert not s.couplings and not s.drives and not s.forces


def test_modes_are_coupled_and_start_as_given() -> None:
    s = swinging(arm())
    s.connect("c", da.Coupling(-0.5), "arm.eta[0]", "arm.eta[1]")
    s.initial("arm.eta[0]", position=0.004)
    result = da.simulate(s, 0.05)
    assert np.isclose(result["arm.eta[0]"][0], 0.004)
    assert np.allclose(result["arm.eta[1]"], -0.5 * result["arm.eta[0]"], atol=1e-10)


def test_unknown_modes_are_named() -> None:
    s = swinging(arm())
    with pytest.raises(da.ModelError, match=r"arm\.eta\[3\]"):
        s.connect("k", da.JointSpring(stiffness=1.0), "arm.eta[7]")
    with pytest.raises(da.ModelError):
        s.drive("arm.eta[7]", position=0.0)
    assert not s.couplings


# ---- two nodes of one body


def test_a_spring_between_two_nodes_is_that_of_the_finite_elements() -> None:
    body = fork()
    a, b = tips(body)
    s = da.System("fork", gravity=(0, 0, 0))
    held = s.body("fork", body)
    s.connect("weld", da.Fixed(), s.ground, held)
    s.connect("S", da.SpringDamper(stiffness=2e4, length=0.1), held.at(node=a), held.at(node=b))
    found = 2 * np.pi * np.sort(da.modes(s).natural_frequencies)
    spread = body.shapes[body.index(b), 5] - body.shapes[body.index(a), 5]  # along z, the line between them
    squares = eigh(body.modal_stiffness + 2e4 * np.outer(spread, spread), body.modal_mass, eigvals_only=True)
    assert np.allclose(found, np.sqrt(squares), rtol=1e-6)
    assert np.abs(found / body.frequencies - 1).max() > 0.1  # it matters


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_rigid_rod_between_two_nodes_is_the_limit_of_a_stiff_spring(method: str) -> None:
    def motion(between: object) -> da.Result:
        body = fork()
        a, b = tips(body)
        s = da.System("fork")
        held = s.body("fork", body)
        s.connect("A", da.Revolute("y"), s.ground, held)
        s.connect("L", da.Load(force=(0, 0, da.Harmonic(5.0, 60.0))), held.at(node=a))
        s.connect("R", between, held.at(node=a), held.at(node=b))
        return da.simulate(s, 0.02, method=method, rtol=1e-8, atol=1e-10, times=np.linspace(0, 0.02, 5))

    rod = motion(da.Distance(0.1))
    apart = []
    for stiffness in (1e6, 1e7):
        soft = motion(da.SpringDamper(stiffness=stiffness, damping=1e3, length=0.1))
        apart.append(np.abs(soft["fork.eta"] - rod["fork.eta"]).max())
    assert apart[1] < 0.3 * apart[0] and apart[1] < 1e-2 * np.abs(rod["fork.eta"]).max()
    assert np.abs(rod["energy.balance"]).max() < 1e-7


def test_tips_welded_to_each_other_have_the_frequencies_of_the_closed_frame() -> None:
    body = fork()
    a, b = tips(body)
    s = da.System("ring", gravity=(0, 0, 0))
    held = s.body("fork", body)
    s.connect("weld", da.Fixed(), s.ground, held)
    s.connect("W", da.Fixed(), held.at(node=a), held.at(0, 0, -0.1, node=b))  # a rigid arm from b down to a
    found = 2 * np.pi * np.sort(da.modes(s).natural_frequencies)
    arm_to = np.array([0, 0, -0.1])
    first, second = body.shapes[body.index(a)], body.shapes[body.index(b)].copy()
    second[3:] += np.cross(second[:3], arm_to, axis=0)
    _, _, right = np.linalg.svd(second - first)
    free = right[6:].T  # what the weld leaves
    squares = eigh(free.T @ body.modal_stiffness @ free, free.T @ body.modal_mass @ free, eigvals_only=True)
    assert np.allclose(found, np.sqrt(squares), rtol=1e-6)


def test_ends_that_cannot_move_against_each_other_are_refused() -> None:
    s = swinging(arm())
    link = s["arm"]
    with pytest.raises(da.ModelError, match="two nodes"):
        s.connect("S", da.SpringDamper(stiffness=1.0), link.at(node=3), link.at(0.1, 0, 0, node=3))
    rigid = s.body("rigid", da.rod(length=1.0, mass=1.0))
    with pytest.raises(da.ModelError, match="two different bodies"):
        s.connect("S", da.SpringDamper(stiffness=1.0), rigid.at(0, 0, 0), rigid.at(1, 0, 0))


@pytest.mark.parametrize("law", [0.3, da.Polynomial((0.1, 0.4)), da.Harmonic(0.2, 9.0)])
def test_files_keep_drives_of_what_binds_speeds_only(law, tmp_path) -> None:  # type: ignore[no-untyped-def]
    s = swinging(arm(2))
    s.drive("arm.eta[1]", speed=law)
    da.save(s, tmp_path / "arm.yaml")
    again = da.load(tmp_path / "arm.yaml")
    q, v = np.array([0.1, 0.01, 0.02]), np.array([0.0, 0.3, -0.2])
    assert np.allclose(again.compile().dynamics(0.3, q, v).a, s.compile().dynamics(0.3, q, v).a, rtol=1e-12)


def test_files_and_drawings_keep_internal_forces(tmp_path) -> None:  # type: ignore[no-untyped-def]
    s = swinging(arm(1))
    s.connect("k", da.JointSpring(stiffness=300.0), "arm.eta[0]")
    s.connect("S", da.SpringDamper(stiffness=1e3, length=0.4), s["arm"].at(node=2), s["arm"].at(node=6))
    s.drive("A", position=0.1)
    da.save(s, tmp_path / "arm.yaml")
    again = da.load(tmp_path / "arm.yaml")
    q, v = np.array([0.1, 0.01]), np.array([0.0, 0.3])
    assert np.allclose(again.compile().dynamics(0, q, v).a, s.compile().dynamics(0, q, v).a, rtol=1e-12)
    s.draw(q)
