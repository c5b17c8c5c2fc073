"""Ensembles as Datasets and in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..io.datasets import states_dataset
from ..io.formats import read_file, write_file
from ..io.results import check_model, mind_holds, read_conditions
from ..model import Conditions, Model
from ..model.likeness import likeness

if TYPE_CHECKING:
    import xarray

    from .ensemble import Ensemble

__all__ = ["ensemble_dataset", "load_ensemble", "save_ensemble"]

Array = NDArray[np.float64]


def ensemble_dataset(ensemble: Ensemble, names: Sequence[str] = ()) -> xarray.Dataset:
    """Return a Dataset over runs and times; see `Ensemble.to_xarray`."""
    data = states_dataset(ensemble, names, lead=("run",))
    data = data.assign_coords(run=np.arange(len(ensemble)), status=("run", list(ensemble.status)))
    numbers = ensemble._parameters
    if numbers is not None:
        data = data.assign_coords(parameter=list(ensemble.model.parameter_names))
        data["parameters"] = (("run", "parameter"), numbers[:, list(ensemble.model.parameter_names.values())])
    return data.assign_attrs(title=ensemble.labels.system)


def save_ensemble(ensemble: Ensemble, path: str | os.PathLike[str], names: Sequence[str] = ()) -> None:
    """Write an ensemble; see `Ensemble.save`."""
    arrays = {"t": ensemble.t, "q": ensemble.q, "v": ensemble.v, "x": ensemble.x}
    data = ensemble_dataset(ensemble, names)
    places: dict[str, str] = {"t": "time", "q": "q", "v": "v", "x": "x"}
    if ensemble._parameters is not None:
        arrays["parameters"], places["parameters"] = ensemble._parameters, "numbers"
        data["numbers"] = (("run", "number"), ensemble._parameters)
    conditions = ensemble._conditions
    note = {
        "holds": "ensemble",
        "labels": asdict(ensemble.labels),
        "ends": ensemble._ends,
        "stats": asdict(ensemble.stats),
        "model": likeness(ensemble.model),
        "conditions": (conditions.plain(), conditions.stabilization),
        "controlled": conditions.control is not None,
    }
    write_file(path, note, arrays, dataset=lambda: (data, places), table=None)


def load_ensemble(path: str | os.PathLike[str], model: Model) -> tuple[Conditions, dict[str, Any], dict[str, Array]]:
    """Return conditions, note and arrays of an ensemble in a file."""
    note, arrays = read_file(path)
    mind_holds(path, note, "ensemble")
    check_model(note, model)
    if note["controlled"]:
        note["stats"]["notes"].append(
            "read from a file, which keeps no control function: what is computed anew is without control"
        )
    return read_conditions(model, *note["conditions"]), note, arrays
