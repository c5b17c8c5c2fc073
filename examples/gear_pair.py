"""A spur gear pair with backlash runs up through the resonance of its mesh, where the teeth part."""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

TEETH, LOAD, RATE, END = (25, 50), 60.0, 4000.0, 0.1  # N m at the pinion, rad/s2, s
START = 250.0  # rad/s
INERTIA = np.array([2e-3, 2e-2])  # kg m2
mesh = da.GearMesh(TEETH, 3e-3, 1.5e8, 1500.0, backlash=60e-6, width=0.02, varying=True, droop=0.3)

s = da.System("gear pair", gravity=(0, 0, 0))
pinion = s.body("pinion", da.cylinder(0.02, mesh.base_radii[0], mass=1.0), inertia=(1e-3, 1e-3, INERTIA[0]))
wheel = s.body("wheel", da.cylinder(0.02, mesh.base_radii[1], mass=4.0), inertia=(1e-2, 1e-2, INERTIA[1]))
s.connect("P", da.Revolute("z"), s.ground, pinion)
s.connect("W", da.Revolute("z"), s.ground.at(mesh.center_distance, 0, 0), wheel)
s.connect("mesh", mesh, s.ground, pinion, wheel)
s.connect("drive", da.Effort(LOAD + RATE * (INERTIA[0] + INERTIA[1] * mesh.ratio**2)), "P")
s.connect("load", da.Effort(-LOAD / mesh.ratio), "W")
s.initial("P", position=(LOAD / mesh.base_radii[0] / 1.5e8 + 30e-6) / mesh.base_radii[0], speed=START)  # its teeth bear
s.initial("W", speed=START * mesh.ratio)
result = da.simulate(s, END, times=np.linspace(0, END, 8001), rtol=1e-8)

force, speed = result["mesh.force"], result["P.speed"]
mass = 1 / np.sum(np.array(mesh.base_radii) ** 2 / INERTIA)  # of the gears along the line of action, kg
resonance = np.sqrt(1.5e8 / mass) / TEETH[0]  # speed of the pinion, rad/s, at which teeth mesh with that frequency
swing = np.array([np.ptp(part) for part in np.array_split(force, 200)])
at = np.array([part.mean() for part in np.array_split(speed, 200)])
apart = speed[force == 0.0]

if __name__ == "__main__":
    print(f"contact ratio {mesh.contact_ratio:.3f}, static force {LOAD / mesh.base_radii[0]:.0f} N")
    print(
        f"teeth part between {apart.min():.0f} and {apart.max():.0f} rad/s; linear resonance at {resonance:.0f} rad/s"
    )
    print(f"largest force {force.max():.0f} N; energy off by {abs(result['energy.balance']).max():.1e} J")
    figure, (top, bottom) = plt.subplots(2, sharex=True, layout="constrained")
    top.plot(speed, force / 1e3, lw=0.3)
    top.set(ylabel="force of the teeth, kN", title="Run-up of a gear pair")
    bottom.plot(at, swing / 1e3)
    bottom.axvline(resonance, color="gray", ls="--", label="resonance by the mean stiffness")
    bottom.set(xlabel="speed of the pinion, rad/s", ylabel="range of the force, kN")
    bottom.legend()
    figure.savefig("gear_pair.png", dpi=100)
