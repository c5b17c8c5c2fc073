"""Finite-element models of flexible bodies: beams and frames, reduction to modes, stresses, import."""

from . import materials
from .beams import SegmentedBeam, beam
from .cable_segments import beam_segment
from .cables import SlenderBody, cable
from .distributed_loads import SpreadLoad, line_load, pressure_load
from .frames import Member, frame, frame_structure
from .matrix_files import read_structure
from .mode_report import ModeReport
from .mode_sets import CantileverModes, CraigBampton, FreeModes, GivenModes, Guyan, ModeSet
from .nastran import read_nastran
from .plate_elements import plate_structure
from .sections import Material, Section
from .solid_elements import solid_structure
from .stress_recovery import (
    BeamStresses,
    NodalStresses,
    beam_stresses,
    nodal_mises,
    nodal_stresses,
    section_forces,
)
from .structure import Structure

__all__ = [
    "BeamStresses",
    "CantileverModes",
    "CraigBampton",
    "FreeModes",
    "GivenModes",
    "Guyan",
    "Material",
    "Member",
    "ModeReport",
    "ModeSet",
    "NodalStresses",
    "Section",
    "SegmentedBeam",
    "SlenderBody",
    "SpreadLoad",
    "Structure",
    "beam",
    "beam_segment",
    "beam_stresses",
    "cable",
    "frame",
    "frame_structure",
    "line_load",
    "materials",
    "nodal_mises",
    "nodal_stresses",
    "plate_structure",
    "pressure_load",
    "read_nastran",
    "read_structure",
    "section_forces",
    "solid_structure",
]
