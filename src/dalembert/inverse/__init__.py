"""What a motion takes: efforts of hinges, motors and muscles from states, samples and measurements."""

from .dynamics import inverse_dynamics
from .efforts import Efforts
from .identification import Identified, identify
from .measured import measured_motion
from .moment_arms import MomentArms, moment_arms

__all__ = ["Efforts", "Identified", "MomentArms", "identify", "inverse_dynamics", "measured_motion", "moment_arms"]
