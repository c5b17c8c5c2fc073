"""Machine and versions of a measurement."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np

import dalembert
from dalembert import _core

__all__ = ["describe"]


def describe() -> dict[str, str]:
    """Return processor, load, system, Python, NumPy, dalembert and its instruction set."""
    load = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load at start": load,
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "dalembert": dalembert.__version__,
        "instruction set": f"{_core.isa}, {_core.lanes} states at once",
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
