"""A spacecraft with two flexible panels swings its manipulator: the panels shake, momentum stays."""

import numpy as np

import dalembert as da

sandwich = da.Material(E=2.5e9, nu=0.3, density=120)  # a sheet as stiff and heavy as the panel
sheet = da.plate_structure(4.0, 1.2, 0.02, sandwich, elements=(10, 3))
sheet = sheet.rigid_region(sheet.nodes[:, 0] < -1.99)  # the root is a stiff edge, tied to a node in its middle
root, corner = len(sheet.nodes) - 1, 10
panel = sheet.reduce(da.CantileverModes(5, at=root), damping=0.005)

system = da.System("spacecraft", gravity=(0, 0, 0))
hub = system.body("hub", da.box(1.2, 1.0, 1.0, mass=300))
system.connect("orbit", da.Free(), system.ground, hub)
for name, side in (("port", 1), ("starboard", -1)):
    wing = system.body(name, panel)
    holder = hub.at(0, side * 0.5, 0, rotation=("z", side * np.pi / 2))
    system.connect(f"{name}_root", da.Fixed(), holder, wing.at(node=root))
before, at = hub, (0.6, 0, 0.3)
for name, axis, length, mass, angle in (
    ("turret", "z", 0.4, 8.0, 1.2),
    ("upper", "y", 1.6, 14.0, -1.4),
    ("lower", "y", 1.4, 25.0, 1.9),
):
    link = system.body(name, da.rod(length=length, mass=mass))
    system.connect(f"{name}_joint", da.Revolute(axis), before.at(*at), link)
    system.drive(f"{name}_joint", position=da.Ramp(0.0, angle, duration=3.0))
    before, at = link, (length, 0, 0)

result = da.simulate(system, 10.0, times=np.linspace(0, 10, 501), rtol=1e-10, atol=1e-12)
bending = {name: da.nodal_displacements(result, name)[:, corner, 2] for name in ("port", "starboard")}
most = int(np.abs(bending["port"]).argmax())
# nothing acts from outside: what the arm gains, hub and panels lose
linear, angular = (np.linalg.norm(result[f"momentum.{kind}"], axis=1).max() for kind in ("linear", "angular"))
carried = 25.0 * np.linalg.norm(result["lower.velocity"], axis=1).max()
assert linear < 1e-8 * carried and angular < 1e-8 * carried * length

if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(panel)
    print(f"the lower link alone carries up to {carried:.1f} N s; all together {linear:.0e} N s, {angular:.0e} N m s")
    print(f"port tip: {1e3 * bending['port'][most]:.1f} mm at {result.t[most]:.2f} s")
    print(f"the hub has turned by {np.degrees(2 * np.arccos(result['hub.quaternion'][-1, 0])):.2f} degrees")
    print("shares of the strain energy by mode:", panel.participation(result["port.eta"])[most].round(4))
    figure = plt.figure(figsize=(7, 6.6))
    picture = figure.add_axes((0.0, 0.22, 1.0, 0.84), projection="3d")
    system.draw(result.q[most], exaggerate=20, labels=False, ax=picture)
    plot = figure.add_axes((0.1, 0.08, 0.86, 0.2), xlabel="t [s]", ylabel="tip [mm]")
    for name, tip in bending.items():
        plot.plot(result.t, 1e3 * tip, label=name)
    plot.legend(frameon=False)
    figure.savefig("flexible_spacecraft.png")
