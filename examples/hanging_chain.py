"""A chain of forty links hangs between two pins: its sag and its pull against the catenary."""

import numpy as np
from scipy.optimize import brentq

import dalembert as da

links, length, span, mass = 40, 1.0, 0.8, 0.5  # -, m, m, kg
h = length / links

system = da.System("chain")
before, angles = system.ground, np.linspace(1.2, -1.2, links)  # about an arc to start from
for k, turn in enumerate(np.diff(angles, prepend=0.0)):
    link = system.body(f"link_{k}", da.rod(length=h, mass=mass / links))
    system.connect(f"pin_{k}", da.Revolute("y"), before.at(h if k else 0, 0, 0), link)
    system.connect(f"air_{k}", da.Drag(linear=6 * mass / links), system.ground, link.at(h, 0, 0))
    system.initial(f"pin_{k}", position=turn)
    before = link
system.connect("end", da.PointOnPoint(), system.ground.at(span, 0, 0), before.at(h, 0, 0))

model = system.compile()
result = da.simulate(model, 6.0, rtol=1e-6)
rest = result.at([result.t[-1]])
pins = np.array([model.pose(f"link_{k}", rest.q[0]).position for k in range(links)])
sag, pull = -pins[:, 2].min(), abs(rest["end.force.x"][0])

a = brentq(lambda a: 2 * a * np.sinh(span / (2 * a)) - length, 0.1, 10.0)  # length of a catenary
exact_sag, exact_pull = a * (np.cosh(span / (2 * a)) - 1), mass / length * 9.81 * a
shape = a * np.cosh((pins[:, 0] - span / 2) / a) - a * np.cosh(span / (2 * a))

if __name__ == "__main__":
    print(f"sag {1e3 * sag:.3f} mm, catenary {1e3 * exact_sag:.3f} mm: {100 * (sag / exact_sag - 1):+.3f} %")
    print(f"pull {pull:.5f} N, catenary {exact_pull:.5f} N: {100 * (pull / exact_pull - 1):+.3f} %")
    print(f"off the curve by {1e3 * np.abs(pins[:, 2] - shape).max():.3f} mm at most")
    system.draw(rest.q[0], path="hanging_chain.png")
