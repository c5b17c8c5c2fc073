"""Files keep what a result is: whatever its names, under the conditions it was computed with, of the model it is of."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.element_examples import ELEMENTS, LAWS, model_with

import dalembert as da
from dalembert.files.safe_files import replacing
from dalembert.library import chain, humanoid
from dalembert.library.mechanisms import andrews, bricard, four_bar
from dalembert.model.fingerprint import fingerprint, first_difference
from dalembert.result.storage.zarr_stores import is_result_store

SUFFIXES = [".nc", ".zarr", ".parquet", ".csv"]
every_format = pytest.mark.parametrize("suffix", SUFFIXES)

# ---- names

NAMES = [
    "привет", "日本/語", "back\\slash", "x" * 300, "é", "e\u0301", "..", "two\nlines", "return\rx", "tab\tx", "nul\0x",
    'a,b"c', "a#b", "=1+1", "%s", "CON", "output (1)", "time", "axis", "q", "t", "coordinate", "x\u2028y",
]  # fmt: skip


@every_format
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_whatever_a_system_is_called_can_be_saved(name: str, suffix: str, tmp_path: Path) -> None:
    s = da.System(name)
    b, c = (s.body(name + ending, da.box(1, 1, 1, mass=2.0)) for ending in "BC")
    s.connect(name, da.Free(), s.ground, b)
    s.connect(f"{name}R", da.Revolute("x"), b, c)
    s.connect(f"{name}k", da.JointSpring(1.0), f"{name}R")
    s.connect(f"{name}d", da.Distance(1.7), s.ground.at(0, 0, 1.7), c)
    b.marker(f"m/{name}", 1, 0, 0)
    result = da.simulate(s, 0.01)
    extra = [f"{name}B.velocity", f"{name}R.position", f"{name}k.effort", f"{name}B.m/{name}.velocity"]
    result.save(tmp_path / f"run{suffix}", extra)
    for back in (da.Result.load(tmp_path / f"run{suffix}"), da.Result.load(tmp_path / f"run{suffix}", s)):
        assert back.labels == result.labels
        for output in ("q", "v", "a", "tau", "lam", *extra):
            assert np.array_equal(back[output], result[output])


@every_format
def test_names_that_differ_in_case_only_stay_apart(suffix: str, tmp_path: Path) -> None:
    s = da.System("case")
    a, b = s.body("a", da.rod(1.0, 1.0)), s.body("A", da.rod(1.0, 2.0))
    s.connect("h", da.Revolute("y"), s.ground, a)
    s.connect("H", da.Revolute("y"), a.at(1, 0, 0), b)
    result = da.simulate(s, 0.1)
    result.save(tmp_path / f"run{suffix}", ["h.position", "H.position", "a.velocity", "A.velocity"])
    back = da.Result.load(tmp_path / f"run{suffix}")
    for output in ("h.position", "H.position", "a.velocity", "A.velocity"):
        assert np.array_equal(back[output], result[output])
    if suffix == ".zarr":
        entries = [name.casefold() for name in os.listdir(tmp_path / "run.zarr")]
        assert len(set(entries)) == len(entries)


def test_a_name_that_cannot_be_written_down_is_refused() -> None:
    s = da.System("s")
    for make in (da.System, s.body, s.ground.marker, lambda n: s.connect(n, da.Free(), s.ground, s.body("b"))):
        with pytest.raises(da.ModelError, match="unpaired surrogates"):
            make("a\ud800")


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("name", ["F.qw", "F.wx"])
def test_two_coordinates_of_one_name_are_refused(name: str, order: int) -> None:
    s = da.System("two")
    a, b = s.body("a", da.box(1, 1, 1, mass=1.0)), s.body("b", da.box(1, 1, 1, mass=1.0))
    for joint, element, ends in [("F", da.Free(), (s.ground, a)), (name, da.Revolute("x"), (a, b))][::order]:
        s.connect(joint, element, *ends)
    with pytest.raises(da.ModelError, match=rf"'{name}'.*give another name"):
        s.compile()


@every_format
def test_a_constraint_that_repeats_itself_can_be_saved(suffix: str, tmp_path: Path) -> None:
    s = da.System("twice")
    block = s.body("block", da.box(1, 1, 1, mass=2.0))
    s.connect("P", da.Free(), s.ground, block)
    s.connect("c", da.CustomConstraint(["z - 0.3", "z - 0.3"]), s.ground, block)
    result = da.simulate(s, 0.1)
    assert np.abs(result.lam.sum(axis=1)) == pytest.approx(2.0 * 9.81, rel=1e-9)  # both carry the weight together
    result.save(tmp_path / f"run{suffix}", ["c.force"])
    back = da.Result.load(tmp_path / f"run{suffix}")
    assert np.array_equal(back.lam, result.lam) and np.array_equal(back["c.force"], result["c.force"])


# ---- the model of a file


def machine(**changes: Any) -> da.System:
    """Return a four-bar with springs and a motor; anything may be changed."""
    given = {"mass": 2.5, "stiffness": 3.0, "gravity": (0, -9.81, 0), "motor": 1.0, "formula": "-k*s**3"} | changes
    s = four_bar()
    s.gravity[:] = given["gravity"]
    s.bodies["coupler"].mass = given["mass"]
    s.connect("k", da.TorsionSpring(given["stiffness"]), "A")
    s.connect("own", da.Element("joint", given["formula"], {"k": 1.0}), "B")
    s.connect("motor", da.Effort(da.Harmonic(given["motor"], 2.0)), "A")
    if "more" in given:
        s.connect("more", da.TorsionSpring(1.0), "B")
    if "damping" in given:
        s.remove("D")
        end = s.ground.at(2.2, 0, 0)
        s.connect("D", da.Revolute("z", damping=given["damping"]), end, s.bodies["rocker"])
    return s


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "mass": ({"mass": 2.6}, r"body 'coupler', mass, is 2\.6; the file is of a model with 2\.5"),
    "stiffness": ({"stiffness": 4.0}, r"element 'k', element\.stiffness, is 4\.0; .*3\.0"),
    "gravity": ({"gravity": (0, 0, 0)}, "system, gravity"),
    "law": ({"motor": 2.0}, r"element 'motor', element\.law\.amplitude"),
    "formula": ({"formula": "-k*s"}, r"element 'own', element\.force"),
    "one more": ({"more": True}, "element 'more', presence, is 'there is one'"),
    "damping": ({"damping": 0.1}, r"connection 'D', element\.damping"),
}


@every_format
def test_a_file_is_read_with_its_own_model_only(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{suffix}"
    da.simulate(machine(), 0.1).save(path)
    assert da.Result.load(path, machine()).model is not None
    assert da.Result.load(path, machine(mass=2.5 * (1 + 1e-14))).model is not None  # as another machine rounds
    for what, (change, message) in CHANGES.items():
        with pytest.raises(da.ModelError, match=message) as caught:
            da.Result.load(path, machine(**change))
        assert "da.Result(model, r.t" in str(caught.value), what
    other = machine(mass=2.6).compile()
    r = da.Result.load(path)
    assert da.Result(other, r.t, r.q, r.v, r.x)["energy.kinetic"].shape == r.t.shape
    r.save(tmp_path / f"again{suffix}")  # without a model: the file still knows which it was
    with pytest.raises(da.ModelError, match="mass"):
        da.Result.load(tmp_path / f"again{suffix}", other)


@pytest.mark.parametrize("name", ELEMENTS)
def test_the_likeness_of_every_element_is_plain_and_stays(name: str) -> None:
    element, where = ELEMENTS[name], name.partition(":")[0]
    first, second = (fingerprint(model_with(element, where)) for _ in range(2))
    assert first_difference(json.loads(json.dumps(first)), second) is None
    assert "0x" not in json.dumps(first)  # no addresses


def test_the_likeness_of_systems_and_laws_is_plain_and_stays() -> None:
    for make in (four_bar, andrews, bricard, humanoid, lambda: chain(9)):
        first, second = (fingerprint(make().compile()) for _ in range(2))
        assert first_difference(json.loads(json.dumps(first)), second) is None
    for law in LAWS.values():
        s = four_bar()
        s.drive("A", speed=law)
        assert first_difference(json.loads(json.dumps(fingerprint(s.compile()))), fingerprint(s.compile())) is None


def test_flexible_bodies_are_distinguished() -> None:
    def arm(thickness: float) -> da.Model:
        s = da.System("arm")
        steel = da.Material(2.1e11, 0.3, 7850.0)
        section = da.Section.rectangle(0.02, thickness)
        body = s.body("arm", da.beam(1.0, section, steel, modes=da.structures.CantileverModes(2)))
        s.connect("A", da.Revolute("y"), s.ground, body.at(0, 0, 0))
        return s.compile()

    first, again, other = (json.loads(json.dumps(fingerprint(arm(h)))) for h in (0.01, 0.01, 0.0101))
    assert first_difference(first, again) is None
    found = first_difference(first, other)
    assert found is not None and found.item == "body 'arm'"


# ---- conditions


@every_format
def test_parameters_of_a_run_are_kept(suffix: str, tmp_path: Path) -> None:
    model = machine().compile()
    result = da.simulate(model, 0.2, parameters={"k.stiffness": 30.0})
    result.save(tmp_path / f"run{suffix}")
    back = da.Result.load(tmp_path / f"run{suffix}", model)
    for name in ("k.effort", "C.force", "energy.total"):
        assert np.array_equal(back[name], result[name])
    assert np.abs(back["k.effort"]).max() > 5 * np.abs(da.simulate(model, 0.2)["k.effort"]).max()


def stiffen(now: Any) -> None:
    now.set("k.stiffness", 9.0)


@every_format
def test_what_events_have_changed_is_kept(suffix: str, tmp_path: Path) -> None:
    model = machine().compile()
    result = da.simulate(model, 0.5, events=da.Event("stiffer", "A.position", 0.9, action=stiffen))
    assert result.events
    result.save(tmp_path / f"run{suffix}")
    da.Result.load(tmp_path / f"run{suffix}").save(tmp_path / f"again{suffix}")
    for name in ("run", "again"):
        back = da.Result.load(tmp_path / f"{name}{suffix}", model)
        assert np.array_equal(back["k.effort"], result["k.effort"])
        assert np.array_equal(back["D.force"], result["D.force"])


def push(state: da.State) -> dict[str, float]:
    return {"A": 2.0}


def test_files_note_that_control_is_not_kept(tmp_path: Path) -> None:
    model = machine().compile()
    result = da.simulate(model, 0.1, control=push)
    result.save(tmp_path / "run.nc")
    back = da.Result.load(tmp_path / "run.nc", model)
    assert np.array_equal(back.a, result.a)
    assert any("no control function" in note for note in back.stats.notes)
    assert not da.Result.load(tmp_path / "run.nc").stats.notes


# ---- a reader beside writers


def replace_again_and_again(path: Path, sources: list[Path], times: int) -> None:
    for _ in range(times):
        for source in sources:
            with replacing(path, store=is_result_store) as new:
                shutil.copytree(source, new)


def test_a_store_that_is_read_while_others_write_it_is_one_or_the_other(tmp_path: Path) -> None:
    results = [
        da.simulate(chain(2), 0.1, times=np.linspace(0, 0.1, 11), state=da.State(np.full(2, 0.1 * k), np.zeros(2)))
        for k in range(4)
    ]
    sources = [tmp_path / f"source{k}.zarr" for k in range(4)]
    for result, source in zip(results, sources, strict=True):
        result.save(source)
    path = tmp_path / "run.zarr"
    results[0].save(path)
    spawn = multiprocessing.get_context("spawn")
    writers = [
        spawn.Process(target=replace_again_and_again, args=(path, sources[k : k + 2], 15), daemon=True) for k in (0, 2)
    ]
    for writer in writers:
        writer.start()
    reads = 0
    while any(writer.is_alive() for writer in writers):
        found = da.Result.load(path)
        assert any(np.array_equal(found.q, r.q) and np.array_equal(found.a, r.a) for r in results)
        reads += 1
    assert reads and [writer.exitcode for writer in writers] == [0, 0]
    assert sorted(os.listdir(tmp_path)) == ["run.zarr", *(source.name for source in sources)]


def test_a_store_that_is_exchanged_while_it_is_looked_at_is_looked_at_again(tmp_path: Path) -> None:
    path, looks = tmp_path / "run.zarr", []
    path.mkdir()

    def is_ours(folder: Path) -> bool:
        looks.append(folder)
        if len(looks) == 1:  # another writer takes the folder away just now, and puts its own there
            folder.rename(tmp_path / "old")
            found = folder.is_dir()
            folder.mkdir()
            return found
        return True

    with replacing(path, store=is_ours) as new:
        new.mkdir()
    assert len(looks) == 2
