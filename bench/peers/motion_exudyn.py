"""Simulation by Exudyn, each problem in the form that its own examples use.

Trees: one `ObjectKinematicTree`, explicit Runge-Kutta of order 5 with step control (DOPRI5). Planar loops:
`RigidBody2D` with `RevoluteJoint2D`. Spatial loops: rigid bodies with `RevoluteJoint`, the dense solver told to ignore
the singular Jacobian. Both with generalised alpha, spectral radius 0.8 (with 0.95 the coarse runs of A02 went wrong),
modified Newton, and a sparse solver where it is the faster. The stiff governor: a tree with spring-dampers,
generalised alpha. No files and no sensors are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import exudyn as exu
import exudyn.itemInterface as items
import numpy as np
from exudyn.rigidBodyUtilities import HomogeneousTransformation, RigidBodyInertia
from exudyn.robotics import Robot, RobotBase, RobotLink, RobotTool

from dalembert.connections.elements.built_in import Effort, SpringDamper
from dalembert.connections.joints import Revolute

from .links import Array, links_of
from .motion import Motion, in_link

__all__ = ["ExudynMotion"]

exu.config.printToConsole = False


class ExudynMotion:
    """Exudyn's own solvers."""

    name = "Exudyn"

    def motions(self, problem: Any) -> Iterator[Motion]:
        """Return runs from coarse to fine."""
        if not problem.system.forest().loop_constraints:
            build = _tree
            if not problem.stiff:
                for rtol in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
                    yield _motion(problem, *build(problem), _explicit(problem, rtol), f"DOPRI5 rtol {rtol:.0e}")
                return
        else:
            build = _planar if problem.planar else _spatial
        for steps in (250, 500, 1000, 2000, 4000, 8000, 16_000):
            settings = _alpha(problem, steps, redundant=build is _spatial)
            yield _motion(problem, *build(problem), settings, f"generalised alpha {steps} steps")


def _explicit(problem: Any, rtol: float) -> tuple[Any, Any]:
    settings = _settings(problem)
    integration = settings.timeIntegration
    integration.automaticStepSize = True
    integration.relativeTolerance, integration.absoluteTolerance = rtol, rtol * 1e-2
    integration.numberOfSteps, integration.initialStepSize = 1, 1e-3  # the first is the longest step
    return settings, exu.DynamicSolverType.DOPRI5


def _alpha(problem: Any, steps: int, *, redundant: bool) -> tuple[Any, Any]:
    settings = _settings(problem)
    integration = settings.timeIntegration
    integration.numberOfSteps = steps
    integration.generalizedAlpha.spectralRadius = 0.8
    integration.generalizedAlpha.computeInitialAccelerations = True
    integration.newton.useModifiedNewton = True
    if redundant:
        settings.linearSolver.solverType = exu.LinearSolverType.EigenDense
        settings.linearSolver.ignoreSingularJacobian = True
    elif len(problem.system.bodies) > 10:
        settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    return settings, exu.DynamicSolverType.GeneralizedAlpha


def _settings(problem: Any) -> Any:
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime = problem.t_end
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = problem.t_end
    settings.solutionSettings.solutionWritePeriod = problem.t_end
    return settings


def _motion(problem: Any, mbs: Any, read: Any, how: tuple[Any, Any], label: str) -> Motion:
    mbs.Assemble()
    done = [False]
    settings, solver = how

    def run() -> None:
        try:
            done[0] = mbs.SolveDynamic(settings, solverType=solver, updateInitialValues=False, showHints=False)
        except exu.SolverError:
            done[0] = False

    def state() -> tuple[Array, Array]:
        q, v = read()
        return (q, v) if done[0] else (np.full_like(q, np.nan), np.full_like(v, np.nan))

    return Motion(label, run, state)


def _tree(problem: Any) -> tuple[Any, Any]:
    """Return a system with one kinematic tree, and how to read its state."""
    mbs = exu.SystemContainer().AddSystem()
    links = links_of(problem.system)
    robot = Robot(gravity=list(problem.system.gravity), base=RobotBase(), tool=RobotTool(), referenceConfiguration=[])
    signs = []
    for link in links:
        (joint,) = link.joints
        axis = int(np.abs(joint.axis).argmax())
        sign = joint.axis[axis]
        signs.append(sign)
        robot.AddLink(
            RobotLink(
                mass=link.mass,
                COM=list(link.com),
                inertia=link.inertia,
                jointType=("R" if joint.kind == "revolute" else "P") + "xyz"[axis],
                parent=link.parent - 1,
                preHT=HomogeneousTransformation(link.R, list(link.p)),
            )
        )
    signs_array = np.array(signs)
    made = robot.CreateKinematicTree(mbs)
    node, tree = made["nodeGeneric"], made["objectKinematicTree"]
    reference = np.array(mbs.GetNode(node)["referenceCoordinates"])
    mbs.SetNodeParameter(node, "initialCoordinates", list(signs_array * problem.start.q - reference))
    mbs.SetNodeParameter(node, "initialCoordinates_t", list(signs_array * problem.start.v))
    for force in problem.system.forces.values():
        spring = force.element
        assert isinstance(spring, SpringDamper)
        markers = []
        for end in (force.first, force.second):
            number, place = in_link(links, end)
            marker = items.MarkerKinematicTreeRigid(objectNumber=tree, linkNumber=number - 1, localPosition=list(place))
            markers.append(mbs.AddMarker(marker))
        mbs.AddObject(
            items.SpringDamper(
                markerNumbers=markers, referenceLength=spring.length, stiffness=spring.stiffness, damping=spring.damping
            )
        )

    def read() -> tuple[Array, Array]:
        q = np.array(mbs.systemData.GetODE2Coordinates()) + reference
        return signs_array * q, signs_array * np.array(mbs.systemData.GetODE2Coordinates_t())

    return mbs, read


def _planar(problem: Any) -> tuple[Any, Any]:
    """Return a system of planar bodies with three coordinates each, and how to read its state."""
    mbs = exu.SystemContainer().AddSystem()
    model, system = problem.model, problem.system
    q0, v0 = problem.start.q, problem.start.v
    ground = mbs.AddObject(items.ObjectGround())
    nodes, bodies, absolute = {}, {}, _absolute_angles(model, q0)
    for name, body in system.bodies.items():
        place = model.pose(body.at(*body.com), q0).position
        speed = model.velocity(body.at(*body.com), q0, v0)
        nodes[name] = mbs.AddNode(
            items.NodeRigidBody2D(
                referenceCoordinates=[place[0], place[1], absolute[name]],
                initialVelocities=[speed[3], speed[4], speed[2]],
            )
        )
        bodies[name] = mbs.AddObject(
            items.RigidBody2D(nodeNumber=nodes[name], physicsMass=body.mass, physicsInertia=body.inertia[2, 2])
        )
        mass = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=bodies[name]))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=list(system.gravity)))

    def marker(end: Any, kind: Any) -> int:
        body, place = ground, end.position
        if end.body.name in bodies:
            body, place = bodies[end.body.name], end.position - end.body.com
        return int(mbs.AddMarker(kind(bodyNumber=body, localPosition=list(place))))

    for connection in system.connections.values():
        ends = [marker(end, items.MarkerBodyPosition) for end in (connection.first, connection.second)]
        mbs.AddObject(items.RevoluteJoint2D(markerNumbers=ends))
    for force in system.forces.values():
        element = force.element
        if isinstance(element, Effort):
            end = marker(force.joint.second, items.MarkerBodyRigid)  # the other end is on ground
            mbs.AddLoad(items.LoadTorqueVector(markerNumber=end, loadVector=[0, 0, float(element.law(0.0)[0])]))
        else:
            ends = [marker(end, items.MarkerBodyPosition) for end in (force.first, force.second)]
            mbs.AddObject(
                items.SpringDamper(
                    markerNumbers=ends,
                    referenceLength=element.length,
                    stiffness=element.stiffness,
                    damping=element.damping,
                )
            )

    def read() -> tuple[Array, Array]:
        angle, rate = {"ground": 0.0}, {"ground": 0.0}
        for name, node in nodes.items():
            angle[name] = absolute[name] + mbs.GetNodeOutput(node, exu.OutputVariableType.Coordinates)[2]
            rate[name] = mbs.GetNodeOutput(node, exu.OutputVariableType.Coordinates_t)[2]
        ends = [(joint.inboard.body.name, joint.outboard.body.name) for joint in model.forest.joints]
        q = np.array([angle[outer] - angle[inner] for inner, outer in ends])
        return q, np.array([rate[outer] - rate[inner] for inner, outer in ends])

    return mbs, read


def _absolute_angles(model: Any, q: Array) -> dict[str, float]:
    """Return the angle of every body of a planar tree of revolutes about z, its turns counted."""
    angle = {"ground": 0.0}
    for joint, value in zip(model.forest.joints, q, strict=True):
        angle[joint.outboard.body.name] = angle[joint.inboard.body.name] + value
    return angle


def _spatial(problem: Any) -> tuple[Any, Any]:
    """Return a system of spatial bodies and revolute joints, and how to read its state."""
    mbs = exu.SystemContainer().AddSystem()
    model, system = problem.model, problem.system
    q0, v0 = problem.start.q, problem.start.v
    numbers = {"ground": mbs.AddObject(items.ObjectGround())}
    for name, body in system.bodies.items():
        pose, speed = model.pose(body, q0), model.velocity(body, q0, v0)
        about_origin = body.inertia + body.mass * (body.com @ body.com * np.eye(3) - np.outer(body.com, body.com))
        numbers[name] = mbs.CreateRigidBody(
            inertia=RigidBodyInertia(body.mass, inertiaTensor=about_origin, com=list(body.com)),
            referencePosition=list(pose.position),
            referenceRotationMatrix=pose.rotation,
            initialVelocity=list(speed[3:]),
            initialAngularVelocity=list(speed[:3]),
            gravity=list(system.gravity),
        )
    for connection in system.connections.values():
        element = connection.element
        assert isinstance(element, Revolute)
        at = model.pose(connection.first, q0)
        mbs.CreateRevoluteJoint(
            bodyNumbers=[numbers[connection.first.body.name], numbers[connection.second.body.name]],
            position=list(at.position),
            axis=list(at.rotation @ np.asarray(element.axis, dtype=float)),
            useGlobalFrame=True,
        )

    def read() -> tuple[Array, Array]:
        kinds = exu.OutputVariableType
        turned, rate = {"ground": np.eye(3)}, {"ground": np.zeros(3)}
        for name, number in numbers.items():
            if name != "ground":
                turned[name] = np.array(mbs.GetObjectOutputBody(number, kinds.RotationMatrix)).reshape(3, 3)
                rate[name] = np.array(mbs.GetObjectOutputBody(number, kinds.AngularVelocity))
        q, v = [], []
        for joint in model.forest.joints:
            inner, outer = joint.inboard, joint.outboard
            sign = -1.0 if joint.reversed else 1.0
            axis = sign * np.asarray(joint.element.axis, dtype=float)
            R = turned[inner.body.name] @ inner.rotation
            relative = R.T @ turned[outer.body.name] @ outer.rotation
            q.append(_angle_about(axis, relative))
            v.append(float(R @ axis @ (rate[outer.body.name] - rate[inner.body.name])))
        return np.array(q), np.array(v)

    return mbs, read


def _angle_about(axis: Array, R: Array) -> float:
    vector = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(axis @ vector, np.trace(R) - 1.0))
