"""A chain of twenty links, held level and let go: how fast its end gets, and that no energy is lost."""

import numpy as np

import dalembert as da
from dalembert.library import chain

links, length = 20, 0.05
system = chain(links, axes="y", length=length, mass=0.02)
end = system[f"link_{links}"].marker("end", length, 0, 0)

result = da.simulate(system, 2.0)
speed = result["link_20.end.velocity.norm"]
fastest = int(speed.argmax())
ball = np.sqrt(2 * 9.81 * links * length)

if __name__ == "__main__":
    print(
        f"the end reaches {speed[fastest]:.3f} m/s at {result.t[fastest]:.4f} s, a ball that falls as deep {ball:.3f}"
    )
    print(f"energy kept to {np.abs(result['energy.balance']).max():.1e} J")
    print(f"{result.stats.evaluations} evaluations of 20 links in {1e3 * result.stats.wall_time:.1f} ms")
    result.animate("chain.gif", fps=20, speed=0.5, trace=["link_20.end"], size=(4, 4))
