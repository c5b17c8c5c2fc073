"""Real time: `da.Live` beside `mj_step`, an arm of seven links with a motor at each joint, in steps of 1 ms.

    python bench/live.py [--rounds 15]

The arm hangs and swings, damped, without stops, with stops, and with stops and dry friction. MuJoCo has the same arm
with ``range`` and ``frictionloss`` and takes one Euler step of 1 ms. Processor time, interleaved, minima.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dalembert as da

LINKS, LENGTH, MASS = 7, 0.3, 0.5  # -, m, kg
DAMPING, FRICTION, RANGE = 0.2, 0.05, 2.0  # N m s, N m, rad
STEP = 1e-3  # s
AXES = "yxyxyxy"
JOINTS = [f"J{k}" for k in range(LINKS)]


def arm(*, stops: bool, friction: bool = False) -> da.Model:
    """Return the arm."""
    s = da.System("arm")
    last = s.ground
    for k, name in enumerate(JOINTS):
        link = s.body(f"link{k}", da.cylinder(length=LENGTH, radius=0.05, mass=MASS))
        more = {"lower": -RANGE, "upper": RANGE} if stops else {}
        more |= {"friction": FRICTION} if friction else {}
        s.connect(name, da.Revolute(AXES[k], damping=DAMPING, **more), last, link)
        s.connect(f"motor{k}", da.Element("joint", "u", inputs={"u": 0.0}, active=True), name)
        last = link.at(LENGTH, 0, 0)
        s.initial(name, position=0.3 * (-1) ** k)
    return s.compile()


def mujoco_step(*, stops: bool, friction: bool = False) -> Callable[[], object] | None:
    """Return a function that takes one step in MuJoCo; None if it is not installed."""
    try:
        import mujoco
    except ImportError:
        return None
    along = MASS * (3 * 0.05**2 + LENGTH**2) / 12
    body = ""
    for k in reversed(range(LINKS)):
        axis = "1 0 0" if AXES[k] == "x" else "0 1 0"
        more = (f' range="{-RANGE} {RANGE}" limited="true"' if stops else "") + (
            f' frictionloss="{FRICTION}"' if friction else ""
        )
        body = (
            f'<body pos="{LENGTH if k else 0} 0 0"><joint name="J{k}" type="hinge" axis="{axis}" '
            f'damping="{DAMPING}"{more}/><inertial pos="{LENGTH / 2} 0 0" mass="{MASS}" '
            f'diaginertia="{MASS * 0.05**2 / 2} {along} {along}"/>{body}</body>'
        )
    motors = "".join(f'<motor joint="J{k}"/>' for k in range(LINKS))
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><compiler angle="radian"/><option timestep="0.001"/>'
        f"<worldbody>{body}</worldbody><actuator>{motors}</actuator></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qpos[:] = 0.3 * (-1.0) ** np.arange(LINKS)
    return lambda: mujoco.mj_step(model, data)
