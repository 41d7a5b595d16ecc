import sys

now = peak = ooms = 0
trace, recording = [], False


def took(address, n):
    global now, peak
    now += n
    peak = max(peak, now)
    if recording:
        frames, f = [], sys._getframe(1)
        while f:
            frames.append({"filename": f.f_code.co_filename, "line": f.f_lineno, "name": f.f_code.co_name})
            f = f.f_back
        trace.append({"action": "alloc" if n > 0 else "free_requested", "addr": address, "size": abs(n), "frames": frames})


def memory_stats_as_nested_dict(device=None):
    kind = {"all": {"current": now, "peak": peak}}
    return {"allocated_bytes": kind, "reserved_bytes": {"all": dict(kind["all"])}, "active_bytes": {"all": dict(kind["all"])},
            "inactive_split_bytes": {"all": {"current": 3, "peak": 5}}, "num_alloc_retries": 0, "num_ooms": ooms}


def reset_peak_memory_stats(device=None):
    global peak
    peak = now


def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=0):
    global recording
    recording = True


def _snapshot():
    return {"device_traces": [trace]}
