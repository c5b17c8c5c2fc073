"""Load-dependent friction: accelerations and loads, and the gain of friction on its own load.

While rows stick, their loads follow from the motion. While they slide, friction and loads depend on each other,

    f_i = c_i + mu_i N_i(f),     K_ij = mu_i dN_i / df_j                                                             (1)

and the core solves for both. The solution is unique if the gain, the spectral radius of K, is below one. Otherwise
there may be several, or none: sliding parts jam at once (Painleve 1895).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.arrays import Array
from dalembert.errors import ModelError, SingularityError
from dalembert.model import Conditions
from dalembert.simulation.events.events import EventContext
from dalembert.simulation.friction.load_limits import with_fixed_friction
from dalembert.simulation.friction.rows import FrictionRows

__all__ = ["FrictionEvaluation", "friction_load_gain"]


DIFFERENCE_STEP = 1e-4  # of the efforts, for the derivatives of (1)


class FrictionEvaluation:
    """Accelerations, loads and holding efforts at a state under conditions.

    Attributes
    ----------
    a, loads : (n,)
        Accelerations of the rows; loads that coefficients multiply, N m or N.
    held : (nv + cut_nv,) N m or N
    consistent : bool
        Whether friction and loads have a common solution.
    """

    def __init__(self, rows: FrictionRows, conditions: Conditions, now: EventContext) -> None:
        model, n = rows.model, len(rows)
        try:
            parts = model.report(
                ["a", "constraint_effort", "signals"], now.t, now.q, now.v, now.x, conditions=conditions
            )
        except (ModelError, SingularityError):
            if not rows.has_load_friction.any():
                raise
            self.consistent, self.held = False, np.full(model.nv, np.nan)
            self.a = self.loads = np.full(n, np.nan)
            return
        self.consistent, self.held = True, parts["constraint_effort"]
        self.loads = rows.loads(parts["signals"])
        self.a = rows.accelerations(now.q, now.v, parts["a"])


def friction_load_gain(
    rows: FrictionRows, conditions: Conditions, now: EventContext, friction: Array, slides: Sequence[int]
) -> tuple[float, Array]:
    """Return the gain of (1), and the participation of the rows (k,).

    Parameters
    ----------
    conditions : Conditions
        With signs of slip.
    friction : (n,) N m or N
    slides : sequence of int, (k,)
        Sliding rows.
    """
    if not len(slides):
        return 0.0, np.zeros(0)
    still = with_fixed_friction(rows, conditions, friction)
    mu = np.array([conditions.parameters[rows.coefficient[k]] for k in slides])
    base = FrictionEvaluation(rows, still, now).loads
    K = np.zeros((len(slides), len(slides)))
    for j, k in enumerate(slides):
        step = DIFFERENCE_STEP * max(
            float(np.abs(friction).max(initial=0.0)), float(np.abs(base).max(initial=0.0)), 1e-9
        )
        more = friction.copy()
        more[k] += step
        K[:, j] = (
            mu
            * (FrictionEvaluation(rows, with_fixed_friction(rows, conditions, more), now).loads - base)[slides]
            / step
        )
    if not np.isfinite(K).all():
        return np.inf, np.ones(len(slides))
    values, vectors = np.linalg.eig(K)
    largest = int(np.abs(values).argmax())
    return float(np.abs(values[largest])), np.abs(vectors[:, largest])
