"""A stand-in for PyTorch: its caching allocator takes each tensor from the CUDA runtime at once."""
import os

if os.environ.get("STUB_TORCH_FAILS"):
    raise ImportError("told to fail")

from . import autograd, cuda, nn, optim, version
from .cuda import Tensor

__version__ = "9.9.0+stub"


class OutOfMemoryError(RuntimeError):
    pass


class device:
    def __init__(self, name):
        self.index = int(str(name).partition(":")[2] or 0)
