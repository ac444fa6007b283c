"""Writes a file to start a solve from: the signature, a kernel that does nothing yet, and how to judge it."""

from __future__ import annotations

import shlex
from pathlib import Path

from harness.errors import UsageError
from harness.problems import Problem
from harness.signature import C_HEADERS, Parameter, c_declaration
from harness.submission import as_argument

SUFFIXES = {"cuda": ".cu", "triton": ".py"}

ROLES = {
    "in": "read it, leave it as it is",
    "out": "write every element",
    "inout": "holds an input, and afterwards the answer",
    "scalar": "a number",
    "object": "as the challenge makes it",
}


def write_starter(problem: Problem, language: str, target: Path | None) -> Path:
    """The path of a new file for `problem` in "cuda" or "triton". Raises UsageError where it cannot be written."""
    target = target or Path(f"{problem.name}{SUFFIXES[language]}")
    if target.suffix != SUFFIXES[language]:
        raise UsageError(f"{target}: a file in this language ends in {SUFFIXES[language]}")
    if problem.challenge and language in problem.challenge.unsupported:
        raise UsageError(f"{problem.name}: {problem.challenge.unsupported[language]}")
    text = (_cuda if language == "cuda" else _triton)(problem, target)
    try:
        with open(target, "x") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{target} exists: name another file with -o") from None
    except OSError as error:
        raise UsageError(f"{target} cannot be written ({error.strerror}): name another file with -o") from None
    return target


def _head(problem: Problem, target: Path, mark: str) -> str:
    """What the solve is for, in comments that begin with `mark`."""
    named = [] if problem.challenge else [f"problem: {problem.name}"]
    flags = shlex.join(problem.flags) if problem.challenge else ""
    command = f"python -m harness check {shlex.quote(as_argument(target))} {flags}".strip()
    lines = [*named, f"{problem.summary}: {command}", "", *(_described(p) for p in problem.parameters)]
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in lines)


def _described(parameter: Parameter) -> str:
    what = f"{parameter.dtype}, " if parameter.role != "object" else ""
    return f"  {parameter.name}: {what}{ROLES[parameter.role]}"


def _cuda(problem: Problem, target: Path) -> str:
    headers = ["cuda_runtime.h", *(C_HEADERS[p.dtype] for p in problem.parameters if p.dtype in C_HEADERS)]
    includes = "".join(f"#include <{header}>\n" for header in dict.fromkeys(headers))
    declared = ", ".join(p.c_text for p in problem.parameters)
    passed = ", ".join(p.name for p in problem.parameters)
    return f"""\
{_head(problem, target, "//")}
{includes}
__global__ void kernel({declared}) {{
    // This thread's number: blockIdx.x * blockDim.x + threadIdx.x.
}}

extern "C" {c_declaration(problem.parameters)} {{
    const int threads = 256, blocks = 1;
    kernel<<<blocks, threads>>>({passed});
    cudaDeviceSynchronize();
}}
"""


def _triton(problem: Problem, target: Path) -> str:
    tensors = [p for p in problem.parameters if p.is_buffer]
    output = next(p.name for p in tensors if p.role != "in")
    kernel_parameters = [*(f"{p.name}_pointer" for p in tensors), "count", "BLOCK: tl.constexpr"]
    passed = [*(p.name for p in tensors), "count", "BLOCK=1024"]
    annotations = {"scalar": "float | int", "object": "torch.nn.Module"}
    declared = [f"{p.name}: {annotations.get(p.role, 'torch.Tensor')}" for p in problem.parameters]
    return f"""\
{_head(problem, target, "#")}
import torch
import triton
import triton.language as tl


@triton.jit
def kernel({", ".join(kernel_parameters)}):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count  # noqa: F841  the mask for tl.load and tl.store


def solve({", ".join(declared)}) -> None:
    count = {output}.numel()
    kernel[(triton.cdiv(count, 1024),)]({", ".join(passed)})
"""
