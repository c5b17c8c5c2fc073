"""A mass on a moving belt, held back by a spring, sticks and slips: the cycle against its closed form."""

import numpy as np

import dalembert as da

mass, stiffness, belt_speed = 1.0, 100.0, 0.02  # kg, N/m, m/s
static, sliding = 1.5, 1.0  # N, largest friction at rest and in motion


def belt(friction):
    s = da.System("stick-slip", gravity=(0, 0, 0))
    loop, block = s.body("belt", mass=1.0, inertia=(1, 1, 1)), s.body("block", da.box(0.05, 0.05, 0.05, mass=mass))
    s.connect("run", da.Prismatic("x"), s.ground, loop)
    s.connect("slip", da.Prismatic("x"), loop, block)
    s.connect("spring", da.SpringDamper(stiffness, 0.0, 1.0), s.ground.at(-1.0, 0, 0), block)
    s.connect("friction", friction, "slip")
    s.drive("run", speed=belt_speed)
    s.initial("slip", speed=-belt_speed)  # at rest, the spring free of force
    return s


# Coulomb: the joint locks when slipping ends, and lets go when the spring pulls with the static friction
stick = da.Event("stick", "slip.speed", direction=1, action=lambda now: now.lock("slip"))
slip = da.Event("slip", "block.position.x", static / stiffness, direction=1, action=lambda now: now.release("slip"))
system = belt(da.Element("joint", "F", {"F": sliding}))  # it slips one way only
result = da.simulate(system, 6.0, events=[stick, slip])
stuck, slipped = (np.array([e.t for e in result.events if e.name == name]) for name in ("stick", "slip"))
period, share = stuck[2] - stuck[1], (slipped[1] - stuck[1]) / (stuck[2] - stuck[1])

bristles = da.LuGreFriction(static, sliding, 1e-4, bristle_stiffness=1e8, bristle_damping=2e4)
soft = da.simulate(belt(bristles), 6.0, events=[da.Event("slip", "block.velocity.x", direction=-1)])
soft_period = np.diff([event.t for event in soft.events])[-1]

w, beyond = np.sqrt(stiffness / mass), (static - sliding) / stiffness
exact_stick = 2 * beyond / belt_speed
exact = exact_stick + (np.pi + 2 * np.arctan(belt_speed / (w * beyond))) / w

if __name__ == "__main__":
    print(f"period {period:.9f} s, exact {exact:.9f} s; it sticks for {share:.6f}, exact {exact_stick / exact:.6f}")
    print(f"period with bristles that bend {soft_period:.6f} s")
    print(f"the belt's motor brings {result['energy.work'][-1]:.4f} J, off by {result['energy.balance'][-1]:.1e} J")
    result.plot("block.position.x", "block.velocity.x", path="stick_slip.png")
