"""Types of NumPy arrays, for annotations."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "BoolArray", "ComplexArray", "IndexArray"]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
ComplexArray = NDArray[np.complex128]
IndexArray = NDArray[np.intp]
