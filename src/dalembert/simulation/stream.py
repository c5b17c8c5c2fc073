"""Records on disk while a run goes on, so that memory stays bounded and nothing is lost.

A directory holds ``rows.bin``, rows of float64 [t, q, v, x] as they come, ``run.json`` with their sizes and names, and
``checkpoint.bin``, from which a run goes on as if it had not stopped.
"""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import IntegrationError, ModelError
from ..io.atomic import replacing
from ..result import EventRecord

if TYPE_CHECKING:
    from ..model import Model
    from .run import Run

__all__ = ["Stream", "read_stream"]

Array = NDArray[np.float64]

CHECKPOINT_TIME = 5.0  # s of wall time between two checkpoints


class Stream:
    """Writes the records of a run to a directory and forgets them.

    Parameters
    ----------
    path : str or path
        A directory that does not exist yet, or is that of the run to be gone on with.
    model : Model
    resume : bool
    """

    def __init__(self, path: str | os.PathLike[str], model: Model, resume: bool) -> None:
        self.path = Path(path)
        self.row_bytes = 8 * (1 + model.nq + model.nv + model.nx)
        self.written = 0
        self.failed = False
        self.saved = time.perf_counter()
        try:
            if resume:
                if not (self.path / "checkpoint.bin").is_file():
                    raise ModelError("simulate", "stream", str(path), "it holds no checkpoint to go on from")
                _check_model(self.path, model)
            else:
                self._prepare(model)
            self.file = open(self.path / "rows.bin", "ab")  # noqa: SIM115  (closed by close)
        except OSError as error:
            raise ModelError("simulate", "stream", str(path), f"it cannot be written to: {error}") from None

    def _prepare(self, model: Model) -> None:
        if self.path.exists() and any(self.path.iterdir()):
            remedy = "it holds files already; give a new directory, or resume=True to go on"
            raise ModelError("simulate", "stream", str(self.path), remedy)
        self.path.mkdir(parents=True, exist_ok=True)
        sizes = {"nq": model.nq, "nv": model.nv, "nx": model.nx}
        names = {"system": model.system.name, "coordinates": model.coordinate_names, "speeds": model.speed_names}
        _write(self.path / "run.json", json.dumps(sizes | names, indent=1).encode())

    def last_point(self) -> dict[str, Any]:
        """Return the last snapshot, with the rows that were written after it cut off."""
        point = _unpacked((self.path / "checkpoint.bin").read_bytes())
        self.written = int(point["written"])
        self.file.truncate(self.written * self.row_bytes)
        return point

    def flush(self, run: Run) -> None:
        """Write what is new, keep the last row in memory, and a checkpoint from time to time."""
        t, q, v, x = run.records.arrays()
        rows = np.column_stack([t, q, v, x])[1 if self.written else 0 :]
        if len(rows):
            with self._writing():
                self.file.write(np.ascontiguousarray(rows).tobytes())
            self.written += len(rows)
        run.records.keep_last()
        if time.perf_counter() - self.saved > CHECKPOINT_TIME:
            self.checkpoint(run)

    def checkpoint(self, run: Run) -> None:
        """Write a checkpoint that agrees with the rows written so far."""
        with self._writing():
            self.file.flush()
            os.fsync(self.file.fileno())
            _write(self.path / "checkpoint.bin", _packed(run.snapshot()))
        self.saved = time.perf_counter()

    def close(self, run: Run) -> None:
        """Write what is left, unless that has failed already, and let the run have its rows from the file."""
        if not self.failed:
            self.flush(run)
            self.checkpoint(run)
        with suppress(OSError):
            self.file.close()
        rows = read_stream(self.path, run.model)
        if len(rows[0]):
            run.records.parts = [rows]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.failed = True
            raise IntegrationError(
                f"the run cannot be written to {str(self.path)!r}: {error}; make room and go on with resume=True"
            ) from error


def _write(path: Path, blob: bytes) -> None:
    with replacing(path) as new:
        new.write_bytes(blob)


def _packed(point: dict[str, Any]) -> bytes:
    """Return a snapshot as an uncompressed .npz: arrays, and everything else as JSON; nothing that is executed."""
    t, q, v, x = point["records"]
    events = [(e.name, e.t, e.q.tolist(), e.v.tolist(), e.x.tolist(), e.energy, e.message) for e in point["events"]]
    segments = [
        (begin, method, list(map(float, numbers)), locked, off)
        for begin, method, numbers, locked, off in point["segments"]
    ]
    plain = (
        "notes",
        "methods",
        "recent",
        "written",
        "t_end",
        "events_watched",
        "coordinates",
        "asked",
        "features",
        "held",
    )
    rest = {key: point[key] for key in plain} | {"events": events, "segments": segments}
    buffer = io.BytesIO()
    np.savez(
        buffer,
        checkpoint=np.frombuffer(point["checkpoint"], dtype=np.uint8),
        t=t,
        q=q,
        v=v,
        x=x,
        counts=point["counts"],
        g=point["g"],
        rest=np.frombuffer(json.dumps(rest).encode(), dtype=np.uint8),
    )
    return buffer.getvalue()


def _unpacked(blob: bytes) -> dict[str, Any]:
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
        point: dict[str, Any] = json.loads(parts["rest"].tobytes())
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
        raise ModelError("simulate", "checkpoint", f"{len(blob)} bytes", "it is damaged") from None
    point["events"] = [
        EventRecord(
            name, t, np.array(q, dtype=float), np.array(v, dtype=float), np.array(x, dtype=float), energy, message
        )
        for name, t, q, v, x, energy, message in point["events"]
    ]
    point["checkpoint"] = parts["checkpoint"].tobytes()
    point["records"] = tuple(parts[name] for name in "tqvx")
    point["counts"], point["g"] = parts["counts"], parts["g"]
    return point


def _check_model(folder: Path, model: Model) -> None:
    """Refuse a directory that is not one of a streamed run of the model."""
    try:
        sizes: dict[str, Any] = json.loads((folder / "run.json").read_text())
    except (OSError, ValueError):
        raise ModelError("stream", "path", str(folder), "it is not the directory of a streamed run") from None
    expected = (model.nq, model.nv, model.nx)
    if (sizes["nq"], sizes["nv"], sizes["nx"]) != expected or tuple(sizes["coordinates"]) != model.coordinate_names:
        raise ModelError(
            "stream", "model", model.system.name, f"the run is of {sizes['system']!r}, with other coordinates"
        )


def read_stream(path: str | os.PathLike[str], model: Model) -> tuple[Array, Array, Array, Array]:
    """Return t, q, v and x of a streamed run, mapped from disk; a last row that is not whole is left out."""
    folder = Path(path)
    _check_model(folder, model)
    expected = (model.nq, model.nv, model.nx)
    width = 1 + sum(expected)
    count = (folder / "rows.bin").stat().st_size // (8 * width)
    rows = (
        np.memmap(folder / "rows.bin", dtype=np.float64, mode="r", shape=(count, width))
        if count
        else np.empty((0, width))
    )
    ends = np.cumsum([1, *expected])
    return rows[:, 0], rows[:, 1 : ends[1]], rows[:, ends[1] : ends[2]], rows[:, ends[2] :]
