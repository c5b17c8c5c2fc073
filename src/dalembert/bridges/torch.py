"""Dynamics as a function of PyTorch: accelerations with derivatives, in double precision on the processor."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..errors import MissingPackageError, ModelError
from ..model import Model, as_model
from ..system import System

__all__ = ["dynamics"]


@cache
def _function() -> Any:
    """Return the class of the function of PyTorch; it holds no model."""
    try:
        import torch
    except ImportError as error:
        raise MissingPackageError("functions of PyTorch", "torch", "pip install torch") from error

    def forward(ctx: Any, model: Model, t: float, q: Any, v: Any, tau: Any) -> Any:
        parts = [np.ascontiguousarray(part.detach().numpy()).reshape(-1, model.nv) for part in (q, v, tau)]
        ctx.model, ctx.t, ctx.parts, ctx.shape = model, t, parts, q.shape
        a = model.forward_dynamics(*parts, t=np.full(len(parts[0]), t))
        return torch.from_numpy(a.reshape(tuple(q.shape)))

    def backward(ctx: Any, bar: Any) -> Any:
        q, v, tau = ctx.parts
        d = ctx.model.d_dynamics(np.full(len(q), ctx.t), q, v, tau=tau, multipliers=False).a
        weights = bar.detach().numpy().reshape(-1, 1, ctx.model.nv)
        products = ((weights @ D)[:, 0].reshape(tuple(ctx.shape)) for D in (d.q, d.v, d.tau))
        return None, None, *(torch.from_numpy(np.ascontiguousarray(each)) for each in products)

    once = torch.autograd.function.once_differentiable
    parts = {"forward": staticmethod(forward), "backward": staticmethod(once(backward))}
    return type("Dynamics", (torch.autograd.Function,), parts)


def dynamics(system: System | Model, *, t: float = 0.0) -> Callable[[Any, Any, Any], Any]:
    """Return the accelerations a(q, v, tau) as a function of tensors, (nv,) or (..., nv), differentiable once.

    Parameters
    ----------
    system : System or Model
        With as many coordinates as velocities. Loops, elements and drives are those of the system; element states have
        their start values.
    t : float, s
        Of laws of time.
    """
    function, model = _function(), as_model(system)
    import torch

    if model.nq != model.nv:
        remedy = "derivatives are by coordinates: give a system without ball joints and free bodies"
        raise ModelError("torch", "coordinates", f"nq = {model.nq}, nv = {model.nv}", remedy)

    def a(q: Any, v: Any, tau: Any) -> Any:
        given = torch.broadcast_tensors(*(torch.as_tensor(part) for part in (q, v, tau)))
        for part in given:
            if part.dtype != torch.float64 or part.device.type != "cpu":
                what = f"{part.dtype} on {part.device}"
                raise ModelError("torch", "tensor", what, "give tensors of float64 on the cpu")
        return function.apply(model, t, *given)

    return a
