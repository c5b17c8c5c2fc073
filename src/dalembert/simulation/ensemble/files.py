"""Ensembles as xarray Datasets and in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...checks import finite_number
from ...errors import ModelError
from ...model import Conditions, Model, State
from ...model.fingerprint import fingerprint
from ...result import Result
from ...result.storage.datasets import states_dataset
from ...result.storage.files import check_content, check_model, read_conditions, result_of, run_note
from ...result.storage.formats import read_file, write_file
from ..options import make_options
from .dense_output import RepeatedSteps

if TYPE_CHECKING:
    import xarray

    from .ensemble import Ensemble

__all__ = [
    "ensemble_dataset",
    "ensemble_statistics",
    "load_ensemble",
    "loaded_dense_output",
    "loaded_runs",
    "save_ensemble",
]


def ensemble_dataset(ensemble: Ensemble, names: Sequence[str] = ()) -> xarray.Dataset:
    """Return a Dataset over runs and times; see `Ensemble.to_xarray`."""
    data = states_dataset(ensemble, names, lead=("run",))
    data = data.assign_coords(run=np.arange(len(ensemble)), status=("run", list(ensemble.status)))
    numbers = ensemble._parameters
    if numbers is not None:
        data = data.assign_coords(parameter=list(ensemble.model.parameter_names))
        data["parameters"] = (("run", "parameter"), numbers[:, list(ensemble.model.parameter_names.values())])
    return data.assign_attrs(title=ensemble.labels.system)


def ensemble_statistics(ensemble: Ensemble, names: Sequence[str], quantiles: Sequence[float]) -> xarray.Dataset:
    """Return statistics of outputs over all runs; see `Ensemble.statistics`."""
    import xarray

    parts = [finite_number(part, item="statistics", field="quantiles") for part in quantiles]
    wrong = [part for part in parts if not 0 <= part <= 1]
    if wrong:
        raise ModelError("statistics", "quantiles", wrong[0], "give numbers from 0 to 1")
    data = states_dataset(ensemble, names, lead=("run",))
    selected = [name for name in data.data_vars if name not in ("q", "v", "x") or name in names]
    there = data[selected]
    plain = (there.mean("run"), there.std("run"), there.min("run"), there.max("run"))
    found = [*plain, *(there.quantile(part, "run").drop_vars("quantile") for part in parts)]
    labels = ["mean", "std", "least", "largest", *(f"quantile {part:g}" for part in parts)]
    whole = xarray.concat(found, xarray.DataArray(labels, dims="statistic", name="statistic"))
    for name in selected:
        whole[name].attrs = dict(data[name].attrs)
    got = np.isfinite(ensemble.q).all(axis=-1) if ensemble.model.nq else ensemble.t <= ensemble.reached[:, None]
    return whole.assign(runs=("time", got.sum(axis=0))).assign_attrs(title=ensemble.labels.system)


def save_ensemble(ensemble: Ensemble, path: str | os.PathLike[str], names: Sequence[str] = ()) -> None:
    """Write an ensemble; see `Ensemble.save`."""
    arrays = {"t": ensemble.t, "q": ensemble.q, "v": ensemble.v, "x": ensemble.x}
    data = ensemble_dataset(ensemble, names)
    places: dict[str, str] = {"t": "time", "q": "q", "v": "v", "x": "x"}
    if ensemble._parameters is not None:
        arrays["parameters"], places["parameters"] = ensemble._parameters, "numbers"
        data["numbers"] = (("run", "number"), ensemble._parameters)
    conditions = ensemble._conditions
    note: dict[str, Any] = {
        "holds": "ensemble",
        "labels": asdict(ensemble.labels),
        "ends": ensemble._ends,
        "reached": ensemble.reached.tolist(),
        "stats": asdict(ensemble.stats),
        "model": fingerprint(ensemble.model),
        "conditions": (conditions.to_plain(), conditions.stabilization),
        "controlled": conditions.control is not None,
    }
    if ensemble._taken is not None and ensemble._taken.span[0] == ensemble.t[0]:
        taken = ensemble._taken
        options = taken.options
        plain = {name: value for name, value in options.to_plain().items() if value not in (np.inf, 0.0)}
        note["taken"] = (plain, options.project, taken.discontinuity_times.tolist(), taken.span)
    runs = ensemble._executed_runs()
    if runs is not None:
        note["runs"] = [None if run is None else run_note(run) for run in runs]
        for name, dimensions in _OF_RUNS.items():
            arrays[name], places[name] = _of_runs(ensemble, runs, name), f"{name} of runs"
            data[places[name]] = (("run", "time", *dimensions), arrays[name])
    write_file(path, note, arrays, dataset=lambda: (data, places), table=None)


_OF_RUNS = {"a": ("speed",), "tau": ("speed",), "lam": ("row",), "energy.work": (), "energy.dissipated": ()}


def _of_runs(ensemble: Ensemble, runs: Sequence[Result | None], name: str) -> Array:
    """Return an output of separately executed runs, (B, n, ...); NaN where it is not known."""
    width = {"lam": ensemble.model.nc}.get(name, ensemble.model.nv)
    whole = np.full((len(ensemble), len(ensemble.t), *([width] * len(_OF_RUNS[name]))), np.nan)
    for k, run in enumerate(runs):
        values = None if run is None else run._columns_or_none(name)
        if values is not None:
            whole[k, : len(values)] = values
    return whole


def loaded_runs(note: dict[str, Any], arrays: dict[str, Array], model: Model) -> list[Result | None] | None:
    """Return separately executed runs of an ensemble in a file; None for SIMD batches."""
    if "runs" not in note:
        return None
    runs: list[Result | None] = []
    for k, own in enumerate(note["runs"]):
        if own is None:
            runs.append(None)
            continue
        got = len(arrays["t"]) if not model.nq else int(np.isfinite(arrays["q"][k]).all(axis=-1).sum())
        mine = {name: arrays[name][k, :got] for name in ("q", "v", "x", *_OF_RUNS)} | {"t": arrays["t"][:got]}
        known = {name: values for name, values in mine.items() if np.isfinite(values).all()}
        runs.append(result_of(Result, {**note, **own}, known, model))
    return runs


def loaded_dense_output(note: dict[str, Any], arrays: dict[str, Array], conditions: Conditions) -> RepeatedSteps | None:
    """Return the dense output of an ensemble in a file; None if there is none."""
    if "taken" not in note or note["controlled"]:
        return None
    plain, project, discontinuity_times, span = note["taken"]
    given = {"max_step": None, "step": None, "spectral_radius": 0.0} | plain
    options = make_options(conditions.model, **given, project=project)
    start = State(q=arrays["q"][:, 0], v=arrays["v"][:, 0], t=span[0], x=arrays["x"][:, 0])
    return RepeatedSteps(conditions, options, np.array(discontinuity_times, dtype=float), tuple(span), start)


def load_ensemble(path: str | os.PathLike[str], model: Model) -> tuple[Conditions, dict[str, Any], dict[str, Array]]:
    """Return conditions, note and arrays of an ensemble in a file."""
    note, arrays = read_file(path)
    check_content(path, note, "ensemble")
    check_model(note, model)
    if note["controlled"]:
        note["stats"]["notes"].append(
            "read from a file, which stores no control function: recomputed outputs are without control, and energies "
            "over time use polynomials between stored times"
        )
    return read_conditions(model, *note["conditions"]), note, arrays
