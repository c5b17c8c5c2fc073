"""Comparison of the Datasets of two campaigns."""

from __future__ import annotations

import xarray


def same_data(first: xarray.Dataset, second: xarray.Dataset) -> bool:
    """Return whether two Datasets have the same bits, names, units and notes; dates and settings may differ."""
    notes = first.attrs.get("notes") == second.attrs.get("notes")
    return notes and first.drop_attrs(deep=False).identical(second.drop_attrs(deep=False))
