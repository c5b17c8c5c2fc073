"""Settings of analyses in model files, used by ``dalembert simulate model.yaml``."""

from __future__ import annotations

__all__ = ["SETTINGS"]

_TOLERANCES = {"rtol": "", "atol": ""}

SETTINGS: dict[str, dict[str, str]] = {  # options of each command, and their units
    "simulate": {
        "t_end": "s", "t_start": "s", "times": "s", "method": "", **_TOLERANCES, "max_step": "s", "fixed_step": "s",
        "parameters": "", "outputs": "",
    },
    "kinematics": {"times": "s", "outputs": ""},
    "equilibrium": {"outputs": ""},
    "modes": {"count": ""},
    "linearize": {"inputs": "", "outputs": ""},
}  # fmt: skip
