"""Put before a program's own modules by `vramplan rehearse`: tells the virtual GPU which libraries it stands for, and
writes what PyTorch's own counters say. The program is left as it is.

Environment: VGPU_REPORT, the folder for PID.torch.json; VRAMPLAN_STEPS, optimizer steps after which the program ends;
VRAMPLAN_PLACES=0, no list of the lines that allocate; VRAMPLAN_WORLD=N, the program is rank 0 of N. What vramplan_settled.py reads is
said there.
"""
import atexit
import ctypes
import functools
import gc
import glob
import json
import os
import re
import sys
import time

import vramplan_settled as settled
from vramplan_at_import import AtImport, run_the_next_sitecustomize
from vramplan_places import TORCH, at_the_peak, place_of, timeline

FOLDER = os.environ.get("VGPU_REPORT", "")
HISTORY = 1_000_000  # allocations and releases whose places are remembered


def library_version(folder, pattern, call, by_pointer):
    """What a library beside PyTorch says of itself; it needs no GPU for that."""
    for path in sorted(glob.glob(os.path.join(folder, "**", pattern), recursive=True)):
        try:
            function = getattr(ctypes.CDLL(path), call)
            if not by_pointer:
                function.restype = ctypes.c_size_t
                return int(function())
            answer = ctypes.c_int()
            function(ctypes.byref(answer))
            return answer.value
        except (OSError, AttributeError):
            continue
    return None


def tell_versions(torch_folder):
    """PyTorch refuses libraries of other versions than it was built with: say what is installed."""
    with open(os.path.join(torch_folder, "version.py")) as file:
        cuda = re.search(r"cuda[^=]*= '(\d+)\.(\d+)", file.read())
    if not cuda:
        return False
    found = {"VGPU_CUDA": int(cuda[1]) * 1000 + int(cuda[2]) * 10}
    beside = [os.path.join(os.path.dirname(torch_folder), "nvidia"), os.path.join(torch_folder, "lib")]
    for name, pattern, call, by_pointer in (("VGPU_CUDNN", "libcudnn.so*", "cudnnGetVersion", False),
                                            ("VGPU_CUBLAS", "libcublasLt.so*", "cublasLtGetVersion", False),
                                            ("VGPU_NCCL", "libnccl.so*", "ncclGetVersion", True)):
        for folder in beside:
            version = library_version(folder, pattern, call, by_pointer)
            if version:
                found[name] = version
                break
    for name, number in found.items():
        os.environ[name] = str(number)
    return True


class Watch:
    """Counters of each device, step by step. Peaks are reset at each step; what the program asks for is put together
    again, so that it sees its own peaks."""

    def __init__(self, torch, cuda_build):
        self.torch, self.cuda_build = torch, cuda_build
        self.steps, self.counts, self.highest, self.since_reset = [], {}, {}, {}
        self.phases, self.in_backward = {}, False  # peaks of the step so far, by device and phase
        self.failed, self.addresses = "", {}
        self.pid, self.ended, self.library = os.getpid(), False, None
        self.in_use, self.forked = False, False  # the card; this process is another's fork
        self.launched, self.on_card = 0, 0  # kernels until the last step, and steps that launched any
        self.last_step = int(os.environ.get("VRAMPLAN_STEPS", "0"))

    def start(self):
        if not self.cuda_build:
            self.ended = True
            self.write()
            return
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
        cuda = self.torch.cuda
        self.nested, self.reset = cuda.memory.memory_stats_as_nested_dict, cuda.memory.reset_peak_memory_stats
        cuda.memory.memory_stats_as_nested_dict = self.stats_for_the_program
        for module in (cuda.memory, cuda):
            module.reset_peak_memory_stats = self.reset_by_the_program
        register_optimizer_step_pre_hook(lambda *_: self.end_phase("optimizer"))  # clipping, unscaling
        register_optimizer_step_post_hook(lambda optimizer, *_: self.after_step(optimizer))
        self.mark_backward(self.torch.autograd)
        if os.environ.get("VRAMPLAN_PLACES", "1") != "0":
            cuda._lazy_call(self.record)
        hook = sys.excepthook
        def on_error(kind, error, trace):
            if "out of memory" in str(error):
                self.failed = str(error).splitlines()[0]
            hook(kind, error, trace)
        sys.excepthook = on_error
        self.listener = ctypes.CFUNCTYPE(None, ctypes.c_size_t)(note_read)
        self.library = ctypes.CDLL(None)
        self.library.vgpu_launches.restype = ctypes.c_size_t
        self.library.vgpu_on_zero_read(self.listener)
        cuda._lazy_call(self.begin)
        atexit.register(self.at_exit)
        os.register_at_fork(after_in_child=self.after_fork)
        self.at_hard_exit()

    def begin(self):
        """The card is used from now on. Of a process that never comes to its end this report is left."""
        self.in_use = True
        self.write()

    def after_fork(self):
        if not self.in_use:  # else the card is its parent's, and CUDA refuses the fork
            self.pid, self.forked = os.getpid(), True

    def at_hard_exit(self):
        """multiprocessing ends its children so, and programs that hang otherwise."""
        hard_exit = os._exit
        @functools.wraps(hard_exit)
        def ended(status):
            if not self.ended and (self.in_use or not self.forked):
                self.at_exit()
            hard_exit(status)
        os._exit = ended

    def mark_backward(self, autograd):
        backward = autograd.backward
        @functools.wraps(backward)
        def marked(*args, **kwargs):
            if self.in_backward:  # reentrant checkpointing, inside of another
                return backward(*args, **kwargs)
            self.end_phase("forward")
            self.in_backward = True
            try:
                return backward(*args, **kwargs)
            finally:
                self.in_backward = False
                self.end_phase("backward")
        autograd.backward = marked

    def record(self):
        try:
            self.torch.cuda.memory._record_memory_history(enabled="all", context="alloc", stacks="python", max_entries=HISTORY)
        except TypeError:  # an older PyTorch: without the list of tensors
            pass

    # what the program sees ----------------------------------------------------------------------------------------
    def index(self, device):
        if isinstance(device, int):
            return device
        index = None if device is None else self.torch.device(device).index
        return self.torch.cuda.current_device() if index is None else index

    def stats_for_the_program(self, device=None):
        stats = self.nested(device)
        for path, peak in self.since_reset.get(self.index(device), {}).items():
            at = stats
            for key in path:
                at = at.get(key, {})
            if "peak" in at:
                at["peak"] = max(at["peak"], peak)
        return stats

    def reset_by_the_program(self, device=None):
        self.note_peaks()
        self.since_reset.pop(self.index(device), None)
        return self.reset(device)

    # what is written ------------------------------------------------------------------------------------------------
    KINDS = {"allocated": ("allocated_bytes", "all"), "reserved": ("reserved_bytes", "all"), "active": ("active_bytes", "all"),
             "inactive_split": ("inactive_split_bytes", "all")}

    def note_peaks(self):
        """Peaks since the last reset, kept per device for the report and for the program; returns them by device."""
        cuda, found = self.torch.cuda, {}
        if not cuda.is_initialized():
            return found
        for device in range(cuda.device_count()):
            stats = self.nested(device)
            if not stats:
                continue
            kept, merged = self.highest.setdefault(device, {}), self.since_reset.setdefault(device, {})
            found[device] = {}
            for name, (group, pool) in self.KINDS.items():
                peak = stats[group][pool]["peak"]
                found[device][name] = peak
                kept[name] = max(kept.get(name, 0), peak)
            for group, pools in stats.items():
                for pool, values in pools.items() if isinstance(pools, dict) else ():
                    if isinstance(values, dict) and "peak" in values:
                        merged[(group, pool)] = max(merged.get((group, pool), 0), values["peak"])
            kept["retries"], kept["ooms"] = stats.get("num_alloc_retries", 0), stats.get("num_ooms", 0)
        return found

    def end_phase(self, phase):
        """Peaks since the last call are this phase's."""
        for device, peaks in self.note_peaks().items():
            kept = self.phases.setdefault(device, {}).setdefault(phase, {})
            for name, peak in peaks.items():
                kept[name] = max(kept.get(name, 0), peak)
            self.reset(device)

    def after_step(self, optimizer):
        self.end_phase("optimizer")
        self.counts[id(optimizer)] = count = self.counts.get(id(optimizer), 0) + 1
        if count <= len(self.steps):  # another optimizer of the same step
            return
        self.steps.append({device: {**{name: max(peaks[name] for peaks in phases.values()) for name in self.KINDS}, "phases": phases}
                           for device, phases in self.phases.items()})
        self.phases = {}
        launched = self.library.vgpu_launches()
        self.on_card, self.launched = self.on_card + (launched > self.launched), launched
        if len(self.steps) <= 3:
            self.note_addresses(optimizer)
        self.write()
        if self.last_step and len(self.steps) >= self.last_step:
            print(f"vramplan: stopped after {len(self.steps)} optimizer steps (--steps)", file=sys.stderr)
            raise SystemExit(0)

    def note_addresses(self, optimizer):
        """Where weights, gradients and states lie: weights and states stay there, gradients mostly."""
        tensor = self.torch.Tensor
        def note(kind, tensors):
            for t in tensors:
                t = getattr(t, "_local_tensor", t)  # of a DTensor
                if isinstance(t, tensor) and t.is_cuda:
                    try:
                        storage = t.untyped_storage()
                        self.addresses[storage.data_ptr()] = kind, storage.nbytes()
                    except (RuntimeError, NotImplementedError):  # a subclass without a storage of its own
                        pass
        if len(self.steps) == 1:
            note("weights", (o for o in gc.get_objects() if issubclass(type(o), self.torch.nn.Parameter)))
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        note("weights", parameters)
        note("gradients", (p.grad for p in parameters))
        note("optimizer states", (v for state in optimizer.state.values() for v in state.values()))

    def write(self, places=None, timeline=None):
        if not os.path.isdir(FOLDER):  # none, or the command has ended before this process
            return
        devices = [{"device": d, **kept, "steps": [s[d] for s in self.steps if d in s]} for d, kept in sorted(self.highest.items())]
        report = {"pid": os.getpid(), "torch": str(self.torch.__version__), "cuda_build": self.cuda_build,
                  "rank": int(os.environ.get("RANK", "0")), "world": int(os.environ.get("WORLD_SIZE", "1")), "steps": len(self.steps),
                  "steps_on_card": self.on_card, "ended": self.ended,
                  "out_of_memory": self.failed, "assumed": sorted(settled.ASSUMED), "devices": devices, "places": places or [], "timeline": timeline,
                  "reads": [{"place": place, "count": count} for place, count in sorted(READS.items(), key=lambda r: -r[1])[:20]]}
        path = os.path.join(FOLDER, f"{os.getpid()}.torch.json")
        with open(path + ".part", "w") as file:
            json.dump(report, file)
        os.replace(path + ".part", path)
        if self.library:
            self.library.vgpu_write_report()  # what a process that is killed had taken until its last step

    def at_exit(self):
        if os.getpid() != self.pid:  # a fork of the one that is watched
            return
        self.ended = True
        try:
            self.library.vgpu_on_zero_read(None)
            self.note_peaks()
            trace = self.trace()
            self.write(at_the_peak(trace, self.addresses), timeline(trace, self.addresses))
        except Exception as error:  # the program's own result must not depend on this
            print(f"vramplan: no report: {error!r}", file=sys.stderr)
        time.sleep(0.2)  # threads of the autograd engine may still free tensors, which PyTorch 2.15 does not outlive

    # what lived when, and which lines of the program made it -----------------------------------------------------------
    def trace(self):
        """Allocations and releases of the device that holds the most."""
        if not self.torch.cuda.is_initialized() or os.environ.get("VRAMPLAN_PLACES", "1") == "0":
            return []
        traces = self.torch.cuda.memory._snapshot()["device_traces"]
        device = max(self.highest, key=lambda d: self.highest[d].get("allocated", 0), default=0)
        return traces[device] if device < len(traces) else []


READS = {}


def note_read(size):
    """Where the program reads from the card, which answers zeros."""
    if settled.ASKED:
        return
    frames, frame = [], sys._getframe(1)
    while frame is not None and len(frames) < 60:
        frames.append({"filename": frame.f_code.co_filename, "line": frame.f_lineno, "name": frame.f_code.co_name})
        frame = frame.f_back
    place = place_of(frames)
    if place in READS or len(READS) < 1000:
        READS[place] = READS.get(place, 0) + 1


CUDA_BUILD, WATCHED = {}, []


def before_torch(spec):
    TORCH["folder"] = os.path.join(spec.submodule_search_locations[0], "")
    CUDA_BUILD["torch"] = tell_versions(spec.submodule_search_locations[0])


def after_torch(torch):
    WATCHED.append(Watch(torch, CUDA_BUILD["torch"]))
    WATCHED[0].start()


def tell_of_a_missed_import():
    """Something else executed torch's module: its counters were not read."""
    if "torch" in sys.modules and not WATCHED and FOLDER:
        with open(os.path.join(FOLDER, f"{os.getpid()}.torch.json"), "w") as file:
            json.dump({"pid": os.getpid(), "torch": str(getattr(sys.modules["torch"], "__version__", "")), "missed": True, "ended": True}, file)


sys.meta_path.insert(0, AtImport("torch", before_torch, after_torch))
for name, settle in settled.MODULES.items():
    sys.meta_path.insert(0, AtImport(name, lambda spec: None, settle))
atexit.register(tell_of_a_missed_import)
run_the_next_sitecustomize(__file__)
