"""Prepared setting of parameters of a live run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...checks import finite_array
from ...model.conditions import checked_parameter, parameter_place
from .live_run import LiveRun, used_by_another

__all__ = ["Writer"]


class Writer:
    """Parameters of a `Live` run whose names are resolved once; made by `Live.writer`.

    A call with (n,) numbers sets them from now on, as `Live.set` does one by one. The core changes parameters and
    inputs of force elements itself. For others (masses, lengths, parameters of friction) the run starts again with a
    changed model.

    Attributes
    ----------
    names : tuple of str

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("arm")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("arm", da.rod(length=1.0, mass=2.0)))
    >>> _ = s.connect("motor", da.Element("joint", "u", inputs={"u": 0.0}, active=True), "A")
    >>> live = da.Live(s)
    >>> write, read = live.writer(["motor.u"]), live.reader(["motor.effort"])
    >>> write(3.0)
    >>> read()
    array([3.])
    """

    def __init__(self, live: LiveRun, names: Sequence[str]) -> None:
        self._live = live
        self.names = (names,) if isinstance(names, str) else tuple(names)
        model = live.run.model
        for name in self.names:
            parameter_place(model, name, "Live")
        self._places, self._least = np.zeros(len(self.names), dtype=np.int64), np.zeros(len(self.names))
        for k, name in enumerate(self.names):
            self._places[k], self._least[k] = live.direct_place(name)
        self._in_core = bool((self._places >= 0).all())

    def __call__(self, values: ArrayLike) -> None:
        """Set the parameters to values (n,), or to one number if there is one parameter."""
        live = self._live
        if not live.lock.acquire(False):
            raise used_by_another("writer")
        try:
            if type(values) is not np.ndarray or values.dtype != float or values.shape != self._places.shape:
                given = np.ravel(np.asarray(values)) if len(self.names) == 1 else values
                values = finite_array(given, self._places.shape, item="Live", field="values")
            if not self._in_core or not live.takes_parameters:
                for name, value in zip(self.names, values.tolist(), strict=True):
                    live.set(name, value)
                return
            live.before_parameters()
            wrong = live.run.integrator.set_parameters(self._places, self._least, values)
            if wrong >= 0:
                checked_parameter(live.run.model, self.names[wrong], float(values[wrong]), "Live")
        finally:
            live.lock.release()
