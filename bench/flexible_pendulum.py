"""A flexible pendulum for one second, beside Exudyn's reduced-order body in the floating frame.

    python bench/flexible_pendulum.py [--quick] [--json out.json]

One bar of solid elements (Hex8 with incompatible modes), clamped at a face that swings about a horizontal axis, six
modes of the clamped bar, released level under its weight. Both programs get the same matrices; the place of the tip at
1 s is compared with the same program's own converged run, because the two models differ in small terms (by 1.2 mm).
Times are those of the process, minima over the rounds.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from time import process_time
from typing import Any

import numpy as np
import report
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

import dalembert as da

Array = NDArray[np.float64]

LENGTH, WIDTH = 1.0, 0.02  # m
ELEMENTS = (40, 2, 2)
E, NU, DENSITY = 1e9, 0.3, 2000.0
MODES = 6
CORNERS = np.array([(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)])


@dataclass(frozen=True)
class Bar:
    """Nodes (n, 3), matrices (3 n, 3 n), the nodes of the clamped face, its middle node and that of the other end."""

    nodes: Array
    cells: NDArray[np.int64]
    mass: Any
    stiffness: Any
    face: list[int]
    root: int
    tip: int


@dataclass(frozen=True)
class Row:
    """One run: process time, s, and error of the tip's place, m, against the program's own converged run."""

    program: str
    method: str
    time: float
    error: float


def element(size: Array) -> tuple[Array, Array]:
    """Return stiffness and mass (24, 24) of a box of the given edges."""
    shear = (1 - 2 * NU) / 2
    D = np.zeros((6, 6))
    D[:3, :3] = NU + (1 - 2 * NU) * np.eye(3)
    D[3:, 3:] = shear * np.eye(3)
    D *= E / (1 + NU) / (1 - 2 * NU)

    def strains(d: Array) -> Array:
        B = np.zeros((6, 3 * d.shape[1]))
        for row, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))):
            B[row, i::3] += d[j]
            if i != j:
                B[row, j::3] += d[i]
        return B

    K, M, across, inner = np.zeros((24, 24)), np.zeros((24, 24)), np.zeros((24, 9)), np.zeros((9, 9))
    volume = size.prod() / 8
    for point in product((-1 / np.sqrt(3), 1 / np.sqrt(3)), repeat=3):
        factors = 1 + CORNERS * point
        N = factors.prod(1) / 8
        d = np.array([CORNERS[:, k] * np.delete(factors, k, 1).prod(1) for k in range(3)]) / 8 * (2 / size)[:, None]
        B, bubbles = strains(d), strains(np.diag(-2 * np.array(point)) * (2 / size)[:, None])
        K += volume * B.T @ D @ B
        across += volume * B.T @ D @ bubbles
        inner += volume * bubbles.T @ D @ bubbles
        M += volume * DENSITY * np.kron(np.outer(N, N), np.eye(3))
    return K - across @ np.linalg.solve(inner, across.T), M


def bar() -> Bar:
    """Return the mesh and its matrices."""
    nx, ny, nz = ELEMENTS
    lines = (np.linspace(0, LENGTH, nx + 1), *(np.linspace(-WIDTH / 2, WIDTH / 2, k + 1) for k in (ny, nz)))
    nodes = np.array(list(product(*lines)))

    def number(i: int, j: int, k: int) -> int:
        return (i * (ny + 1) + j) * (nz + 1) + k

    offsets = (CORNERS + 1) // 2
    cells = np.array([[number(*(c + o)) for o in offsets] for c in np.array(list(product(*map(range, ELEMENTS))))])
    K, M = element(np.array([LENGTH, WIDTH, WIDTH]) / ELEMENTS)
    dofs = (3 * cells[:, :, None] + np.arange(3)).reshape(len(cells), 24)
    rows, columns = (np.broadcast_to(x, (len(cells), 24, 24)).ravel() for x in (dofs[:, :, None], dofs[:, None]))
    shape = (3 * len(nodes), 3 * len(nodes))
    mass, stiffness = (sp.csr_matrix((np.tile(x.ravel(), len(cells)), (rows, columns)), shape=shape) for x in (M, K))
    face = [number(0, j, k) for j in range(ny + 1) for k in range(nz + 1)]
    return Bar(nodes, cells, mass, stiffness, face, number(0, ny // 2, nz // 2), number(nx, ny // 2, nz // 2))


# ---- dalembert


def ours(mesh: Bar) -> Callable[..., Array]:
    """Return a run that gives the place of the tip."""
    n = len(mesh.nodes)
    held = (3 * np.array(mesh.face)[:, None] + np.arange(3)).ravel()
    free = np.setdiff1d(np.arange(3 * n), held)
    K, M = (x.tocsc()[free][:, free] for x in (mesh.stiffness, mesh.mass))
    values, vectors = eigsh(K, MODES, M, sigma=0)
    modes = np.zeros((3 * n, MODES))
    modes[free] = vectors
    six = (6 * np.arange(n)[:, None] + np.arange(3)).ravel()  # no rotations among the degrees of freedom of solids
    all_modes = np.zeros((6 * n, MODES))
    all_modes[six] = modes
    full = mesh.mass.tocoo()
    mass = sp.csr_matrix((full.data, (six[full.row], six[full.col])), shape=(6 * n, 6 * n))
    body = da.FlexibleBody(mesh.nodes, all_modes, mass_matrix=mass, modal_stiffness=np.diag(values))
    s = da.System("pendulum")
    pendulum = s.body("bar", body)
    pendulum.marker("tip", node=mesh.tip)
    s.connect("A", da.Revolute("y"), s.ground, pendulum.at(node=mesh.root))
    model = s.compile()

    def run(**options: Any) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", da.StiffeningWarning)
            tip: Array = da.simulate(model, 1.0, times=[1.0], **options)["bar.tip.position"][-1]
        return tip

    return run


# ---- Exudyn


def theirs(mesh: Bar) -> Callable[..., Array]:
    """Return the same of Exudyn: fixed-interface modes, a joint at the face, generalised alpha."""
    import exudyn as exu
    import exudyn.itemInterface as items
    from exudyn.FEM import FEMinterface, HCBstaticModeSelection, ObjectFFRFreducedOrderInterface

    exu.config.printToConsole = False
    fem = FEMinterface()
    fem.nodes = {"Position": mesh.nodes}
    fem.massMatrix, fem.stiffnessMatrix = mesh.mass, mesh.stiffness
    fem.elements = [{"Hex8": mesh.cells}]
    fem.ComputeHurtyCraigBamptonModes([mesh.face], MODES, True, HCBstaticModeSelection.RBE2)
    reduced = ObjectFFRFreducedOrderInterface(fem)

    def run(steps: int) -> Array:
        container = exu.SystemContainer()
        mbs = container.AddSystem()
        body = reduced.AddObjectFFRFreducedOrder(mbs, positionRef=[0, 0, 0], gravity=[0, 0, -9.81])["oFFRFreducedOrder"]
        shares = np.full(len(mesh.face), 1 / len(mesh.face))
        face = items.MarkerSuperElementRigid(bodyNumber=body, meshNodeNumbers=mesh.face, weightingFactors=shares)
        ground = mbs.AddObject(items.ObjectGround())
        pin = [mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground)), mbs.AddMarker(face)]
        mbs.AddObject(items.GenericJoint(markerNumbers=pin, constrainedAxes=[1, 1, 1, 1, 0, 1]))
        kind = exu.OutputVariableType.Position
        tip = mbs.AddSensor(
            items.SensorSuperElement(
                bodyNumber=body, meshNodeNumber=mesh.tip, storeInternal=True, outputVariableType=kind
            )
        )
        mbs.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = 1.0, steps
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
        settings.timeIntegration.generalizedAlpha.computeInitialAccelerations = True
        settings.timeIntegration.newton.useModifiedNewton = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            settings.solutionSettings.writeSolutionToFile = False
            settings.solutionSettings.sensorsWritePeriod = 1.0
        mbs.SolveDynamic(settings)
        return np.array(mbs.GetSensorValues(tip))

    return run


def measure(*, rounds: int) -> list[Row]:
    """Return a row for each program and accuracy."""
    mesh = bar()
    contests: list[tuple[str, Callable[..., Array], dict[str, Any], list[tuple[str, dict[str, Any]]]]] = [
        (
            "dalembert",
            ours(mesh),
            {"method": "dop853", "rtol": 1e-12, "atol": 1e-13},
            [
                ("alpha, 1000 steps", {"method": "alpha", "step": 1e-3}),
                ("alpha, 4000 steps", {"method": "alpha", "step": 2.5e-4}),
                ("dop853, rtol 1e-4", {"method": "dop853", "rtol": 1e-4, "atol": 1e-6}),
                ("dop853, rtol 1e-8", {"method": "dop853", "rtol": 1e-8}),
            ],
        )
    ]
    try:
        peer = theirs(mesh)
    except ImportError:
        print("Exudyn is not installed")
    else:
        sizes = [(f"alpha, {steps} steps", {"steps": steps}) for steps in (1000, 4000)]
        contests.append(("Exudyn", peer, {"steps": 32_000 if rounds > 1 else 16_000}, sizes))
    rows = []
    for program, run, finest, methods in contests:
        reference = run(**finest)
        for title, options in methods:
            times = []
            for _ in range(rounds):
                start = process_time()
                found = run(**options)
                times.append(process_time() - start)
            rows.append(Row(program, title, min(times), float(np.linalg.norm(found - reference))))
    return rows


def main() -> None:
    """Run from the command line."""
    options = report.parser(__doc__, quick="one round").parse_args()
    about = report.introduce()
    rows = measure(rounds=1 if options.quick else 3)
    print(f"\n{'':12}{'':20}{'time ms':>12}{'error m':>12}")
    for row in rows:
        print(f"{row.program:12}{row.method:20}{1e3 * row.time:12.2f}{row.error:12.1e}")
    report.write(options.json, about, rows)


if __name__ == "__main__":
    main()
