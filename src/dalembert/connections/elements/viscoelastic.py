"""Viscoelastic elements: springs and dampers in parallel and in series.

They act at a joint coordinate (``measure="joint"``) or along the line between two markers (``measure="distance"``), on
the elongation u = s - rest. A spring in series with a damper has a state: the elongation of that spring, z, zero at the
start (relaxed), with z' = u' - k z / c; it stores k z^2 / 2.

Source: N. W. Tschoegl, The Phenomenological Theory of Linear Viscoelastic Behavior, Springer 1989, ch. 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...checks import checked, finite, finite_array, not_negative, positive, set_fields, shape_of
from ...errors import ModelError
from .element import Element
from .signals import Along

__all__ = ["GeneralizedMaxwell", "KelvinVoigt", "Maxwell", "Zener"]


@checked("measure")
class KelvinVoigt(Element):
    """Spring and damper in parallel: force = -stiffness u - damping u'.

    Parameters
    ----------
    stiffness : float, N/m or N m/rad
    damping : float, N s/m or N m s/rad
    rest : float, m or rad
    measure : str
        ``"joint"`` or ``"distance"``.

    Under a constant force F the elongation creeps to F/k as 1 - exp(-k t / c).
    """

    def __init__(self, stiffness: float, damping: float, *, rest: float = 0.0, measure: Along = "joint") -> None:
        item = self.kind
        numbers = not_negative(item, stiffness=stiffness, damping=damping) | finite(item, rest=rest)
        super().__init__(measure, "-stiffness*(s - rest) - damping*ds", numbers, energy="stiffness*(s - rest)**2/2")


@checked("measure")
class Maxwell(Element):
    """Spring and damper in series: the force relaxes to zero.

    Parameters
    ----------
    stiffness : float, N/m or N m/rad
    damping : float, N s/m or N m s/rad
    start : float, m or rad
        Elongation of the spring at the start.
    measure : str
        ``"joint"`` or ``"distance"``.

    Held at an elongation, the force decays as exp(-k t / c). It has no rest length: it starts without force, unless
    `start` is given. State: z.
    """

    def __init__(self, stiffness: float, damping: float, *, start: float = 0.0, measure: Along = "joint") -> None:
        item = self.kind
        numbers = positive(item, stiffness=stiffness, damping=damping)
        z = finite(item, start=start)["start"]
        super().__init__(
            measure,
            "-stiffness*z",
            numbers,
            states={"z": (z, "ds - stiffness*z/damping")},
            energy="stiffness*z**2/2",
        )


@checked("measure")
class Zener(Element):
    """Standard linear solid: a spring in parallel with a spring and a damper in series.

    Parameters
    ----------
    stiffness : float, N/m or N m/rad
        Long-term stiffness.
    branch_stiffness : float, N/m or N m/rad
        Additional stiffness for fast motions.
    branch_damping : float, N s/m or N m s/rad
    rest : float, m or rad
    measure : str
        ``"joint"`` or ``"distance"``.

    Held at u: force = -(k + k1 exp(-k1 t / c1)) u. State: z.
    """

    def __init__(
        self,
        stiffness: float,
        branch_stiffness: float,
        branch_damping: float,
        *,
        rest: float = 0.0,
        measure: Along = "joint",
    ) -> None:
        item = self.kind
        numbers = not_negative(item, stiffness=stiffness)
        numbers |= positive(item, branch_stiffness=branch_stiffness, branch_damping=branch_damping)
        numbers |= finite(item, rest=rest)
        super().__init__(
            measure,
            "-stiffness*(s - rest) - branch_stiffness*z",
            numbers,
            states={"z": (0.0, "ds - branch_stiffness*z/branch_damping")},
            energy="stiffness*(s - rest)**2/2 + branch_stiffness*z**2/2",
        )


@checked("measure")
class GeneralizedMaxwell(Element):
    """Prony series: a spring in parallel with several springs and dampers in series.

    Parameters
    ----------
    stiffness : float, N/m or N m/rad
        Long-term stiffness.
    terms : sequence of (float, float), up to 19
        Stiffness k_i, N/m or N m/rad, and relaxation time tau_i, s, of each branch.
    rest : float, m or rad
    measure : str
        ``"joint"`` or ``"distance"``.

    Its relaxation function is k + sum k_i exp(-t / tau_i): the force is minus the hereditary integral of this function
    with the rate of elongation. States: z1, z2, ... Parameters: stiffness, rest, k1, tau1, ...

    Examples
    --------
    >>> import dalembert as da
    >>> list(da.GeneralizedMaxwell(100.0, [(50.0, 0.1), (20.0, 2.0)]).states)
    ['z1', 'z2']
    """

    most_terms = 19

    def __init__(
        self, stiffness: float, terms: Sequence[tuple[float, float]], *, rest: float = 0.0, measure: Along = "joint"
    ) -> None:
        item = self.kind
        shape = shape_of(terms)
        if shape is None or len(shape) != 2 or shape[1] != 2 or not 1 <= shape[0] <= self.most_terms:
            raise ModelError(item, "terms", terms, f"give 1 to {self.most_terms} pairs (stiffness, relaxation time)")
        numbers = not_negative(item, stiffness=stiffness) | finite(item, rest=rest)
        for i, (k, tau) in enumerate(terms, 1):
            numbers |= positive(item, **{f"k{i}": k, f"tau{i}": tau})
        branches = range(1, len(terms) + 1)
        super().__init__(
            measure,
            " - ".join(["-stiffness*(s - rest)", *(f"k{i}*z{i}" for i in branches)]),
            numbers,
            states={f"z{i}": (0.0, f"ds - z{i}/tau{i}") for i in branches},
            energy=" + ".join(["stiffness*(s - rest)**2/2", *(f"k{i}*z{i}**2/2" for i in branches)]),
        )

    @classmethod
    def fitted(
        cls,
        relaxation: Callable[[float], float] | ArrayLike,
        times: ArrayLike,
        *,
        terms: int = 8,
        tolerance: float | None = None,
        rest: float = 0.0,
        measure: Along = "joint",
    ) -> GeneralizedMaxwell:
        """Return the Prony series fitted to a relaxation function G(t) (Fung's, a power law, measured data).

        Parameters
        ----------
        relaxation : function of t, s, or (n,) N/m or N m/rad
            G at the times: the remaining force of a unit elongation.
        times : (n,) s
            Positive and increasing, from the shortest to the longest that matter.
        terms : int
            Branches, whose times are spread evenly in their logarithm; those that come out as zero are left out.
        tolerance : float
            Limit of the largest misfit, as a fraction of the largest value; an error is raised if it is exceeded.
        rest, measure
            As of the element.

        Stiffnesses are found by least squares and are not negative, so that the element is passive. The misfit, as a
        fraction of the largest value, is `misfit` of the element.

        Examples
        --------
        >>> import numpy as np
        >>> import dalembert as da
        >>> skin = da.GeneralizedMaxwell.fitted(lambda t: 100.0 * (1 + t / 0.01) ** -0.2, np.geomspace(1e-3, 10, 60))
        >>> bool(skin.misfit < 0.01)
        True
        """
        from scipy.optimize import nnls

        item = cls.__name__
        at = np.asarray(times, dtype=float)
        if at.ndim != 1 or len(at) < 3 or not (at[0] > 0.0 and (np.diff(at) > 0.0).all()):
            raise ModelError(item, "times", times, "give three or more, positive and increasing")
        if not 1 <= terms <= min(cls.most_terms, len(at) - 1):
            raise ModelError(item, "terms", terms, f"give 1 to {min(cls.most_terms, len(at) - 1)}, fewer than times")
        G = np.array([float(relaxation(t)) for t in at.tolist()]) if callable(relaxation) else np.asarray(relaxation)
        G = finite_array(G, at.shape, item=item, field="relaxation")
        taus = np.geomspace(at[0], at[-1], terms)
        A = np.column_stack([np.ones(len(at)), np.exp(-at[:, None] / taus)])
        found, _ = nnls(A, G)
        size = float(np.abs(G).max(initial=1e-300))
        misfit = float(np.abs(A @ found - G).max()) / size
        kept = [(float(k), float(tau)) for k, tau in zip(found[1:], taus, strict=True) if k > 1e-12 * size]
        if tolerance is not None and misfit > tolerance:
            raise ModelError(
                item,
                "tolerance",
                tolerance,
                f"{len(kept)} branches have a relative misfit of {misfit:.3g}: use more terms",
            )
        if not kept:
            raise ModelError(item, "relaxation", G.tolist()[:4], "it does not relax: use a spring")
        made = cls(float(found[0]), kept, rest=rest, measure=measure)
        set_fields(made, misfit=misfit)
        return made

    misfit: float = 0.0
