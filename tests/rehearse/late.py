"""Two steps on a stand-in for PyTorch that is looked up, imported, found or run in the ways that the first word tells."""
import importlib.metadata
import importlib.util
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
if HERE not in sys.path[:1]:
    sys.path.insert(0, HERE)
sys.path.append(os.path.join(HERE, "stub"))  # python -I has no PYTHONPATH
MIB = 1 << 20


def steps(on_card=True):
    import torch
    weights = torch.nn.Parameter(8 * MIB if on_card else 0)
    optimizer = torch.optim.optimizer.Optimizer([weights])
    for _ in range(2):
        if on_card:
            torch.cuda.Tensor(4 * MIB)
        optimizer.step()


def looked_up():
    for _ in range(3):
        assert importlib.util.find_spec("torch") is not None
    try:
        importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        pass
    assert "torch" not in sys.modules
    assert importlib.util.find_spec("torch").loader.get_filename("torch").endswith("__init__.py")
    steps()


def reloaded():
    import torch
    assert "vramplan" not in type(torch.__loader__).__module__ and torch.__loader__ is torch.__spec__.loader
    importlib.reload(torch)
    steps()


def fails_at_first():
    os.environ["STUB_TORCH_FAILS"] = "1"
    try:
        import torch  # noqa: F401
        raise AssertionError("the stand-in did not fail")
    except ImportError:
        del os.environ["STUB_TORCH_FAILS"]
    steps()


def past_the_hook():
    import importlib.machinery
    spec = importlib.machinery.PathFinder.find_spec("torch", sys.path)
    sys.modules["torch"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["torch"])
    steps()


def spawned(method="spawn"):
    import multiprocessing
    child = multiprocessing.get_context(method).Process(target=steps)
    child.start()
    child.join()
    assert child.exitcode == 0


def forked_after_import():
    import torch  # noqa: F401
    spawned("fork")


def killed():
    steps()
    os.kill(os.getpid(), signal.SIGKILL)


def without_steps():
    import torch
    torch.cuda.Tensor(4 * MIB)


WAYS = {"plain": steps, "looked-up": looked_up, "reloaded": reloaded, "fails-at-first": fails_at_first, "past-the-hook": past_the_hook,
        "spawned": spawned, "forked": lambda: spawned("fork"), "forked-after-import": forked_after_import, "forkserver": lambda: spawned("forkserver"), "killed": killed,
        "hard-exit": lambda: (steps(), os._exit(0)), "without-steps": without_steps, "on-the-cpu": lambda: steps(on_card=False)}

if __name__ == "__main__":
    WAYS[sys.argv[1]]()
