"""A slider-crank pumps: the torque that its crank needs to turn evenly while the gas pushes back."""

import numpy as np

import dalembert as da

crank_length, rod_length, speed = 0.05, 0.16, 100.0  # m, m, rad/s

system = da.System("slider-crank")
crank = system.body("crank", da.rod(length=crank_length, mass=0.8))
rod = system.body("rod", da.rod(length=rod_length, mass=0.4))
piston = system.body("piston", da.cylinder(length=0.06, radius=0.04, mass=0.5, axis="x"))
system.connect("A", da.Revolute("y"), system.ground, crank)
system.connect("B", da.Revolute("y"), crank.at(crank_length, 0, 0), rod)
system.connect("C", da.Revolute("y"), rod.at(rod_length, 0, 0), piston)
system.connect("D", da.Prismatic("x"), system.ground, piston)
system.connect("gas", da.Load(force=(da.Harmonic(300.0, speed, phase=0.0, offset=-500.0), 0, 0)), piston)
system.initial("D", position=crank_length + rod_length)
system.drive("A", position=da.Polynomial((0.0, speed)))

result = da.simulate(system, 2 * np.pi / speed, times=np.linspace(0, 2 * np.pi / speed, 361))
angle = result["A.position"]
exact = crank_length * np.cos(angle) + np.sqrt(rod_length**2 - (crank_length * np.sin(angle)) ** 2)

if __name__ == "__main__":
    torque, place = result["A.effort"], result["D.position"]
    side, pin = np.abs(result["D.force.z"]).max(), result["B.force.norm"].max()
    print(f"stroke {np.ptp(place) * 1e3:.3f} mm, error {np.abs(place - exact).max():.1e} m")
    print(f"torque from {torque.min():.2f} to {torque.max():.2f} N m, in the mean {torque[1:].mean():.3f} N m")
    print(f"largest side force on the piston {side:.2f} N, in the big end {pin:.1f} N")
    result.plot("A.effort", "D.position", "D.force.z", "B.force.norm", path="slider_crank.png")
