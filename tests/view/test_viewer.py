"""Scenes: what a viewer is given, mechanisms moved by hand, pages and files, and the server."""

import base64
import gzip
import json
import re
import socket
import struct
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import bricard, four_bar, slider_crank
from dalembert.rotation import quaternion
from dalembert.view.web import server
from dalembert.view.web.drag_solver import DragSolver
from dalembert.view.web.gltf import gltf_of
from dalembert.view.web.scene_bytes import pack, unpack
from dalembert.view.web.scene_document import SceneBuilder
from dalembert.view.web.scenes import SceneOptions, scene_of_result
from dalembert.view.web.server import Viewer

bundled = pytest.mark.skipif(
    not (Path(da.__file__).parent / "view" / "web" / "page.js").is_file(), reason="built without Node.js: no page"
)


@pytest.fixture(scope="module")
def motion() -> da.Result:
    s = four_bar()
    s.drive("A", speed=3.0)
    return da.simulate(s, 2.0)


@pytest.fixture(scope="module")
def bent() -> da.Result:
    """A flexible pendulum with a spring at its tip."""
    steel = da.Material(E=210e9, nu=0.3, density=7850)
    s = da.System("bent")
    rod = s.body("rod", da.beam(1.0, da.Section.circle(0.004), steel, elements=6))
    s.connect("A", da.Revolute("y"), s.ground, rod)
    s.connect("k", da.SpringDamper(stiffness=20.0, damping=0.5, length=0.5), rod.at(1, 0, 0), s.ground.at(0.8, 0, 0.6))
    return da.simulate(s, 0.5)


# ---- bytes


def test_what_is_packed_is_unpacked() -> None:
    given = {"name": "größe", "a": np.arange(6.0).reshape(2, 3), "list": [{"n": np.array([1, 2])}, None, True, 1.5]}
    again = unpack(pack(given))
    assert again["name"] == "größe" and again["list"][1:] == [None, True, 1.5]
    np.testing.assert_array_equal(again["a"], given["a"])
    np.testing.assert_array_equal(again["list"][0]["n"], [1, 2])


def test_numbers_that_are_none_are_refused_and_damaged_bytes_named() -> None:
    with pytest.raises(ValueError, match=r"(?i)nan|JSON"):
        pack({"x": float("nan")})
    with pytest.raises(da.FileError, match="no scene"):
        unpack(b"something else")
    with pytest.raises(da.FileError, match="damaged"):
        unpack(pack({"x": np.zeros(5)})[:-4])


# ---- scenes


def _points(scene: dict[str, Any], row: int) -> dict[str, Any]:
    """Return the corners in the world of all rigid parts by owner, from the document alone."""
    found: dict[str, Any] = {}
    poses = np.concatenate([[[0, 0, 0, 0, 0, 0, 1.0]], scene["motion"]["poses"][row]])
    for part in scene["rigid"]:
        x, y, z, w = poses[part["frame"]][3:]
        corners = scene["meshes"][part["mesh"]]["corners"] + part["at"]
        world = corners @ quaternion(w, x, y, z).T + poses[part["frame"]][:3]
        found.setdefault(part["owner"], []).append(world)
    return {owner: np.concatenate(parts) for owner, parts in found.items()}


def test_bodies_of_a_scene_are_where_the_model_says(motion: da.Result) -> None:
    scene = scene_of_result(motion)
    times = scene["motion"]["times"]
    tips = motion.output("rocker.position", times)
    for row in (0, len(times) // 2, -1):
        cloud = _points(scene, row)["rocker"]
        assert np.linalg.norm(cloud - tips[row], axis=1).min() < scene["radius"] * 2


def test_joints_stay_together_in_a_scene(motion: da.Result) -> None:
    scene = scene_of_result(motion)
    for row in (0, -1):
        places = _points(scene, row)
        pin = places["B"].mean(axis=0)
        for body in ("crank", "coupler"):
            assert np.linalg.norm(places[body] - pin, axis=1).min() < 3 * scene["radius"]


def test_corners_of_flexible_bodies_follow_their_modes(bent: da.Result) -> None:
    model = bent.model
    assert model is not None
    scene = scene_of_result(bent)
    flexible = next(part for part in scene["flexible"] if part["owner"] == "rod")
    row = len(scene["motion"]["times"]) // 2
    q = bent.at(scene["motion"]["times"][row]).q
    moved = flexible["corners"] + np.einsum("k,kni->ni", scene["motion"]["eta"][row], flexible["modes"])
    x, y, z, w = scene["motion"]["poses"][row, 0, 3:]
    world = moved @ quaternion(w, x, y, z).T + scene["motion"]["poses"][row, 0, :3]
    tip = model.pose(model.system.bodies["rod"].at(1, 0, 0), q).position
    ring = world[np.linalg.norm(world - tip, axis=1).argsort()[:8]]
    assert np.linalg.norm(ring.mean(axis=0) - tip) < 1e-6


def test_everything_that_is_known_has_a_look() -> None:
    s = da.System("looks")
    plate = s.body("plate", da.box(1, 1, 0.1, mass=5.0))
    wheel = s.body("wheel", da.cylinder(0.1, 0.3, mass=1.0))
    s.connect("slide", da.Prismatic("z"), s.ground, plate)
    s.connect("joint", da.Revolute("z"), plate.at(0, 0, 0.4), wheel)
    s.connect("spring", da.SpringDamper(stiffness=5.0, length=0.2), plate, wheel)
    s.connect("damper", da.SpringDamper(damping=1.0), plate.at(0.1, 0, 0), wheel)
    s.connect("rope", da.Cable(100.0, 0.3), plate.at(0.2, 0, 0), wheel)
    s.connect("floor", da.SpherePlaneContact(0.3, 1e4), s.ground.at(0, 0, -3), wheel)
    s.connect("turning", da.TorsionSpring(1.0), "joint")
    s.connect("law", da.Element("distance", "-k*s", {"k": 1.0}), plate.at(0.3, 0, 0), wheel)
    model = s.compile()
    scene = SceneBuilder(model, model.initial_state().q[None]).description()
    assert {line["name"]: line["look"] for line in scene["lines"]} == {
        "spring": "spring", "damper": "damper", "rope": "cable", "law": "line",
    }  # fmt: skip
    elements = {part["owner"] for part in scene["rigid"] if part["kind"] == "element"}
    assert elements == {"floor", "turning"}


def test_arrows_and_plots_are_the_outputs(motion: da.Result) -> None:
    scene = scene_of_result(motion, SceneOptions(arrows=["D.force"], plots=["rocker.angle", "D.force"]))
    np.testing.assert_array_equal(scene["arrows"][0]["values"], motion.output("D.force", scene["motion"]["times"]))
    shown = [track["name"] for track in scene["tracks"] if track.get("shown")]
    assert shown == ["rocker.angle", "D.force.x", "D.force.y", "D.force.z"]
    with pytest.raises(da.ModelError, match=r"view.*arrows.*rocker\.angle"):
        scene_of_result(motion, SceneOptions(arrows=["rocker.angle"]))
    with pytest.raises(da.ModelError, match="same bodies"):
        scene_of_result(motion, SceneOptions(compare={"other": da.simulate(slider_crank(), 0.1)}))


# ---- by hand


def test_the_viewer_starts_where_drives_start() -> None:
    system = four_bar()
    system.drive("A", position=da.Polynomial((2.0, 1.0)))
    puppet = DragSolver(system.compile())
    assert puppet.q[0] == 2.0 and puppet.q == pytest.approx(da.simulate(system, 1e-3).q[0], abs=1e-9)
    assert puppet.set("A", 1.0)  # a hand takes over
    puppet.reset()
    assert puppet.q[0] == 2.0


@pytest.mark.parametrize("system", [four_bar(), slider_crank(), bricard()], ids=lambda s: s.name)
def test_pulled_mechanisms_keep_their_loops_closed(system: da.System) -> None:
    model = system.compile()
    puppet = DragSolver(model)
    random = np.random.default_rng(4)
    for _ in range(25):
        name = str(random.choice(model.body_names))
        local = random.uniform(-0.2, 0.2, 3)
        here = model.pose(system.bodies[name].at(*local), puppet.q).position
        before = float(np.linalg.norm(shift := random.uniform(-0.3, 0.3, 3)))
        left = puppet.pull(name, local, here + shift)
        assert left <= before + 1e-12, "it never goes away from the hand"
        assert np.abs(model.constraint_residual(puppet.q)).max() < 1e-9


def test_wrong_names_of_bodies_and_motions_are_reported(motion: da.Result) -> None:
    with pytest.raises(da.ModelError, match="pull: body is 'nobody'; there are 'crank'"):
        DragSolver(four_bar().compile()).pull("nobody", (0, 0, 0), (1, 0, 0))
    with pytest.raises(da.ModelError, match="view: compare is 3; give results by name"):
        scene_of_result(motion, SceneOptions(compare={"other": 3}))


def test_one_name_is_as_good_as_a_list(motion: da.Result, tmp_path: Path) -> None:
    one = motion.export(tmp_path / "one.html", plots="A.position", trace="coupler", arrows="D.force").read_bytes()
    assert (
        one
        == motion.export(
            tmp_path / "list.html", plots=["A.position"], trace=["coupler"], arrows=["D.force"]
        ).read_bytes()
    )


def test_a_point_within_reach_is_brought_to_the_hand() -> None:
    s = four_bar()
    model = s.compile()
    puppet = DragSolver(model)
    marker = s.bodies["coupler"].at(1.0, 0.2, 0)
    goal = model.pose(marker, da.assemble(model, state=np.r_[2.0, puppet.q[1:]], hold="A").q).position
    for _ in range(40):
        left = puppet.pull("coupler", (1.0, 0.2, 0), goal)
    assert left < 1e-6


def test_coordinates_are_set_as_far_as_the_loops_go() -> None:
    model = four_bar().compile()
    puppet = DragSolver(model)
    assert puppet.set("A", 2.5) and puppet.q[0] == 2.5
    name = model.coordinate_names[-1]
    assert not puppet.set(name, puppet.q[-1] + 50.0), "a rocker has an end"
    assert np.abs(model.constraint_residual(puppet.q)).max() < 1e-9
    puppet.reset()
    np.testing.assert_array_equal(puppet.q, puppet.start)
    with pytest.raises(da.ModelError, match="coordinate"):
        puppet.set("no such", 1.0)


@pytest.mark.parametrize("value", [1e308, -1e308, 1e17, 1e3])
def test_a_value_that_is_far_away_is_refused_at_once(value: float) -> None:
    """It would be walked to in steps of 0.35 rad, and some values are never reached."""
    puppet = DragSolver(four_bar().compile())
    before = puppet.q.copy()
    with pytest.raises(da.ModelError, match=r"set: A is .*; it is at .*: give a value at most 70 from there"):
        puppet.set("A", value)
    np.testing.assert_array_equal(puppet.q, before)
    assert puppet.set("A", float(puppet.q[0]) + 50.0)


def test_limits_of_joints_hold_the_hand() -> None:
    s = da.System("arm", gravity=(0, 0, 0))
    arm = s.body("arm", da.rod(length=1.0, mass=1.0))
    s.connect("A", da.Revolute("z", lower=-0.5, upper=0.5), s.ground, arm)
    puppet = DragSolver(s.compile())
    for _ in range(10):
        puppet.pull("arm", (1.0, 0, 0), (-1.0, 1.0, 0.0))
    assert 0.3 < puppet.q[0] <= 0.5 + 1e-9


# ---- files


@bundled
def test_a_page_holds_all_it_needs_and_asks_for_nothing(motion: da.Result, tmp_path: Path) -> None:
    page = motion.export(tmp_path / "motion.html").read_text(encoding="utf-8")
    assert len(page) < 1_000_000
    assert not re.search(r"(src|href)\s*=\s*[\"']?https?:", page)
    assert "default-src 'none'" in page
    data = re.search(r'id="scene">([^<]*)<', page)
    assert data is not None
    scene = unpack(gzip.decompress(base64.b64decode(data[1])))
    assert [body["name"] for body in scene["bodies"]] == ["crank", "coupler", "rocker"]


@bundled
def test_names_cannot_break_out_of_a_page(tmp_path: Path) -> None:
    s = da.System("</title><script>alert(1)</script>")
    s.connect("A", da.Revolute("y"), s.ground, s.body("b", da.rod(1.0, 1.0)))
    page = da.simulate(s, 0.1).export(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page


def test_a_glb_has_moving_nodes_and_morph_targets(bent: da.Result, tmp_path: Path) -> None:
    data = bent.export(tmp_path / "bent.glb").read_bytes()
    magic, version, length = struct.unpack("<4sII", data[:12])
    assert (magic, version, length) == (b"glTF", 2, len(data))
    size, kind = struct.unpack("<I4s", data[12:20])
    assert kind == b"JSON"
    document = json.loads(data[20 : 20 + size])
    assert any("targets" in mesh["primitives"][0] for mesh in document["meshes"])
    paths = {channel["target"]["path"] for channel in document["animations"][0]["channels"]}
    assert paths == {"translation", "rotation", "scale", "weights"}
    last = max(view["byteOffset"] + view["byteLength"] for view in document["bufferViews"])
    assert last <= document["buffers"][0]["byteLength"]


def test_bodies_of_a_glb_are_where_the_model_says(motion: da.Result) -> None:
    scene = scene_of_result(motion)
    data = gltf_of(scene)
    size = struct.unpack("<I", data[12:16])[0]
    document, start = json.loads(data[20 : 20 + size]), 28 + size
    node = next(k for k, n in enumerate(document["nodes"]) if n.get("name") == "rocker" and "children" in n)
    animation = document["animations"][0]
    channel = next(c for c in animation["channels"] if c["target"] == {"node": node, "path": "translation"})
    accessor = document["accessors"][animation["samplers"][channel["sampler"]]["output"]]
    view = document["bufferViews"][accessor["bufferView"]]
    values = np.frombuffer(data, "<f4", 3 * accessor["count"], start + view["byteOffset"]).reshape(-1, 3)
    np.testing.assert_allclose(values, motion.output("rocker.position", scene["motion"]["times"]), atol=1e-6)


def test_other_endings_are_refused(motion: da.Result, tmp_path: Path) -> None:
    with pytest.raises(da.ModelError, match=r"\.html or \.glb"):
        motion.export(tmp_path / "motion.step")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(Exception, match="folder"):
        motion.export(tmp_path / "folder.html")
    assert (tmp_path / "folder.html").is_dir()


# ---- the server


@pytest.fixture
def served() -> Iterator[Viewer]:
    if not (Path(da.__file__).parent / "view" / "web" / "page.js").is_file():
        pytest.skip("built without Node.js: no page")
    viewer = four_bar().view(open_browser=False)
    yield viewer
    viewer.close()


def _fetch(viewer: Viewer, path: str, **more: Any) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{viewer.port}/{path}", **more)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return bytes(answer.read())


def test_a_served_mechanism_follows_the_hand(served: Viewer) -> None:
    scene = unpack(_fetch(served, f"scene?token={served.token}"))
    assert scene["controls"]["pull"] is True
    question = {"kind": "pull", "frame": 1, "local": [1.0, 0, 0], "target": [0.5, -1.0, 0]}
    answer = unpack(_fetch(served, f"ask?token={served.token}", data=json.dumps(question).encode()))
    assert np.abs(answer["poses"] - scene["motion"]["poses"]).max() > 0.01
    wrong = {"kind": "pull", "frame": 99, "local": [0, 0, 0], "target": [0, 0, 0]}
    said = unpack(_fetch(served, f"ask?token={served.token}", data=json.dumps(wrong).encode()))["say"]
    assert "bodies 1 to 3" in said


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("", {}),
        ("scene?token=wrong", {}),
        ("ask?token=", {"data": b"{}"}),
        ("scene?token={token}", {"headers": {"Host": "evil.example"}}),
    ],
)
def test_nothing_is_answered_without_the_token_or_under_another_name(served: Viewer, path: str, more: Any) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        _fetch(served, path.format(token=served.token), **more)
    assert refused.value.code == 403


def test_nonsense_is_refused_and_the_server_continues(served: Viewer) -> None:
    for body in (b"", b"[1]", b"{", b"x" * 70000):
        with pytest.raises(urllib.error.HTTPError) as refused:
            _fetch(served, f"ask?token={served.token}", data=body)
        assert refused.value.code == 400
    assert b"viewer" in _fetch(served, f"?token={served.token}")


def test_a_port_that_is_taken_is_named(served: Viewer) -> None:
    with pytest.raises(da.ModelError, match=f"port.*{served.port}"):
        four_bar().view(open_browser=False, port=served.port)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[Viewer]:
    """A server that needs no page."""
    monkeypatch.setattr(server, "served_page", lambda *_, **__: "page")
    monkeypatch.setattr(server._Handler, "timeout", 0.5)
    puppet = DragSolver(four_bar().compile())

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        return {"say": str(puppet.set(str(question.get("name")), question.get("value")))}  # type: ignore[arg-type]

    with Viewer("bare", b"", answer=answer) as viewer:
        yield viewer


def test_questions_that_are_none_leave_no_traceback(bare: Viewer, capfd: pytest.CaptureFixture[str]) -> None:
    for body in (b"{", b"[" * 60000, b"\xff", b"[1]", b""):
        with pytest.raises(urllib.error.HTTPError) as refused:
            _fetch(bare, f"ask?token={bare.token}", data=body)
        assert refused.value.code == 400
    question = json.dumps({"name": "A", "value": 1e308}).encode()
    assert "at most 70" in unpack(_fetch(bare, f"ask?token={bare.token}", data=question))["say"]
    assert capfd.readouterr().err == ""


def test_a_request_that_does_not_come_in_is_let_go(bare: Viewer, capfd: pytest.CaptureFixture[str]) -> None:
    """A client that opens a connection and falls silent does not hold a thread for ever."""
    with socket.create_connection(("127.0.0.1", bare.port), timeout=10) as line:
        head = f"POST /ask?token={bare.token} HTTP/1.1\r\nHost: 127.0.0.1:{bare.port}\r\nContent-Length: 100\r\n\r\n"
        line.sendall(head.encode() + b"{")
        assert line.recv(100) == b""  # closed by the other side
    assert capfd.readouterr().err == ""


def test_a_list_for_a_name_is_answered(served: Viewer) -> None:
    question = json.dumps({"kind": "set", "name": [1], "value": 0.0}).encode()
    assert "coordinate" in unpack(_fetch(served, f"ask?token={served.token}", data=question))["say"]
