"""Sensors with errors: encoders, inertial units, force-torque and range sensors."""

from .kinds import IMU, Encoder, ForceTorqueSensor
from .range_sensor import RangeSensor
from .sampling import SensorData, SensorErrors, SensorStream

__all__ = ["IMU", "Encoder", "ForceTorqueSensor", "RangeSensor", "SensorData", "SensorErrors", "SensorStream"]
