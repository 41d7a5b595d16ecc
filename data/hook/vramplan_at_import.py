"""Stands beside a sitecustomize.py of ours, which Python runs before a program: waits until a module is really imported, and
runs the sitecustomize.py that ours hides."""
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


class AtImport(importlib.abc.MetaPathFinder):
    """Steps in before and after one module is first executed, and then goes. Until then it stays, however often the module is
    only looked up (transformers, peft and accelerate do that before they import it)."""

    def __init__(self, name, before, after):
        self.name, self.before, self.after = name, before, after
        self.begun = False

    def find_spec(self, name, path=None, target=None):
        if name != self.name or self.begun:
            return None
        spec = self.found_by_others(path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = Loader(spec.loader, self)
        return spec

    def found_by_others(self, path, target):
        """By the finders that come after this one: another of the same kind, at the same module, asks those after itself."""
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 if self in sys.meta_path else 0:]:
            spec = finder.find_spec(self.name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                return spec
        return None

    def execute(self, loader, module):
        for holder, attribute in ((module, "__loader__"), (getattr(module, "__spec__", None), "loader")):
            if isinstance(getattr(holder, attribute, None), Loader):
                setattr(holder, attribute, loader)
        if self.begun:  # looked up before, executed again: importlib.reload, or by a thread that came second
            loader.exec_module(module)
            return
        self.begun = True
        try:
            self.before(module.__spec__)
            loader.exec_module(module)
        except BaseException:  # a program may catch that, and try again
            self.begun = False
            raise
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self.after(module)


class Loader(importlib.abc.Loader):
    """A module's own loader, in all but the execution."""

    def __init__(self, loader, hook):
        self.loader, self.hook = loader, hook

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.hook.execute(self.loader, module)

    def __getattr__(self, name):
        if name in ("loader", "hook"):  # being copied or unpickled
            raise AttributeError(name)
        return getattr(self.loader, name)


def run_the_next_sitecustomize(ours):
    """The one that file `ours` hides, if there is any: the first in the folders of sys.path after its own."""
    here = os.path.dirname(os.path.abspath(ours))
    folders = [os.path.abspath(p or ".") for p in sys.path]
    rest = sys.path[folders.index(here) + 1:] if here in folders else sys.path
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
