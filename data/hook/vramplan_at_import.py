"""Stands beside a sitecustomize.py of ours, which Python runs before a program: waits for the import of a module, and then
runs the sitecustomize.py that ours hides."""
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


class AtImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Waits for the import of one module, and steps in before and after it."""

    def __init__(self, name, before, after):
        self.name, self.before, self.after = name, before, after

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        self.before(spec)
        self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.after(module)


def run_the_next_sitecustomize(ours):
    """The one that file `ours` hides, if there is any: the first in the folders of sys.path after its own."""
    here = os.path.dirname(os.path.abspath(ours))
    folders = [os.path.abspath(p or ".") for p in sys.path]
    rest = sys.path[folders.index(here) + 1:] if here in folders else sys.path
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
