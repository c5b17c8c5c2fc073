"""Simulation in real time in a browser: inputs by sliders, bodies pulled by a spring."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...arrays import Array
from ...checks import finite_array, finite_number
from ...errors import DalembertError, ModelError
from ...model import Model, State
from ...simulation import Live
from .drag_requests import frame_of, slider_ranges

__all__ = ["RealTimePlayer"]


FRAME_RATE = 30.0  # 1/s
RESPONSE_TIME = 0.25  # s, in which a pulled system follows the pointer


class RealTimePlayer:
    """`Live` run in a separate thread, synchronized with the clock as far as the machine allows.

    Parameters
    ----------
    model : Model
    builder : SceneBuilder
        Computes the poses that are shown.
    inputs : dict of str to (low, high)
        Parameters that may be set, with their ranges.
    keys : dict of str to (str, str)
        Keys that hold an input at its lowest and its highest value while they are pressed.
    speed : float
        Seconds of motion in a second.
    options
        Further arguments of `Live`.
    """

    def __init__(
        self,
        model: Model,
        builder: Any,
        inputs: Mapping[str, tuple[float, float]],
        speed: float,
        *,
        keys: Mapping[str, tuple[str, str]] | None = None,
        **options: Any,
    ) -> None:
        self.model, self.builder, self.speed = model, builder, speed
        self.inputs = slider_ranges(model, inputs, "play")
        self.keys = _checked_keys(keys or {}, self.inputs)
        self._options = options
        mass = sum(body.mass for body in model.system.bodies.values()) or 1.0
        self._spring = (
            mass / RESPONSE_TIME**2,
            1.4 * mass / RESPONSE_TIME,
        )  # N/m, N s/m: near critical
        self._grip: tuple[Any, Array] | None = None
        self._changes: list[tuple[str, float]] = []
        self._message = ""
        self._frame_ready = threading.Condition()
        self._count = 0
        self._closed = False
        self._live = self._new_run()
        self._state = self._live.state  # copy for pages: the run belongs to its thread
        self._thread = threading.Thread(target=self._run, name="live", daemon=True)

    def start(self) -> None:
        """Start the run."""
        self._thread.start()

    def close(self) -> None:
        """End the run."""
        self._closed = True
        with self._frame_ready:
            self._frame_ready.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def controls(self) -> dict[str, Any]:
        """Return the controls of the page."""
        numbers = self.model.system.parameters
        rows = [
            {"name": name, "low": low, "high": high, "value": float(np.clip(numbers[name].value, low, high))}
            | ({"keys": self.keys[name]} if name in self.keys else {})
            for name, (low, high) in self.inputs.items()
        ]
        return {"pull": True, "inputs": rows}

    def _new_run(self) -> Live:
        return Live(self.model, control=self._pulled, **self._options)

    def _pulled(self, state: State) -> Array:
        """Return the joint forces of the spring between the pointer and the dragged body."""
        grip = self._grip
        if grip is None:
            return np.zeros(self.model.nv)
        marker, target = grip
        J = self.model.jacobian(marker, state.q)[3:]
        stiffness, damping = self._spring
        force = stiffness * (target - self.model.pose(marker, state.q).position) - damping * J @ state.v
        return J.T @ force

    # ---- requests of the page

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        """Store a request; it is handled before the next step."""
        kind = request.get("kind")
        if kind == "pull":
            frame = frame_of(request.get("frame"), self.model.nb)
            local = finite_array(request.get("local"), (3,), item="play", field="local")
            target = finite_array(request.get("target"), (3,), item="play", field="target")
            self._next_grip = (self.model.system.bodies[self.model.body_names[frame - 1]].at(*local), target)
        elif kind == "release":
            self._next_grip = None
        elif kind == "set":
            name = str(request.get("name"))
            if name not in self.inputs:
                raise ModelError("play", "input", name, f"there are {', '.join(map(repr, self.inputs))}")
            low, high = self.inputs[name]
            value = finite_number(request.get("value"), item="play", field=name)
            self._changes.append((name, float(np.clip(value, low, high))))
        elif kind == "reset":
            self._changes.append(("", 0.0))
        else:
            raise ModelError("play", "request", kind, "use pull, set, release or reset")
        return {"say": self._message}

    _next_grip: tuple[Any, Array] | None = None

    # ---- the run

    def _run(self) -> None:
        step = self.speed / FRAME_RATE
        begin, shown = time.monotonic(), 0
        while not self._closed:
            try:
                self._handle_requests()
                self._live.advance(step)
            except DalembertError as error:
                self._message = f"the run has ended: {error}"
                self._publish()
                return
            self._publish()
            shown += 1
            late = time.monotonic() - begin - shown / FRAME_RATE
            if late < 0:
                time.sleep(-late)
            elif late > 1.0:  # too slow: restart the clock and report it
                self._message = f"slower than requested: {shown / (shown + late * FRAME_RATE):.2g} of it"
                begin, shown = time.monotonic(), 0

    def _handle_requests(self) -> None:
        """Handle the requests since the last step."""
        self._grip = self._next_grip
        while self._changes:
            name, value = self._changes.pop(0)
            if name:
                self._live.set(name, value)
            else:
                self._live = self._new_run()

    def _publish(self) -> None:
        with self._frame_ready:
            self._state = self._live.state
            self._count += 1
            self._frame_ready.notify_all()

    def frames(self) -> Iterator[dict[str, Any]]:
        """Yield the poses of the run while it proceeds."""
        seen = -1
        while not self._closed:
            with self._frame_ready:
                self._frame_ready.wait_for(lambda last=seen: self._closed or self._count != last, timeout=1.0)  # type: ignore[misc]
                seen, state = self._count, self._state
            yield {"say": self._message or f"t = {state.t:.1f} s", **self.builder.poses(state.q)}


def _checked_keys(keys: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, list[str]]:
    for name, pair in keys.items():
        if name not in inputs:
            raise ModelError("play", "keys", name, f"there are {', '.join(map(repr, inputs)) or 'no inputs'}")
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(key, str) and key for key in pair):
            raise ModelError(
                "play", f"keys of {name!r}", pair, "give two names of keys: ('a', 'd'), ('ArrowDown', 'ArrowUp')"
            )
    return {name: list(pair) for name, pair in keys.items()}
