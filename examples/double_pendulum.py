"""A double pendulum: accelerations, energy, and the force in its upper pin."""

import dalembert as da

s = da.System("double pendulum")
upper = s.body("upper", da.rod(length=1.0, mass=1.0))
lower = s.body("lower", da.rod(length=1.0, mass=1.0))
s.connect("A", da.Revolute("y"), s.ground, upper)
s.connect("B", da.Revolute("y"), upper.at(1.0, 0, 0), lower)

model = s.compile()
q, v = [0.3, -0.2], [0.0, 1.0]
a = model.forward_dynamics(q, v)
energy = model.energy(q, v)
print(model.forest)
print(f"accelerations {a.round(4)} rad/s2, energy {energy.total:.4f} J")
print(f"force in A {model.reactions(q, v, a)[0, 3:].round(4)} N")
