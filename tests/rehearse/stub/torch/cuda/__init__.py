import ctypes

from . import memory

runtime = ctypes.CDLL(None)
calls, ready = [], False


def is_initialized():
    return ready


def device_count():
    n = ctypes.c_int()
    runtime.cudaGetDeviceCount(ctypes.byref(n))
    return n.value


def current_device():
    return 0


def _lazy_call(f):
    calls.append(f)


def init():
    global ready
    ready = True
    for f in calls:
        f()


def max_memory_allocated(device=None):
    return memory.memory_stats_as_nested_dict(device)["allocated_bytes"]["all"]["peak"]


def reset_peak_memory_stats(device=None):
    memory.reset_peak_memory_stats(device)


class Tensor:
    is_cuda, grad = True, None

    def __init__(self, n):
        if not ready:
            init()
        self.at, self.n = ctypes.c_void_p(), n
        if runtime.cudaMalloc(ctypes.byref(self.at), ctypes.c_size_t(n)):
            from torch import OutOfMemoryError
            memory.ooms += 1
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate %d bytes" % n)
        runtime.cudaLaunchKernel()  # what fills it; its arguments are not looked at
        memory.took(self.at.value, n)

    def __del__(self):
        if self.at.value:
            runtime.cudaFree(self.at)
            memory.took(self.at.value, -self.n)

    def untyped_storage(self):
        return self

    def data_ptr(self):
        return self.at.value

    def nbytes(self):
        return self.n

    def item(self):
        value = ctypes.c_int(7)
        runtime.cudaMemcpy(ctypes.byref(value), self.at, ctypes.c_size_t(4), 2)
        return value.value
