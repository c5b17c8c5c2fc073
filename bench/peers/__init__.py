"""Other engines' models of a dalembert system, for comparison of results and of speed.

`installed` returns those peers that can be imported; each is a class that takes a `System`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from .peer import Kernels, Peer

__all__ = ["Kernels", "Peer", "installed"]

# name, the package it needs, the module here
_PEERS = (
    ("Pinocchio", "pinocchio", "pinocchio"),
    ("Mujoco", "mujoco", "mujoco"),
    ("Drake", "pydrake", "drake"),
)


def installed() -> list[type[Peer]]:
    """Return the peers whose packages are installed."""
    return [
        getattr(import_module(f".{module}", __name__), name) for name, package, module in _PEERS if find_spec(package)
    ]
