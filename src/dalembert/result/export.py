"""Tables and files of a result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ..arrays import Array
from ..checks import checked
from ..model import Model
from .records import Axis
from .storage.columns import flat_columns, write_csv
from .storage.datasets import to_dataset
from .storage.files import load_result, save_result
from .storage.tables import table_of, write_excel, write_mat, write_units_csv

if TYPE_CHECKING:
    import pandas
    import xarray

    from ..system import System
    from .result import Result

__all__ = ["ResultExport"]


class ResultExport:
    """Tables and files of a motion, written by `result.storage`."""

    t: Array
    axis: Axis

    @property
    def _head(self) -> str:
        """Heading of t in tables."""
        return "t" if self.axis.is_time else self.axis.label

    @property
    def _whole(self) -> Result:
        return cast("Result", self)

    @checked("names")
    def to_xarray(self, names: Sequence[str] = ()) -> xarray.Dataset:
        """Return an xarray Dataset: q, v, x, a, tau, lam by their names over time; and outputs.

        Parameters
        ----------
        names : sequence of str
            Outputs to add, each as a variable of its name; vectors have the dimension ``"axis"``.
        """
        return to_dataset(self._whole, names)

    @checked("names")
    def to_pandas(self, names: Sequence[str] | None = None) -> pandas.DataFrame:
        """Return a pandas DataFrame over t, named as `axis` is, with a column for each number.

        Parameters
        ----------
        names : sequence of str
            Outputs; vectors give a column for each component, ``"crank.velocity.x"``. Positions and velocities of
            all coordinates if left out.
        """
        import pandas

        return pandas.DataFrame(flat_columns(self._whole, names), index=pandas.Index(self.t, name=self._head))

    @checked("path", "names", "units")
    def to_csv(self, path: str | os.PathLike[str], names: Sequence[str] | None = None, *, units: bool = False) -> None:
        """Write a table with a heading, t first, to a CSV file; numbers in full. `names` as in `to_pandas`.

        With `units`, headings include units: ``A.position [rad]``. `dalembert.io.read_table` reads the columns again.
        """
        if units:
            write_units_csv(path, table_of(self._whole, self._head, names))
        else:
            write_csv(path, {self._head: self.t} | flat_columns(self._whole, names))

    @checked("path", "names")
    def to_excel(self, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> None:
        """Write a spreadsheet: names, units below them, then numbers; needs openpyxl."""
        write_excel(path, table_of(self._whole, self._head, names))

    @checked("path", "names")
    def to_mat(self, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> None:
        """Write a MAT file: a variable for each column, and in the cell array ``columns`` its name and unit.

        Names in MATLAB have letters, digits and underscores only: ``A.position`` is ``A_position`` there.
        """
        write_mat(path, table_of(self._whole, self._head, names))

    @checked("names")
    def save(self, path: str | os.PathLike[str], names: Sequence[str] = ()) -> None:
        """Write the result to a file: ``.nc`` (NetCDF), ``.zarr``, ``.parquet`` or ``.csv``.

        States are stored exactly, with accelerations, joint forces, multipliers, statistics, events, the
        conditions they were computed under, the data of the model, and a checksum. The file is replaced only when the
        new one is complete.

        Parameters
        ----------
        path : str or path
        names : sequence of str
            Further outputs to store.
        """
        save_result(self._whole, path, names)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model | System | None = None) -> Result:
        """Read a result that `save` wrote.

        Parameters
        ----------
        path : str or path
        model : Model or System
            Model of the result, for all outputs. Without it only the stored columns are available.

        Raises
        ------
        FileError
            If the file is damaged, or not a result.
        ModelError
            If the model differs from that of the file.
        """
        return load_result(cast("type[Result]", cls), path, model)
