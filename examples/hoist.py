"""A winch lifts a load by a rope over a sheave and a block: it lifts at half of the speed of the rope."""

import numpy as np

import dalembert as da

LOAD, RADIUS, G = 300.0, 0.15, 9.81  # kg, m of the drum, m/s2
TURN = da.Ramp(0.0, 20.0, 4.0)  # angle of the drum, rad

s = da.System("hoist", gravity=(0, -G, 0))
drum = s.body("drum", da.cylinder(0.3, RADIUS, mass=20.0))
sheave = s.body("sheave", da.cylinder(0.05, 0.1, mass=5.0))
block = s.body("block", da.cylinder(0.05, 0.1, mass=LOAD))
s.connect("shaft", da.Revolute("z"), s.ground.at(0, -4, 0), drum)
s.connect("pin", da.Revolute("z"), s.ground.at(1.8, 0, 0), sheave)
s.connect("guide", da.Prismatic("y"), s.ground.at(2.0, -4, 0), block)
route = [da.Pulley(RADIUS, -1), da.Pulley(0.1, -1), da.Pulley(0.1, 1, friction=0), "point"]
places = [(0, -4), (1.8, 0), (2.0, -4), (2.1, 0)]  # the rope goes down on the left of the block, up on its right
rope = da.PulleyRope(route, 4e6, tension=LOAD * G / 2, positions=places, damping=2e4)
s.connect("rope", rope, s.ground, drum, sheave, block, s.ground.at(2.1, 0, 0))
s.drive("shaft", position=TURN)
result = da.simulate(s, 5.0, times=np.linspace(0, 5, 501))

lifted, torque = result["guide.position"], result["shaft.effort"]
work = np.trapezoid(torque * result["shaft.speed"], result.t)

if __name__ == "__main__":
    print(f"lifted by {lifted[-1]:.4f} m; half of the rope on the drum is {RADIUS * TURN(5.0)[0] / 2:.4f} m")
    print(f"largest tension {result['rope.tension2'].max():.0f} N, at rest {result['rope.tension2'][-1]:.0f} N")
    print(f"work of the drum {work:.1f} J, of the weight {LOAD * G * lifted[-1]:.1f} J")
    result.plot("guide.position", "rope.tension1", "rope.tension2", "shaft.effort", path="hoist.png")
