from .cuda import Tensor


class Parameter(Tensor):
    pass
