"""A four-bar with a spring, its crank turning at 10 rad/s: the loop closes by itself."""

import numpy as np

import dalembert as da

system = da.System("four-bar", gravity=(0, 0, -9.81))
crank = system.body("crank", da.rod(length=0.1, mass=0.5))  # shapes give mass, inertia and a picture
coupler = system.body("coupler", da.rod(length=0.4, mass=1.0))
rocker = system.body("rocker", mass=0.8, com=(0.15, 0, 0), inertia=(1e-3, 6e-3, 6e-3))
system.connect("A", da.Revolute("y"), system.ground, crank)
system.connect("B", da.Revolute("y"), crank.at(0.1, 0, 0), coupler)
system.connect("C", da.Revolute("y"), coupler.at(0.4, 0, 0), rocker.at(0.3, 0, 0))
system.connect("D", da.Revolute("y"), system.ground.at(0.35, 0, 0), rocker)
spring = da.SpringDamper(stiffness=100, damping=1, length=0.3)
system.connect("k", spring, coupler.at(0.2, 0, 0), system.ground.at(0, 0, 0.5))
system.drive("A", speed=10.0)

result = da.simulate(system, 10.0)

if __name__ == "__main__":
    print(system.check())
    swing = result.output("rocker.angle", np.linspace(0, 10, 2001))
    print(f"the rocker swings from {np.degrees(swing.min()):.3f} to {np.degrees(swing.max()):.3f} degrees")
    print(f"the crank needs up to {np.abs(result['A.effort']).max():.3f} N m")
    lost, off = result["energy.dissipated"][-1], result["energy.balance"][-1]
    print(f"the damper took {lost:.4f} J, and the balance of energy is off by {off:.1e} J")
    system.draw(result.at(np.linspace(0, 0.628, 60)).q, trace=["coupler.at(0.2, 0, 0)"], path="four_bar.png")
