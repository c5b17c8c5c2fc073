"""Library of systems: mechanisms, machines, robots and benchmark problems."""

from . import mechanisms
from .cams import Cam, cam_drive
from .follower_laws import FollowerMotion
from .gear_meshes import GearPair, Rack, ToothForces, ring_for
from .gear_trains import cardan_gears, differential, planetary, rack_drive, spur_gears
from .gears import Gear, involute, involute_angle
from .humanoid_robot import humanoid
from .injection_pump import PumpData, PumpFilms, fuel_injection_pump, pump_films
from .injection_pump_coordinates import PumpCoordinates, pump_coordinates
from .linkages import linkage
from .machines import (
    cardan_shaft,
    geneva,
    geneva_angle,
    oldham,
    pantograph,
    quick_return,
    scissor_lift,
    scotch_yoke,
)
from .mechanisms import (
    andrews,
    bennett,
    bricard,
    door,
    four_bar,
    governor,
    parallelogram,
    sarrus,
    slider_crank,
    spherical_four_bar,
    windows,
)
from .open_chains import binary_tree, chain
from .parallel_robots import (
    delta,
    delta_angles,
    five_bar,
    stewart,
    stewart_lengths,
    three_rrr,
    three_rrr_angles,
)
from .six_bars import stephenson_six_bar, watt_six_bar
from .straight_line_linkages import chebyshev, hart, hoeken, peaucellier, roberts, scott_russell, watt
from .suspensions import ackermann, ackermann_lean, double_wishbone, macpherson, rack_steering
from .two_arm_manipulator import space_manipulator
from .walking_mechanisms import jansen, klann
from .whipple_bicycle import bicycle
from .woodpecker_toy import woodpecker, woodpecker_impacts

__all__ = [
    "Cam",
    "FollowerMotion",
    "Gear",
    "GearPair",
    "PumpCoordinates",
    "PumpData",
    "PumpFilms",
    "Rack",
    "ToothForces",
    "ackermann",
    "ackermann_lean",
    "andrews",
    "bennett",
    "bicycle",
    "binary_tree",
    "bricard",
    "cam_drive",
    "cardan_gears",
    "cardan_shaft",
    "chain",
    "chebyshev",
    "delta",
    "delta_angles",
    "differential",
    "door",
    "double_wishbone",
    "five_bar",
    "four_bar",
    "fuel_injection_pump",
    "geneva",
    "geneva_angle",
    "governor",
    "hart",
    "hoeken",
    "humanoid",
    "involute",
    "involute_angle",
    "jansen",
    "klann",
    "linkage",
    "macpherson",
    "mechanisms",
    "oldham",
    "pantograph",
    "parallelogram",
    "peaucellier",
    "planetary",
    "pump_coordinates",
    "pump_films",
    "quick_return",
    "rack_drive",
    "rack_steering",
    "ring_for",
    "roberts",
    "sarrus",
    "scissor_lift",
    "scotch_yoke",
    "scott_russell",
    "slider_crank",
    "space_manipulator",
    "spherical_four_bar",
    "spur_gears",
    "stephenson_six_bar",
    "stewart",
    "stewart_lengths",
    "three_rrr",
    "three_rrr_angles",
    "watt",
    "watt_six_bar",
    "windows",
    "woodpecker",
    "woodpecker_impacts",
]
