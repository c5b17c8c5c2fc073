"""Damaged model files are refused with a message, and nothing else happens."""

import struct

import numpy as np
import pytest

import dalembert as da
from dalembert import _core
from dalembert.library.mechanisms import four_bar


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    s = four_bar()
    s.connect("m", da.Element("joint", "u - 3 * sign(ds)", inputs={"u": 1.0}, active=True), "A")
    da.export(s, folder / "loop.dalm", inputs=["m.u", "B.effort"], outputs=["crank.position", "D.force", "m.effort"])
    rough = da.System("rough")
    bob = rough.body("bob", da.rod(length=1.0, mass=2.0))
    rough.connect("A", da.Revolute("y", friction=0.3, lower=-0.5, upper=0.7), rough.ground, bob)
    rough.connect("S", da.Spherical(), bob.at(1.0, 0, 0), rough.body("tip", da.box(0.1, 0.2, 0.3, mass=1.0)))
    da.export(rough, folder / "rough.dalm", outputs=["tip.position", "A.position"])
    return [(folder / name).read_bytes() for name in ("loop.dalm", "rough.dalm")]


def summed(body):
    return b"DALM\0\0\0" + bytes([_core.file_format]) + struct.pack("<Q", _core.file_checksum(body)) + body


def changed(data, rng):
    """Return a file with some bytes, words or lengths changed, and a checksum that fits."""
    body = bytearray(data[16:])
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(body)))
        match rng.integers(5):
            case 0:
                body[place] ^= 1 << int(rng.integers(8))
            case 1:
                body[place : place + 4] = struct.pack("<i", int(rng.choice([-1, 0, 1, 2**31 - 1, -(2**31), 255])))
            case 2:
                number = float(rng.choice([np.nan, np.inf, -np.inf, 1e308, 0.0, -1.0]))
                body[place : place + 8] = struct.pack("<d", number)
            case 3:
                del body[place : place + int(rng.integers(1, 64))]
            case _:
                body[place:place] = rng.bytes(int(rng.integers(1, 16)))
    return summed(bytes(body))


def run_changed(files, count, seed):
    """Open changed files, and run those that are accepted; return how many were refused."""
    rng, refused = np.random.default_rng(seed), 0
    for k in range(count):
        data = changed(files[k % len(files)], rng)
        try:
            run = _core.FileRun(_core.FileModel(data), max_steps=20)
        except ValueError as error:
            code, _, text = str(error).partition(": ")
            assert "options" in str(error) or (int(code) in (-1, -2) and text), str(error)
            refused += 1
            continue
        try:
            run.start(0.0)
            run.advance(0.01)
            for kind in range(7):
                run.read(kind)
            run.set_state(run.state())
        except RuntimeError as error:
            assert error.args[0] < 0
    return refused


def test_changed_files_are_refused_or_run(files):
    assert run_changed(files, 400, 1) > 100


@pytest.mark.slow
def test_ten_thousand_changed_files(files):
    """Meant for a build with AddressSanitizer: .ci/sanitize -m slow tests/exchange/test_damaged_model_files.py"""
    assert run_changed(files, 10_000, 2) > 3000


@pytest.mark.parametrize("kept", [0, 3, 8, 15, 16, 20, 100, -1])
def test_short_files(files, kept, tmp_path):
    (tmp_path / "m.dalm").write_bytes(files[0][:kept])
    with pytest.raises(da.FileError, match=r"m\.dalm'.*damaged, or no model file"):
        da.FileRun(tmp_path / "m.dalm")
    body = files[0][16:][:kept]
    with pytest.raises(da.FileError):
        da.FileRun(summed(body))


def test_a_changed_byte_is_seen_by_the_checksum(files):
    data = bytearray(files[0])
    data[500] ^= 1
    with pytest.raises(da.FileError, match=r"checksum"):
        da.FileRun(bytes(data))


def test_files_of_a_later_version_are_refused(files):
    with pytest.raises(da.FileError, match=r"format 99.*later version"):
        da.FileRun(files[0][:7] + bytes([99]) + files[0][8:])
    body = files[0][16:]
    assert body.count(b"restitution") == 0
    with pytest.raises(da.FileError, match=r"'pitcj'.*later version"):
        da.FileRun(summed(body.replace(b"pitch", b"pitcj", 1)))
