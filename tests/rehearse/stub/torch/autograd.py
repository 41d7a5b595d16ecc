from .cuda import Tensor


def _engine_run_backward(size):
    Tensor(size)  # lives for a moment


def backward(size):
    _engine_run_backward(size)
