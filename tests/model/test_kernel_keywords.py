"""Keywords of kernels: any spelling of a string is recognized, repetitions and unknown names are refused."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.library import chain


def test_kernels_take_keywords_whatever_the_string_object() -> None:
    model = chain(3, axes="y").compile()
    q, v, tau, out = np.full(3, 0.1), np.full(3, 0.2), np.full(3, 0.3), np.empty(3)
    expected = model.forward_dynamics(q, v, tau)
    assert model.forward_dynamics(q, v, tau, out=out) is out
    np.testing.assert_array_equal(out, expected)
    names = {"".join(["o", "ut"]): np.empty(3), "".join(["ta", "u"]): tau}  # not interned
    np.testing.assert_array_equal(model.forward_dynamics(q, v, **names), expected)
    np.testing.assert_array_equal(model.forward_dynamics(v=v, tau=tau, q=q, out=None), expected)
    with pytest.raises(TypeError, match="has no argument 'outs'"):
        model.forward_dynamics(q, v, tau, outs=out)
    with pytest.raises(TypeError, match="got two values for 'v'"):
        model.forward_dynamics(q, v, v=v)
