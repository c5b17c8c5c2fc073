"""`Study`: a campaign that was run, with its provenance, failures and single cases."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...answer import Answer
from ...errors import ModelError
from ...files.safe_files import replacing
from ...io import load
from ...model import Model, as_model
from ...result.storage.columns import require
from ...system import System
from .campaign import model_checksum
from .cases import Axis, Case, Design
from .datasets import MESSAGE, STATUS, TRACEBACK
from .jobs import Job
from .sweep import load_sweep

if TYPE_CHECKING:
    import pandas
    import xarray

__all__ = ["Study"]

_ITEM = "Study"


class Study(Answer):
    """Campaign of `sweep`: its Dataset or its store, its provenance, and single cases.

    Parameters
    ----------
    campaign : xarray.Dataset, str or path
        Dataset that `sweep` or `load_sweep` returned, or the store.
    system : System, Model, or function of a Case
        Needed where the campaign does not hold a model file: a function of the case, or a system with Python functions.
    task : function
        Needed for campaigns with a task of the user.
    chunks : dict
        As in `load_sweep`.

    Attributes
    ----------
    data : xarray.Dataset
    provenance : dict
        Versions, platform, instruction set and date; settings, recorded outputs and varied names; model file, checksum.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> found = da.sweep(s, {"bob.mass": [1.0, 2.0], "A": [0.1, 0.2, 0.3]}, t_end=1.0, outputs=("A.speed", "peak"))
    >>> study = da.Study(found)
    >>> study.case(4)
    {'bob.mass': 2.0, 'A': 0.2}
    >>> run = study.rerun(4)
    >>> bool(abs(abs(run["A.speed"]).max() - found["A.speed peak"].values[1, 1]) < 1e-12)
    True
    """

    def __init__(
        self,
        campaign: xarray.Dataset | str | os.PathLike[str],
        system: System | Model | Callable[[Case], System] | None = None,
        *,
        task: Callable[..., Any] | None = None,
        chunks: Any = None,
    ) -> None:
        if isinstance(campaign, (str, os.PathLike)):
            self.data = load_sweep(campaign, chunks=chunks)
        else:
            self.data = campaign
        if not hasattr(self.data, "data_vars") or not {"task", "varied", "settings"} <= set(self.data.attrs):
            raise ModelError(_ITEM, "campaign", type(campaign).__name__, "give a Dataset of da.sweep, or its store")
        self._given, self._task = system, task
        self._source: Model | Callable[[Case], System] | None = None
        attrs = self.data.attrs
        self.provenance: dict[str, Any] = {
            name: json.loads(value) if name in ("settings", "outputs", "varied", "parameters") else value
            for name, value in attrs.items()
            if name != "notes"
        }
        self._design = self._read_design()

    def _read_design(self) -> Design:
        axes = []
        for axis, (names, count) in self.provenance["varied"].items():
            columns = {name: self.data.coords[name].values.tolist() for name in names if name in self.data.coords}
            if len(columns) < len(names) or any(len(column) != count for column in columns.values()):
                raise ModelError(_ITEM, "campaign", axis, "the Dataset lacks values of this axis: give the whole one")
            axes.append(Axis(axis, columns))
        return Design(tuple(axes), int(self.provenance["seed"]))

    def __len__(self) -> int:
        return len(self._design)

    @property
    def success(self) -> bool:
        """Whether all cases finished."""
        return bool((self.data[STATUS].values == "finished").all())

    @property
    def notes(self) -> list[str]:
        """Notes of the runs."""
        return list(self.data.attrs.get("notes", ()))

    def _headline(self) -> str:
        states, counts = np.unique(self.data[STATUS].values, return_counts=True)
        each = ", ".join(f"{n} {state}" for state, n in zip(states, counts, strict=True))
        p = self.provenance
        return (
            f"{p['title']}: {len(self)} cases, {each}; dalembert {p.get('dalembert')}, {p.get('isa')}, {p.get('date')}"
        )

    def to_xarray(self) -> xarray.Dataset:
        """Return the Dataset of all cases."""
        return self.data.copy()

    def case(self, case: int | Mapping[str, Any]) -> dict[str, Any]:
        """Return the varied values of a case, given by number, or by some of its values."""
        return dict(self._design.case(self.number(case)))

    def number(self, case: int | Mapping[str, Any]) -> int:
        """Return the number of a case; values must determine it, numbers to 1e-9 of their size."""
        if not isinstance(case, Mapping):
            if isinstance(case, bool) or not isinstance(case, (int, np.integer)) or not 0 <= case < len(self):
                raise ModelError(_ITEM, "case", case, f"give a number from 0 to {len(self) - 1}, or values by name")
            return int(case)
        places, left = [], dict(case)
        for axis in self._design.axes:
            fits = np.ones(len(axis), dtype=bool)
            for name in axis.columns:
                if name in left:
                    fits &= _equal(axis.columns[name], left.pop(name))
            if fits.sum() != 1:
                how = "no value" if not fits.any() else f"{fits.sum()} values"
                raise ModelError(_ITEM, "case", dict(case), f"{how} of {axis.name!r} fit: give all varied values")
            places.append(int(np.flatnonzero(fits)[0]))
        if left:
            known = ", ".join(map(repr, self._design.names))
            raise ModelError(_ITEM, "case", next(iter(left)), f"varied are {known}")
        return int(np.ravel_multi_index(places, self._design.shape))

    def rerun(self, case: int | Mapping[str, Any], **settings: Any) -> Any:
        """Run one case again by itself and return its full result.

        Tasks that were run case by case give the same bits; runs of an ensemble agree to rounding.

        Parameters
        ----------
        case : int, or dict of name to value
        settings
            Settings of the task that replace those of the campaign, or that it could not keep (Python functions).

        Returns
        -------
        Result
            Or whatever the task returns. Errors are raised.
        """
        task = self._task if self._task is not None else self.provenance["task"]
        if self._task is None and "task_source" in self.provenance:
            raise ModelError(_ITEM, "task", task, f"it is a function: give da.Study(..., task={task})")
        kept = {}
        for name, value in self.provenance["settings"].items():
            if isinstance(value, dict) and "text" in value:
                if name not in settings:
                    remedy = f"the campaign could not keep it: give rerun(..., {name}=...)"
                    raise ModelError(_ITEM, f"setting {name!r}", value["text"], remedy)
            else:
                kept[name] = restored(value)
        job = Job(self.source, task, {**kept, **settings}, ())
        return job.answer(self._design.case(self.number(case)))

    @property
    def source(self) -> Model | Callable[[Case], System]:
        """Model of the campaign, or the function of a case that was given."""
        if self._source is None:
            self._source = self._make_source()
        return self._source

    def _make_source(self) -> Model | Callable[[Case], System]:
        p = self.provenance
        if self._given is not None:
            model = as_model(self._given) if isinstance(self._given, (System, Model)) else self._given
        elif p.get("model"):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "model.yaml"
                file.write_text(p["model"], encoding="utf-8")
                model = as_model(load(file))
            if p.get("parameters"):
                model = model.with_parameters(p["parameters"])
        else:
            what = "the system was made by a function" if p.get("source") else "a model file cannot hold the system"
            raise ModelError(_ITEM, "system", None, f"{what}: give da.Study(..., system)")
        if isinstance(model, Model) and p.get("model_checksum") and model_checksum(model) != p["model_checksum"]:
            what = "the given system is not" if self._given is not None else "this version reads its model file not as"
            raise ModelError(_ITEM, "system", model.system.name, f"{what} that of the campaign: checksums differ")
        return model

    @property
    def failures(self) -> pandas.DataFrame:
        """Table of failed cases: varied values, message and traceback, by number of the case."""
        import pandas

        failed = np.flatnonzero(self.data[STATUS].values.ravel() == "failed").tolist()
        messages = self.data[MESSAGE].values.ravel()
        traces = self.data[TRACEBACK].values.ravel() if TRACEBACK in self.data else None
        rows = [
            {**self._design.case(k), "message": messages[k], "traceback": "" if traces is None else str(traces[k])}
            for k in failed
        ]
        columns = [*self._design.names, "message", "traceback"]
        return pandas.DataFrame(rows, index=pandas.Index(failed, name="case"), columns=columns)

    @property
    def table(self) -> pandas.DataFrame:
        """Table of varied values, scalar outputs and status, by number of the case."""
        import pandas

        axes = [axis.name for axis in self._design.axes]
        columns: dict[str, Any] = dict(self._design.cases(range(len(self))).columns)
        for label, variable in self.data.data_vars.items():
            if tuple(variable.dims) == tuple(axes) and label != TRACEBACK:
                columns[str(label)] = variable.values.ravel()
        return pandas.DataFrame(columns, index=pandas.RangeIndex(len(self), name="case"))

    def save_table(self, path: str | os.PathLike[str]) -> None:
        """Write `table` to a Parquet file (``.parquet``, with the provenance as metadata) or a CSV file (``.csv``)."""
        name = Path(os.fsdecode(path))
        if name.suffix.lower() == ".csv":
            with replacing(name) as new:
                self.table.to_csv(new)
        elif name.suffix.lower() == ".parquet":
            pyarrow, parquet = require("pyarrow"), require("pyarrow.parquet")
            table = pyarrow.Table.from_pandas(self.table)
            meta = {**(table.schema.metadata or {}), b"dalembert_sweep": json.dumps(self.provenance).encode()}
            with replacing(name) as new:
                parquet.write_table(table.replace_schema_metadata(meta), new, write_page_checksum=True)
        else:
            raise ModelError(_ITEM, "path", str(path), "use a name that ends in .parquet or .csv")


def restored(value: Any) -> Any:
    """Return a value from its plain form, see `campaign.plain`."""
    if isinstance(value, Mapping):
        if set(value) == {"array"}:
            return np.array(value["array"])
        return {name: restored(entry) for name, entry in value.get("dict", {}).items()}
    if isinstance(value, list):
        return tuple(restored(entry) for entry in value)
    return value


def _equal(column: Any, wanted: Any) -> Any:
    if isinstance(wanted, (int, float, np.number)) and all(isinstance(value, (int, float)) for value in column):
        return np.isclose(np.asarray(column, dtype=float), float(wanted), rtol=1e-9, atol=0.0)
    return np.array([value == wanted for value in column])
