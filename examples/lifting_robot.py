"""Torques with which a humanoid holds still, and what changes when it carries a load in one hand."""

import numpy as np

import dalembert as da
from dalembert.library import humanoid

model = humanoid().compile()
q, still = model.zero_configuration(), np.zeros(model.nv)
hand = model.body_names[-1]
loads = np.zeros((model.nb, 6))
loads[-1, 5] = -50.0  # newtons, downwards, at the origin of the last body

empty = model.inverse_dynamics(q, still, still)
carrying = model.inverse_dynamics(q, still, still, loads=loads)
change = model.jacobian(hand, q).T @ loads[-1]
assert np.allclose(empty - carrying, change)

print(f"load of 50 N at {hand!r}, {da.isa} kernels")
for name, torque in sorted(zip(model.speed_names, carrying - empty, strict=True), key=lambda x: -abs(x[1]))[:8]:
    print(f"{name:24s} {torque:10.3f} N m or N more")
