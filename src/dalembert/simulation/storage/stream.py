"""Records of a run on disk, with checkpoints: memory stays bounded.

A directory holds ``rows.bin``, rows of float64 [t, q, v, x]; ``seals.bin``, for every block of rows the number of rows
up to its end (uint64) and its checksum (8 bytes); ``run.json`` with sizes and names; ``contacts.bin`` with the contact
points of contact by steps; ``checkpoint.bin``, from which a run resumes with the same bits; and ``lock``, held by the
writing process.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...errors import FileError, IntegrationError, ModelError
from ...files.checksums import block_checksum, check_checksum, with_checksum
from ...files.file_locks import FileLock
from ...files.safe_files import replacing
from ..contact.contact_steps import ContactSteps
from .checkpoint import snapshot
from .checkpoint_format import deserialize_checkpoint, serialize_checkpoint
from .contact_blocks import read_contact_blocks, sync_contact_blocks, truncate_contact_blocks, write_contact_block

if TYPE_CHECKING:
    from ...model import Model
    from ..run import Run

__all__ = ["Stream", "read_stream", "stream_start_time"]


CHECKPOINT_TIME = 5.0  # s of wall time between two checkpoints

_FORMAT = 2  # format 1 had no checksums of rows
_SEAL = np.dtype([("end", "<u8"), ("seal", "V8")])


class Stream:
    """Write the records of a run to a directory and drop them from memory.

    Parameters
    ----------
    path : str or path
        A new or empty directory, or that of the run to resume.
    model : Model
    t_start : float, s
        Start of the run.
    resume : bool

    Raises
    ------
    FileError
        If another process writes to it, or it is damaged, or contains other files.
    """

    def __init__(self, path: str | os.PathLike[str], model: Model, t_start: float, resume: bool) -> None:
        self.path = Path(path)
        self.row_bytes = 8 * (1 + model.nq + model.nv + model.nx)
        self.written = self.contact_bytes = 0
        self.failed = False
        self.saved = time.perf_counter()
        try:
            if resume:
                if not (self.path / "run.json").is_file():
                    remedy = "it holds no checkpoint to resume from: leave out resume to start"
                    raise ModelError("simulate", "stream", str(path), remedy)
            else:
                self._check_empty()
                self.path.mkdir(parents=True, exist_ok=True)
            self.lock = FileLock(self.path / "lock", item="simulate", field="stream", value=str(path))
            try:
                if resume:
                    _check_model(self.path, model)
                else:
                    self._check_empty()
                    self._describe(model, t_start)
                self.file = open(self.path / "rows.bin", "ab")  # noqa: SIM115  (closed by release)
                self.seals = open(self.path / "seals.bin", "ab")  # noqa: SIM115
            except BaseException:
                self.lock.release()
                raise
        except OSError as error:
            raise ModelError("simulate", "stream", str(path), f"it cannot be written to: {error}") from None

    def _check_empty(self) -> None:
        if self.path.exists() and set(os.listdir(self.path)) - {"lock"}:
            remedy = "it holds files already; give a new directory, or resume=True to resume"
            raise ModelError("simulate", "stream", str(self.path), remedy)

    def _describe(self, model: Model, t_start: float) -> None:
        sizes = {"format": _FORMAT, "t_start": t_start, "nq": model.nq, "nv": model.nv, "nx": model.nx}
        names = {"system": model.system.name, "coordinates": model.coordinate_names, "speeds": model.speed_names}
        _write(self.path / "run.json", with_checksum(sizes | names).encode())

    @property
    def notes(self) -> list[str]:
        """Notes on the directory."""
        if self.lock.held:
            return []
        return [
            f"the file system of {str(self.path)!r} supports no locks: make sure that no other process writes to it"
        ]

    def last_point(self) -> dict[str, Any] | None:
        """Return the last snapshot and drop rows written after it; None if there is none yet."""
        point = _checkpoint(self.path)
        self.written = 0 if point is None else int(point["written"])
        self.contact_bytes = 0 if point is None else int(point["contact_bytes"])
        truncate_contact_blocks(self.path, self.contact_bytes)
        _undamaged_rows(self.path, self.row_bytes, self.written)
        ends = _seals(self.path)["end"]
        self.file.truncate(self.written * self.row_bytes)
        self.seals.truncate(int(np.searchsorted(ends, self.written, side="right")) * _SEAL.itemsize)
        return point

    def flush(self, run: Run) -> None:
        """Write new rows, keep the last row in memory, and write a checkpoint at intervals."""
        self._write_rows(run)
        if time.perf_counter() - self.saved > CHECKPOINT_TIME:
            self._write_checkpoint(run)

    def checkpoint(self, run: Run) -> None:
        """Write new rows and a checkpoint."""
        self._write_rows(run)
        self._write_checkpoint(run)

    def _write_rows(self, run: Run) -> None:
        t, q, v, x = run.records.arrays()
        rows = np.column_stack([t, q, v, x])[1 if self.written else 0 :]
        if len(rows):
            block, end = np.ascontiguousarray(rows).tobytes(), self.written + len(rows)
            with self._writing():
                self.file.write(block)
                self.seals.write(np.array([(end, block_checksum(block, self.written))], dtype=_SEAL).tobytes())
            self.written = end
        run.records.keep_last()
        if isinstance(run.contact, ContactSteps):
            log = run.contact.hand_over(run.integrator)
            if len(log.times):
                with self._writing():
                    self.contact_bytes = write_contact_block(self.path, log)

    def _write_checkpoint(self, run: Run) -> None:
        with self._writing():
            for file in (self.file, self.seals):
                file.flush()
                os.fsync(file.fileno())
            sync_contact_blocks(self.path)
            _write(self.path / "checkpoint.bin", serialize_checkpoint(snapshot(run)))
        self.saved = time.perf_counter()

    def close(self, run: Run) -> None:
        """Write the rest, unless writing has failed, and give the run its rows from the file."""
        if not self.failed:
            self.checkpoint(run)
        self._close_files()
        rows = read_stream(self.path, run.model)
        if len(rows[0]):
            run.records.parts = [rows]
        if isinstance(run.contact, ContactSteps):
            run.contact.take_back(read_contact_blocks(self.path))
        self.release()

    def release(self) -> None:
        """Release the lock of the directory."""
        self._close_files()
        self.lock.release()

    def _close_files(self) -> None:
        for file in (self.file, self.seals):
            with suppress(OSError):
                file.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.failed = True
            raise IntegrationError(
                f"the run cannot be written to {str(self.path)!r}: {error}; free disk space and use resume=True"
            ) from error


def stream_start_time(path: str | os.PathLike[str]) -> float | None:
    """Return the start time of a streamed run, s; None if there is none."""
    try:
        return float(json.loads((Path(path) / "run.json").read_text(encoding="utf-8"))["t_start"])
    except (OSError, ValueError, KeyError, TypeError):  # reported where the run is resumed
        return None


def read_stream(path: str | os.PathLike[str], model: Model) -> tuple[Array, Array, Array, Array]:
    """Return t, q, v and x of a streamed run, mapped from disk, without incomplete rows.

    Raises
    ------
    FileError
        If rows are damaged or missing.
    """
    folder = Path(path)
    _check_model(folder, model)
    parts = (model.nq, model.nv, model.nx)
    width = 1 + sum(parts)
    point = _checkpoint(folder)
    count = _undamaged_rows(folder, 8 * width, 0 if point is None else int(point["written"]))
    empty = np.empty((0, width))
    rows = np.memmap(folder / "rows.bin", dtype="<f8", mode="r", shape=(count, width)) if count else empty
    ends = np.cumsum([1, *parts])
    return rows[:, 0], rows[:, 1 : ends[1]], rows[:, ends[1] : ends[2]], rows[:, ends[2] :]


def _write(path: Path, blob: bytes) -> None:
    with replacing(path) as new:
        new.write_bytes(blob)


def _check_model(folder: Path, model: Model) -> None:
    """Refuse a directory without a streamed run of the model."""
    try:
        header: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        if "format" not in header and "coordinates" in header:
            raise ValueError("it was written by an earlier version of dalembert, which is needed to resume it")
        check_checksum(header)
    except Exception as error:  # damaged bytes may raise anything
        reason = f"it is not the directory of a streamed run, or its run.json is damaged: {error}"
        raise FileError("simulate", "stream", str(folder), reason) from error
    if header["format"] != _FORMAT:
        remedy = "it was written by another version of dalembert, which is needed to resume it"
        raise FileError("simulate", "stream", str(folder), remedy)
    expected = (model.nq, model.nv, model.nx)
    if (header["nq"], header["nv"], header["nx"]) != expected or tuple(header["coordinates"]) != model.coordinate_names:
        remedy = f"the run in {str(folder)!r} is of {header['system']!r}, with other coordinates: give that model"
        raise ModelError("simulate", "model", model.system.name, remedy)


def _checkpoint(folder: Path) -> dict[str, Any] | None:
    """Return the last snapshot of a streamed run; None if there is none yet."""
    try:
        return deserialize_checkpoint((folder / "checkpoint.bin").read_bytes())
    except FileNotFoundError:
        return None
    except Exception as error:
        remedy = f"{error}; take another copy of the directory, or run again"
        raise FileError("simulate", "stream", str(folder), remedy) from error


def _seals(folder: Path) -> NDArray[Any]:
    """Return ends and checksums of all blocks of rows."""
    blob = (folder / "seals.bin").read_bytes() if (folder / "seals.bin").exists() else b""
    return np.frombuffer(blob[: len(blob) // _SEAL.itemsize * _SEAL.itemsize], dtype=_SEAL)


def _undamaged_rows(folder: Path, row_bytes: int, least: int) -> int:
    """Return the number of undamaged rows, at least those of the last checkpoint.

    Rows after it may be incomplete if the process was killed.
    """
    rows = folder / "rows.bin"
    there = rows.stat().st_size // row_bytes if rows.exists() else 0
    good = [0]
    if there:
        with open(rows, "rb") as file:
            for end, seal in _seals(folder).tolist():
                begin = good[-1]
                if not begin < end <= there or seal != block_checksum(file.read((end - begin) * row_bytes), begin):
                    break
                good.append(end)
    if least not in good:
        what = f"of {least} rows up to its checkpoint those from {good[-1]} on are damaged, in rows.bin or seals.bin"
        raise FileError("simulate", "stream", str(folder), f"{what}; take another copy of the directory, or run again")
    return good[-1]
