#!/usr/bin/env python3
"""Hold data/virtualgpu/calls.inc against the headers of CUDA that lie beside a PyTorch: does every answer go where the call expects one?

    scripts/rehearsal/check_calls.py PYTHON

Exit status 5 when a place is not a pointer of the right kind, or a call that gives something is taken to give nothing.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CALL = re.compile(r"\b((?:p?nccl|cu|cuda|cublas|cudnn|cufft|curand|cusolver|cusparse)\w*)\s*\(([^;{}]*?)\)\s*(?:__attribute__[^;]*|CU\w*)*;")
WORKSPACES = {"NO_BYTES": (r"size_t ?\*", 1), "NO_BYTES_TWICE": (r"size_t ?\*", 2), "NO_COUNT": (r"int ?\*", 1)}
GIVES = re.compile(r"(?!const\b)[\w ]+\*+ ?\w*(workSize|[bB]ufferSize\w*|[nN]umBlocks|pitch|Handle|phGraph\w*|pGraph\w*)$|void ?\*\* ?\w*[pP]tr$")
NOTHING_EXPECTED = {"cufftXtSetWorkAreaPolicy"}  # reads its size


def prototypes(folder):
    found = {}
    for header in sorted(folder.glob("*/include/*.h")):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(errors="replace"), flags=re.S)
        for name, parameters in CALL.findall(text):
            each = [" ".join(p.split()) for p in re.split(r",(?![^()]*\))", parameters)]
            if len(each) >= len(found.get(name, [])):
                found[name] = each
    return found


def counted(parameters):
    """Those that are passed like pointers: floats are elsewhere."""
    return [p for p in parameters if "*" in p or not re.match(r"(const )?(float|double|cuComplex|cuDoubleComplex)\b", p)]


def wrong(word, name, numbers, parameters):
    """None, or what is."""
    each = counted(parameters)
    if word in ("HANDLE", "NUMBER") and "*" not in parameters[0]:
        return "its first parameter is no pointer"
    if word in ("SUCCEED", "LAUNCH") and name not in NOTHING_EXPECTED:
        return next((f"it gives {p}" for p in parameters if GIVES.match(p)), None)
    if not numbers:
        return None
    kind, times = WORKSPACES.get(word, (r".*\*", 1))
    for i in range(numbers[0], numbers[0] + times):
        if i > len(each) or not re.match(kind, each[i - 1]):
            return f"parameter {i} is {each[i - 1] if i <= len(each) else 'not there'}"
    return None


def main():
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    known = prototypes(pathlib.Path(subprocess.run([sys.argv[1], "-c", ask], capture_output=True, text=True, check=True).stdout.strip()) / "nvidia")
    if not known:
        print("calls: skipped, no headers of CUDA beside this PyTorch")
        return 0
    checked = failed = 0
    for word, name, numbers in re.findall(r"^(\w+)\((\w+)((?:, \d+)*)\)$", (ROOT / "data/virtualgpu/calls.inc").read_text(), flags=re.M):
        if name not in known:
            continue
        checked += 1
        fault = wrong(word, name, [int(n) for n in re.findall(r"\d+", numbers)], known[name])
        if fault:
            failed += 1
            print(f"calls: {word}({name}{numbers}): {fault}")
    print(f"calls: {checked} of the virtual GPU's stubs held against headers, {failed} wrong")
    return 5 if failed else 0


sys.exit(main())
