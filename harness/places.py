"""Places in a library and in buffers, as the CUDA-on-CPU layer names them, as lines of the source and elements."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path

import numpy as np

from harness.build import Build, find_tool
from harness.problems import Problem

# The layer's own headers and the compiler's are no places that a user could mend.
OWN = Path(__file__).parent / "cudacpu"


@functools.lru_cache(maxsize=4096)
def line_at(library: Path, offset: int, source: Path) -> str:
    """ "file.cu:12" for an offset in the library of `source`, or ""."""
    addr2line = find_tool("addr2line")
    if addr2line is None:
        return ""
    # -i lists the functions inlined there, the innermost first: of an atomic, say, the layer's header.
    command = [addr2line, "-i", "-e", os.fspath(library), f"{offset:#x}"]
    output = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape").stdout
    elsewhere = ""
    for line in output.splitlines():
        name, _, number = line.split(" (")[0].rpartition(":")
        if not number.isdigit() or number == "0" or Path(name).is_relative_to(OWN):
            continue
        # The file itself, a header beside it, or, failing both, whatever it has included.
        if Path(name).is_relative_to(source.parent):
            return f"{Path(name).name}:{number}"
        elsewhere = elsewhere or f"{Path(name).name}:{number}"
    return elsewhere


@functools.lru_cache(maxsize=64)
def _symbols(library: Path) -> list[tuple[int, str]]:
    nm = find_tool("nm")
    if nm is None:
        return []
    command = [nm, "-C", "-n", "--defined-only", os.fspath(library)]
    output = subprocess.run(command, capture_output=True, text=True, errors="replace").stdout
    found = re.findall(r"^([0-9a-f]+) [bBdDuVvWw] (.+)$", output, re.MULTILINE)
    return [(int(address, 16), name) for address, name in found]


def variable_at(library: Path, offset: int) -> str:
    """The name of the variable at an offset in a library, or "" if it has no table of symbols."""
    before = [name for address, name in _symbols(library) if address <= offset]
    return before[-1] if before else ""


def explain(sentence: str, module: str, build: Build | None, problem: Problem) -> str:
    """A sentence of the layer (see judge.h there) with lines, names of variables and elements of buffers in it."""

    def element(match: re.Match) -> str:
        at, index = int(match[1]), int(match[2])
        if index >= len(problem.buffers):
            return match[0]
        parameter = problem.buffers[index]
        return f"{parameter.name}[{at // np.dtype(parameter.dtype).itemsize}]"

    ours = build is not None and module == os.fspath(build.shared_object.absolute())

    def line(match: re.Match) -> str:
        found = line_at(build.shared_object, int(match[1], 16), build.source) if build and ours else ""
        return f" at {found}" if found else ""

    def variable(match: re.Match) -> str:
        found = variable_at(build.shared_object, int(match[1], 16)) if build and ours else ""
        return found or "(its name is not known)"

    sentence = re.sub(r"\bbyte (\d+) of buffer (\d+)\b", element, sentence)
    sentence = re.sub(r"\$0x([0-9a-f]+)", variable, sentence)
    return re.sub(r" at @0x([0-9a-f]+)", line, sentence)
