"""A stand-in for PyTorch: counters of two devices, that a program moves by hand."""
from . import cuda

__version__ = "9.9.0+stub"
