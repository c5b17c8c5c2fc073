"""Assembly signatures: poses of all bodies, by which equivalent assemblies are counted once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, IndexArray
from ...connections.joints import Spherical, Universal
from ...model import Model

__all__ = ["AssemblySignature"]


@dataclass(frozen=True, eq=False)
class AssemblySignature:
    """Signature of an assembly.

    Bodies count by their pose; rods between two spherical or universal joints by their two ends: reversing the cross of
    a universal joint only rolls its rod by 180°.

    Attributes
    ----------
    model : Model
    whole : (k,) int
        Bodies that count by their pose.
    rods : (n,) int
    ends : (n, 2, 3) m
        In the frames of the rods.
    """

    model: Model
    whole: IndexArray
    rods: IndexArray
    ends: Array

    @classmethod
    def of(cls, model: Model) -> AssemblySignature:
        """Return the signature of a model."""
        rods, ends = [], []
        for number, name in enumerate(model.body_names):
            joints = [
                (connection.element, end)
                for connection in model.system.connections.values()
                for end in (connection.first, connection.second)
                if end.body.name == name
            ]
            if len(joints) == 2 and all(isinstance(element, (Spherical, Universal)) for element, _ in joints):
                rods.append(number)
                ends.append([end.position for _, end in joints])
        whole = np.setdiff1d(np.arange(model.nb), rods)
        return cls(model, whole, np.array(rods, dtype=np.intp), np.array(ends, dtype=float).reshape(-1, 2, 3))

    def __call__(self, q: Array) -> Array:
        """Return numbers (B, k) of configurations q (B, nq), equal for equivalent assemblies."""
        R, p = self.model.poses(q)
        points = p[:, self.rods, None] + np.einsum("bnij,nkj->bnki", R[:, self.rods], self.ends)
        size, count = self.model.length, len(q)
        parts = (R[:, self.whole], p[:, self.whole] / size, points / size)
        return np.concatenate([part.reshape(count, -1) for part in parts], axis=1)
