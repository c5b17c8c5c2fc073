"""A toggle of two links and a spring snaps through under a load: its path by arclength, limit loads by virtual work."""

import numpy as np
from scipy.optimize import minimize_scalar

import dalembert as da

link, stiffness, lean = 1.0, 200.0, 0.4  # m, N/m, rad

system = da.System("toggle", gravity=(0, 0, 0))
left, right = (system.body(name, da.rod(link, 1.0)) for name in ("left", "right"))
slider = system.body("slider", mass=0.5)
system.connect("A", da.Revolute("-y"), system.ground, left)
system.connect("B", da.Revolute("-y"), left.at(link, 0, 0), right)
system.connect("C", da.Revolute("-y"), right.at(link, 0, 0), slider)
system.connect("rail", da.Prismatic("x"), system.ground, slider)
system.connect("spring", da.JointSpring(stiffness, rest=2 * link * np.cos(lean)), "rail")
system.connect("load", da.Load(), left.at(link, 0, 0))

path = da.equilibrium_path(system, {"load.fz": -1.0}, 0.0, 40.0, state={"A": lean, "B": -2 * lean})


def by_virtual_work(angle):
    """Return the load that balances the spring at an angle of the links."""
    return stiffness * 2 * link * (np.cos(angle) - np.cos(lean)) * 2 * np.tan(angle)


exact = -minimize_scalar(
    lambda u: -by_virtual_work(u), bounds=(0.05, lean), method="bounded", options={"xatol": 1e-12}
).fun
snaps = path.limit_points[0].value
error = np.abs(path.values - by_virtual_work(path["A.position"])).max()

if __name__ == "__main__":
    print(path)
    print(f"snaps at {snaps:.9f} N, by virtual work {exact:.9f} N; off the curve by {error:.1e} N")
    after = da.equilibrium(system, inputs={"load.fz": -1.01 * snaps}, state=path.limit_points[0].state)
    print(after)
    path.plot("A.position", path="snap_through.png")
