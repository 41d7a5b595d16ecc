"""What PyTorch's history of allocations tells: what was alive at the peak, made by which lines of the program, and what lived
when."""
import re


def at_the_peak(trace, addresses):
    """[{kind, place, during, bytes, count}], the largest first, of the allocations alive at the highest sum of them."""
    live, total, highest, peak = {}, 0, 0, 0
    for i, entry in enumerate(trace):
        if entry["action"] == "alloc":
            live[entry["addr"]] = entry["size"]
            total += entry["size"]
            if total > highest:
                highest, peak = total, i
        elif entry["action"] == "free_requested":
            total -= live.pop(entry["addr"], 0)
    alive = {}
    for entry in trace[:peak + 1]:
        if entry["action"] == "alloc":
            alive[entry["addr"]] = entry
        elif entry["action"] == "free_requested":
            alive.pop(entry["addr"], None)
    sums = {}
    for entry in alive.values():
        frames = entry.get("frames", [])
        during = during_of(frames)
        key = (kind_of(entry, during, addresses), place_of(frames), during)
        size, count = sums.get(key, (0, 0))
        sums[key] = (size + entry["size"], count + 1)
    rows = [{"kind": kind, "place": place, "during": during, "bytes": size, "count": count}
            for (kind, place, during), (size, count) in sums.items()]
    return sorted(rows, key=lambda r: -r["bytes"])[:200]


KIND_DURING = {"forward or setup": "activations", "backward": "activation gradients", "recompute": "recomputed activations",
               "optimizer": "temporaries"}
NOT_THE_PROGRAM = re.compile(r"^<|importlib|(sitecustomize|vramplan_\w+)\.py$")
TORCH = {"folder": "/torch/"}  # where it is installed, once that is known


def in_torch(filename, part=""):
    return filename.startswith(TORCH["folder"] + part)


def kind_of(entry, during, addresses):
    kind, size = addresses.get(entry["addr"], (None, 0))
    if size != entry["size"] or kind == "gradients" and during != "backward":  # something else lay there before
        return KIND_DURING[during]
    return kind


def timeline(trace, addresses, stretches=900):
    """Live bytes by kind through the run: the highest instant of each of so many stretches of it, so that no peak is lost."""
    live, sums, total, during, samples, highest = {}, {}, 0, "forward or setup", [], None
    each = max(1, -(-len(trace) // stretches))
    for i, entry in enumerate(trace):
        if entry["action"] == "alloc":
            during = during_of(entry.get("frames", []))
            kind = kind_of(entry, during, addresses)
            live[entry["addr"]] = kind, entry["size"]
            sums[kind] = sums.get(kind, 0) + entry["size"]
            total += entry["size"]
        elif entry["action"] == "free_requested" and entry["addr"] in live:
            kind, size = live.pop(entry["addr"])
            sums[kind] -= size
            total -= size
        if highest is None or total > highest["live"]:
            highest = {"event": i, "during": during, "live": total, "kinds": dict(sums)}
        if (i + 1) % each == 0 or i + 1 == len(trace):
            samples.append(highest)
            highest = None
    return {"events": len(trace), "samples": samples}


def during_of(frames):
    """What the step was doing."""
    if not frames:  # threads of the autograd engine run no Python
        return "backward"
    if any(in_torch(frame["filename"], "optim/") for frame in frames):
        return "optimizer"
    names = {frame["name"] for frame in frames}
    if any("unpack_hook" in name or "recompute_fn" in name for name in names):
        return "recompute"
    # a thread of the engine that runs a hook begins inside of PyTorch
    return "backward" if "_engine_run_backward" in names or in_torch(frames[-1]["filename"]) else "forward or setup"


def place_of(frames):
    """The innermost line outside of PyTorch."""
    if not frames:
        return "(autograd engine)"
    for frame in frames:
        if not in_torch(frame["filename"]) and not NOT_THE_PROGRAM.search(frame["filename"]):
            return f"{frame['filename']}:{frame['line']} {frame['name']}"
    return "(inside PyTorch)"
