"""Models in other programs: model files for the C library, FMUs, bridges."""

from .file_run import FileRun
from .fmu_import import FMU
from .model_export import Export, export

__all__ = ["FMU", "Export", "FileRun", "export"]
