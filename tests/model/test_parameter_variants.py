"""Analyses under other masses and places say what a system described with these numbers says."""

import numpy as np
import pytest

import dalembert as da

OTHER = {"crank.tip.x": 0.33, "coupler.mass": 1.7, "coupler.com.z": 0.05, "k.stiffness": 300.0, "D.first.x": 0.75}


def sprung_four_bar(tip: float = 0.3, mass: float = 1.0, z: float = 0.0, stiffness: float = 500.0, ground: float = 0.7):
    s = da.System("four-bar")
    crank = s.body("crank", mass=0.5, com=(0.15, 0, 0.02), inertia=(1e-3, 4e-3, 4e-3))
    coupler = s.body("coupler", mass=mass, com=(0.4, 0, z), inertia=(1e-3, 0.05, 0.05))
    rocker = s.body("rocker", mass=0.8, com=(0.3, 0, 0), inertia=(1e-3, 0.02, 0.02))
    crank.marker("tip", tip, 0, 0)
    s.connect("A", da.Revolute("y", damping=0.01), s.ground, crank)
    s.connect("B", da.Revolute("y"), "crank.tip", coupler)
    s.connect("C", da.Revolute("y"), coupler.at(0.8, 0, 0), rocker.at(0.6, 0, 0))
    s.connect("D", da.Revolute("y"), s.ground.at(ground, 0, 0), rocker)
    s.connect("k", da.SpringDamper(stiffness, 3.0, 0.2), coupler.at(0.4, 0, 0), s.ground.at(0.3, 0, 0.9))
    return s


def as_described():
    return sprung_four_bar(0.33, 1.7, 0.05, 300.0, 0.75)


def sprung_bob(mass: float = 2.0, *, held: bool = False):
    s = da.System("pendulum")
    bob = s.body("bob", mass=mass, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    bob.marker("tip", 0.7, 0, 0.1)
    s.connect("A", da.Revolute("y", damping=0.1), s.ground, bob)
    s.connect("k", da.SpringDamper(50.0, 0.0, 0.3), s.ground.at(0.5, 0, 1.0), "bob.tip")
    if held:
        s.connect("pd", da.JointSpring(stiffness=4.0, damping=0.3), "A")
    return s


def same(a, b, within=1e-9):
    np.testing.assert_allclose(np.sort_complex(a), np.sort_complex(b), rtol=within, atol=within)


def test_an_equilibrium_closes_the_loops_of_its_parameters() -> None:
    found, described = da.equilibrium(sprung_four_bar(), parameters=OTHER), da.equilibrium(as_described())
    np.testing.assert_allclose(found.q, described.q, atol=1e-9)
    assert np.abs(as_described().compile().constraint_residual(found.q)).max() < 1e-12
    same(found.stable.eigenvalues, described.stable.eigenvalues)


def test_a_path_over_a_mass_ends_where_the_heavier_system_rests() -> None:
    path = da.equilibrium_path(sprung_four_bar(), "coupler.mass", 1.0, 3.0)
    np.testing.assert_allclose(path.q[-1], da.equilibrium(sprung_four_bar(mass=3.0)).q, atol=1e-8)


def test_an_unknown_mass_is_the_one_that_holds() -> None:
    mass = da.equilibrium(sprung_four_bar(), unknown="coupler.mass", hold={"A": -1.6}).unknown["coupler.mass"]
    assert da.equilibrium(sprung_four_bar(mass=mass), state={"A": -1.6}, nearest=True)["A"] == pytest.approx(
        -1.6, abs=1e-9
    )


def test_small_motions_under_conditions_and_of_a_run_have_its_masses_and_places() -> None:
    system, described = sprung_four_bar(), as_described()
    model = system.compile()
    same(da.linearize(model, conditions=model.conditions(OTHER)).eigenvalues, da.linearize(described).eigenvalues)
    run, like = da.simulate(system, 0.1, parameters=OTHER), da.simulate(described, 0.1)
    for given in (system, run.model):
        same(da.linearize(given, run).eigenvalues, da.linearize(described, like).eigenvalues, 1e-6)


@pytest.mark.parametrize(("name", "key"), [("coupler.mass", "mass"), ("crank.tip.x", "tip")])
def test_a_root_locus_over_a_number_of_a_body_is_that_of_bodies_described_so(name: str, key: str) -> None:
    values = [0.3, 0.33] if key == "tip" else [1.0, 1.7]
    locus = da.root_locus(sprung_four_bar(), name, values)
    for value, found in zip(values, locus.eigenvalues, strict=True):
        same(found, da.linearize(sprung_four_bar(**{key: value})).eigenvalues)


def test_floquet_and_orbits_carry_changes_under_the_numbers_and_the_control_of_the_motion() -> None:
    heavier = {"bob.mass": 3.0}
    same(da.floquet(sprung_bob(), 1.0, parameters=heavier).multipliers, da.floquet(sprung_bob(3.0), 1.0).multipliers)
    run = da.simulate(sprung_bob(), 0.2, parameters=heavier)
    same(da.floquet(sprung_bob(), 1.0, run).multipliers, da.floquet(sprung_bob(3.0), 1.0, run.final_state).multipliers)
    found = da.floquet(sprung_bob(), 1.0, control=lambda state: np.array([-4.0 * state.q[0] - 0.3 * state.v[0]]))
    same(found.multipliers, da.floquet(sprung_bob(held=True), 1.0).multipliers, 1e-6)


def test_outputs_follow_a_place_that_is_an_input() -> None:
    lin = da.linearize(sprung_bob(), {"A": 0.3}, inputs=["bob.tip.x", "bob.mass"], outputs=["bob.tip.position.x"])
    np.testing.assert_allclose(lin.D, [[np.cos(0.3), 0.0]], atol=1e-9)


@pytest.mark.parametrize("name", ["crank.tip.x", "D.first.x"])
def test_a_length_of_a_loop_is_an_input_that_the_loop_follows(name: str) -> None:
    """Its gain at rest is how the equilibrium moves with it."""
    s, outputs, h = sprung_four_bar(), ["A", "coupler.at(0.8, 0, 0).position", "C.force"], 1e-4
    eq, model = da.equilibrium(s), s.compile()
    lin = da.linearize(s, eq, inputs=[name], outputs=outputs)
    gain = lin.C @ np.linalg.solve(lin.A, -lin.B) + lin.D

    def at(step: float) -> np.ndarray:
        other = model.with_parameters({name: s.parameters[name].value + step})
        rest = da.equilibrium(other, state=eq.state())
        run = da.simulate(other, 0.01, state=rest, times=[0.0, 0.01])
        return np.concatenate([run["A.position"][:1], run[outputs[1]][0], run[outputs[2]][0]])

    # the next order of differences is 1e-8 of third derivatives of a load of 30 N by a length of 0.3 m
    np.testing.assert_allclose(gain[:, 0], (at(h) - at(-h)) / (2 * h), rtol=1e-5, atol=1e-5)


def test_a_length_of_a_loop_that_moves_changes_speeds_that_follow() -> None:
    model, start, h = sprung_four_bar().compile(), {"A": 0.4, "A.speed": 2.0}, 1e-4
    outputs = ["D.speed", "D.position", "A.acceleration"]
    state = da.start_state(model, start)
    lin = da.linearize(model, state, "crank.tip.x", outputs, independent_coordinates=["A"])
    ends = []
    for step in (h, -h):
        other = model.with_parameters({"crank.tip.x": 0.3 + step})
        run = da.simulate(other, 0.01, state=start, times=[0.0, 0.01])
        ends.append(np.array([run[name][0] for name in outputs]))
    np.testing.assert_allclose(lin.D[:, 0], (ends[0] - ends[1]) / (2 * h), rtol=2e-6)


def test_a_path_over_a_length_of_a_loop_closes_it_all_along() -> None:
    path = da.equilibrium_path(sprung_four_bar(), "crank.tip.x", 0.3, 0.36)
    np.testing.assert_allclose(np.linalg.norm(path["crank.tip.position"], axis=1), path.values, atol=1e-12)
    longer = sprung_four_bar(tip=0.36)
    assert np.abs(longer.compile().constraint_residual(path.q[-1])).max() < 1e-9
    eq = da.equilibrium(longer, state={"A": path.q[-1][0]})
    np.testing.assert_allclose(path.q[-1], eq.q, atol=1e-8)
    same(da.modes(sprung_four_bar(), path.state(-1)).eigenvalues, da.modes(longer, eq).eigenvalues, 1e-7)


def test_numbers_that_move_loops_are_no_unknowns_and_those_of_drives_no_inputs() -> None:
    s = sprung_four_bar()
    with pytest.raises(da.ModelError, match=r"'D\.first\.x'; it changes the configuration prescribed by loops"):
        da.equilibrium(s, unknown="D.first.x", hold={"A": -1.6})
    s.drive("A", position=da.Harmonic(0.3, 2.0))
    for ask in (lambda name: da.linearize(s, inputs=name), lambda name: da.equilibrium_path(s, name, 0.3, 0.33)):
        with pytest.raises(da.ModelError, match=r"it changes the configuration prescribed by drives"):
            ask("A.drive.amplitude")


@pytest.mark.parametrize("cranks", [2, 3])
def test_a_flat_parallelogram_closed_to_rounding_is_as_singular_as_an_exact_one(cranks: int) -> None:
    s = da.System("parallelogram")
    bar = s.body("bar", da.rod(2.0, 3.0))
    for i in range(cranks):
        crank = s.body(f"crank{i}", mass=0.5, com=(0, 0, -0.25), inertia=(0.01, 0.01, 0.001))
        s.connect(f"A{i}", da.Revolute("y"), s.ground.at(i, 0, 0), crank)
        s.connect(f"B{i}", da.Revolute("y"), crank.at(0, 0, -0.5), bar.at(i, 0, 0))
    for what in (da.linearize, da.modes):
        with pytest.raises(da.SingularityError, match="the position is singular"):
            what(s, {"A0": np.pi / 2})
    near = da.linearize(s, {"A0": np.pi / 2 - 2e-5})
    assert any("nearly singular" in note for note in near.notes)
    assert not any("nearly singular" in note for note in da.linearize(s, {"A0": np.pi / 2 - 0.01}).notes)


def test_wrong_counts_and_outputs_are_refused_by_name() -> None:
    with pytest.raises(da.ModelError, match=r"modes: count is 1\.5"):
        da.modes(sprung_bob(), count=1.5)  # type: ignore[arg-type]
    with pytest.raises(da.ModelError, match="linearize: outputs is 3"):
        da.linearize(sprung_bob(), outputs=3)  # type: ignore[arg-type]
    with pytest.raises(da.ModelError, match="periodic_orbit: free is 'nothing'"):
        da.periodic_orbit(sprung_bob(), 1.0, free_coordinates=["nothing"])


def test_efforts_of_a_run_with_other_parameters_are_reported() -> None:
    heavier = {"bob.mass": 3.0}
    run = da.simulate(sprung_bob(), 0.2, state={"A": 0.5}, parameters=heavier)
    assert "'bob.mass'" in da.inverse_dynamics(sprung_bob(), run).notes[0]
    found = da.inverse_dynamics(sprung_bob().compile().with_parameters(heavier), run)
    assert not found.notes
    assert np.abs(found["A"]).max() < 1e-9


def test_markers_that_leave_dofs_untold_name_them() -> None:
    s = da.System("arm")
    upper, fore = s.body("upper", da.rod(0.4, 2.0, radius=0.02)), s.body("fore", da.rod(0.3, 1.2, radius=0.02))
    fore.marker("wrist", 0.3, 0, 0)
    s.connect("shoulder", da.Revolute("z"), s.ground, upper)
    s.connect("elbow", da.Revolute("z"), upper.at(0.4, 0, 0), fore)
    t = np.linspace(0, 1, 11)
    elbow, wrist = (np.stack([r * np.cos(t), r * np.sin(t), 0 * t], -1) for r in (0.4, 0.7))
    notes = da.measured_motion(s, t, markers={"fore": elbow}).stats.notes
    assert any("leave 1 DOF undetermined, along 'elbow'" in note for note in notes)
    notes = da.measured_motion(s, t, markers={"fore": elbow, "fore.wrist": wrist}).stats.notes
    assert not any("undetermined" in note for note in notes)


@pytest.mark.parametrize("far", [1e12, 1e20, 1e160, 1e300])
def test_a_ground_pivot_out_of_this_world_closes_no_loop(far: float) -> None:
    for model in (
        sprung_four_bar(ground=far).compile(),
        sprung_four_bar().compile().with_parameters({"D.first.x": far}),
    ):
        with pytest.raises(da.AssemblyError, match="'D' stays open"):
            da.assemble(model)


def test_what_equilibria_cannot_take_is_refused_by_name() -> None:
    with pytest.raises(da.ModelError, match="equilibrium: parameters is 3; give numbers by name"):
        da.equilibrium(sprung_bob(), parameters=3)  # type: ignore[arg-type]
    for wrong, said in (({"limits": 3}, "limits is 3"), ({"max_step": -1.0}, r"max_step is -1\.0")):
        with pytest.raises(da.ModelError, match=said):
            da.equilibrium_path(sprung_bob(), "bob.mass", 2.0, 3.0, **wrong)  # type: ignore[arg-type]
    with pytest.raises(da.ModelError, match="vary is 3"):
        da.equilibrium_path(sprung_bob(), 3, 2.0, 3.0)  # type: ignore[arg-type]


# ---- what equilibria and runs bring along


def blown(fx: float = 0.0, mass: float = 2.0, stiffness: float = 4.0) -> da.System:
    s = sprung_bob(mass)
    s.connect("pd", da.JointSpring(stiffness=stiffness, damping=0.3), "A")
    s.connect("wind", da.Load(force=(fx, 0, 0)), "bob.tip")
    return s


def test_modes_about_an_equilibrium_are_under_what_it_was_found_with() -> None:
    s, other = blown(), {"bob.mass": 3.0, "pd.stiffness": 9.0}
    eq = da.equilibrium(s, parameters=other, inputs={"wind.fx": 7.0})
    expected = da.modes(blown(7.0, 3.0, 9.0), eq.state())
    found = da.modes(s, eq)
    same(found.eigenvalues, expected.eigenvalues)
    assert not any("no equilibrium" in note for note in found.notes)
    assert any("'wind.fx' = 7" in note for note in found.notes)
    assert eq.parameters == other
    lin = da.linearize(s, eq, inputs=["wind.fx", "bob.mass"], outputs=["A.moment.y", "A.acceleration"])
    twin = da.linearize(blown(7.0, 3.0, 9.0), eq.state(), ["wind.fx", "bob.mass"], ["A.moment.y", "A.acceleration"])
    for part in "ABCD":
        same(getattr(lin, part), getattr(twin, part))


def test_a_locus_and_floquet_multipliers_begin_from_the_numbers_of_the_equilibrium() -> None:
    s = blown()
    eq = da.equilibrium(s, parameters={"bob.mass": 3.0})
    locus = da.root_locus(s, "pd.stiffness", [4.0, 5.0], state=eq)
    twins = [np.linalg.eigvals(da.linearize(blown(0.0, 3.0, k), eq.state()).A) for k in (4.0, 5.0)]
    same(np.sort_complex(locus.eigenvalues), np.sort_complex(np.array(twins)))
    carried = da.floquet(s, 0.5, eq)
    same(np.sort_complex(carried.multipliers), np.sort_complex(np.exp(0.5 * twins[0])), 1e-7)
    with pytest.raises(da.ModelError, match="inputs in place of time laws"):
        da.floquet(s, 0.5, da.equilibrium(s, inputs={"wind.fx": 7.0}))


def test_numbers_of_a_model_and_of_an_equilibrium_that_contradict_each_other_are_refused() -> None:
    model = blown().compile()
    eq = da.equilibrium(model, parameters={"bob.mass": 3.0})
    with pytest.raises(da.ModelError, match="has 4 and the state has 3"):
        da.modes(model.with_parameters({"bob.mass": 4.0}), eq)
    softer = da.modes(model.with_parameters({"pd.stiffness": 2.0}), eq)
    assert any("found with 'pd.stiffness' = 4, here 2" in note for note in softer.notes)
    assert softer.space.model.system.bodies["bob"].mass == 3.0
    asked = da.modes(model, eq, conditions=model.conditions())
    assert any("found with 'bob.mass' = 3, here 2" in note for note in asked.notes)


def test_held_values_of_an_equilibrium_are_kept_and_reported() -> None:
    s = blown()
    eq = da.equilibrium(s, hold="A")
    found = da.modes(s, eq)
    assert len(found) == 0
    assert any("locks" in note and "'A'" in note for note in found.notes)
    assert len(da.modes(s, eq.state())) == 1


def test_runs_from_an_equilibrium_with_other_parameters_add_a_note() -> None:
    s = blown()
    eq = da.equilibrium(s, parameters={"bob.mass": 3.0}, inputs={"wind.fx": 7.0})
    notes = "\n".join(da.simulate(s, 0.01, state=eq).stats.notes)
    assert "'bob.mass' = 3, here 2" in notes
    assert "'wind.fx' = 7" in notes
    assert not da.simulate(s, 0.01, state=eq.state()).stats.notes
    same_numbers = da.equilibrium(s, parameters={"bob.mass": 3.0})
    rest = da.simulate(s, 1.0, state=same_numbers, parameters=same_numbers.parameters)
    assert not rest.stats.notes
    same(rest.final_state.q, same_numbers.q)
    assert any("'A' held" in note for note in da.simulate(s, 0.01, state=da.equilibrium(s, hold="A")).stats.notes)
