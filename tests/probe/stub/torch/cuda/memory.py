peaks = {0: 0, 1: 0}


def take(device, size):
    """A peak of `size` bytes allocated and twice that reserved."""
    import torch
    torch.cuda.used = True
    peaks[device] = max(peaks[device], size)


def memory_stats_as_nested_dict(device=None):
    peak = peaks[device or 0]
    return {"allocated_bytes": {"all": {"peak": peak}}, "reserved_bytes": {"all": {"peak": 2 * peak}},
            "num_alloc_retries": 3, "num_ooms": 0} if peak else {}


def reset_peak_memory_stats(device=None):
    peaks[device or 0] = 1
