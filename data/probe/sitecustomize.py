"""Put before a program's own modules by `vramplan probe watch`: at the end of the process, and only if the program itself
imported PyTorch and used a card, writes what PyTorch's own counters say, as PID.torch.json beside this file. The program is
left as it is."""
import atexit
import json
import os
import sys

from vramplan_at_import import AtImport, run_the_next_sitecustomize

FOLDER = os.path.dirname(os.path.abspath(__file__))
HIGHEST = {}  # by device; a program that resets its peaks does not take ours away


def note(torch):
    if not torch.cuda.is_initialized():
        return
    for device in range(torch.cuda.device_count()):
        stats = torch.cuda.memory_stats_as_nested_dict(device)
        if not stats:
            continue
        kept = HIGHEST.setdefault(device, {"allocated": 0, "reserved": 0})
        kept["allocated"] = max(kept["allocated"], stats["allocated_bytes"]["all"]["peak"])
        kept["reserved"] = max(kept["reserved"], stats["reserved_bytes"]["all"]["peak"])
        kept["retries"], kept["refusals"] = stats.get("num_alloc_retries", 0), stats.get("num_ooms", 0)


def write(torch):
    try:
        note(torch)
        if not HIGHEST:
            return
        report = {"pid": os.getpid(), "rank": int(os.environ.get("RANK", "0")), "torch": str(torch.__version__),
                  "devices": [{"device": d, **kept} for d, kept in sorted(HIGHEST.items())]}
        with open(os.path.join(FOLDER, f"{os.getpid()}.torch.json"), "w") as file:
            json.dump(report, file)
    except Exception as error:  # the program's own result must not depend on this
        print(f"vramplan: no report: {error!r}", file=sys.stderr)


def after_torch(torch):
    reset = torch.cuda.reset_peak_memory_stats

    def reset_by_the_program(device=None):
        note(torch)
        return reset(device)

    for module in (torch.cuda, torch.cuda.memory):
        module.reset_peak_memory_stats = reset_by_the_program
    atexit.register(write, torch)


sys.meta_path.insert(0, AtImport("torch", lambda spec: None, after_torch))
run_the_next_sitecustomize(__file__)
