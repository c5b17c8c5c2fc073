"""Datasets whose values are read from a store when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileError
from .datasets import dataset_of
from .recorded_outputs import Column
from .store import StoredStudy

if TYPE_CHECKING:
    import xarray

__all__ = ["open_dataset"]


def read_values(array: Any, label: str, store: str, key: tuple[Any, ...]) -> Any:
    """Read a part of a variable."""
    try:
        return array.oindex[key]
    except (RuntimeError, ValueError) as error:  # raised by codecs
        remedy = "run the sweep again with this store to recompute its cases"
        text = f"a chunk of {label!r} is damaged ({error}): {remedy}"
        raise FileError("load_sweep", "store", store, text) from error


@cache
def _lazy_class() -> Any:
    """Return the class of arrays that are read on access; xarray is imported where it is used."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class StoredValues(BackendArray):
        def __init__(self, array: Any, label: str, store: str) -> None:
            self.array, self.label, self.store = array, label, store
            self.shape, self.dtype = tuple(array.shape), np.dtype(array.dtype)

        def __getitem__(self, key: Any) -> Any:
            outer = indexing.IndexingSupport.OUTER
            return indexing.explicit_indexing_adapter(key, self.shape, outer, self._read)

        def _read(self, key: tuple[Any, ...]) -> Any:
            return read_values(self.array, self.label, self.store, key)

    return lambda array, label, store: indexing.LazilyIndexedArray(StoredValues(array, label, store))


def open_dataset(study: StoredStudy, attrs: Mapping[str, Any], chunks: Any = None) -> xarray.Dataset:
    """Return the Dataset of a stored study; `chunks` as in ``xarray.open_zarr``, None for no Dask arrays."""
    broken = study.missing_chunk()
    if broken is not None:
        remedy = "stored values do not match their checksum: run the sweep again with this store to recompute them"
        raise FileError("load_sweep", "store", str(study.path), f"case {broken}: {remedy}")
    variables = {}
    for label, known in study.arrays.variables.items():
        array = study.arrays.array(label)
        coords = {name: np.array(place) for name, place in known["coords"].items()}
        column = Column(tuple(known["dims"]), np.empty(0), known["unit"], coords)
        variables[label] = (column, _lazy_class()(array, label, str(study.path)))
    data = dataset_of(study.design, study.outcomes(), variables, attrs)
    if chunks is None:
        return data
    for label in variables:
        own = dict(zip(data[label].dims, study.arrays.array(label).chunks, strict=True))
        wanted = {dim: chunks.get(dim, size) for dim, size in own.items()} if isinstance(chunks, Mapping) else chunks
        data[label] = data[label].chunk(wanted)
    return data
