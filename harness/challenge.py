"""A directory in the LeetGPU challenge format as a Problem. Its code runs in challenge_process, never in the judge.

A case's sizes are all its scalars, whatever their types, and the extents of its buffers: "A[0]" is that of A's first
axis, the key of an object (see challenge_process) stands under its name. So shapes follow from the sizes, as in the
built-in problems. The cases themselves are the challenge's: fixed lists, made after torch's seed was set to ours.
"""

from __future__ import annotations

import difflib
import functools
import json
import math
import os
import re
import selectors
import subprocess
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.challenge_process import WIDE, object_key, receive, send
from harness.check import Check, Published, check_published
from harness.errors import NoReference, UsageError
from harness.layout import Layout
from harness.problems import Arrays, Case, Challenge, Problem, Shape, Sizes, again
from harness.signature import C_TYPES, Parameter

ANSWER_SECONDS = 120.0

# Cases with more elements than this are for a GPU, unless the challenge has no smaller ones: a CPU that emulates one
# takes too long for them.
CPU_ELEMENTS = 1 << 20
AGAIN_ELEMENTS = 1 << 16  # the largest case that is run a second time, for a solve that is not the same twice

DIRECTORY_NAME = re.compile(r"(\d+)_(.+)")


class ChallengeHost:
    """A process that runs challenges' code, started when it is first asked and again when it has ended."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="solve-judge-challenge-")
        self._process: subprocess.Popen | None = None

    def ask(
        self, directory: Path, operation: str, arrays: Arrays | None = None, **fields: object
    ) -> tuple[dict, Arrays]:
        """The answer to a request. Raises UsageError where the challenge's code fails, NoReference where it hangs."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        request = {"op": operation, "directory": str(directory), **fields}
        try:
            send(self._requests, request, arrays or {})
        except BrokenPipeError:
            raise UsageError(self._how_it_ended(directory, operation)) from None
        with selectors.DefaultSelector() as selector:
            selector.register(self._replies, selectors.EVENT_READ)
            if not selector.select(ANSWER_SECONDS):
                self.close()
                what = "its reference" if operation == "reference" else "making its test cases"
                raise NoReference(f"{directory}: {what} took longer than {ANSWER_SECONDS:.0f} s")
        received = receive(self._replies)
        if received is None:
            raise UsageError(self._how_it_ended(directory, operation))
        reply, results = received
        if "fault" in reply:
            raise UsageError(_printable(reply["fault"]))
        return reply, results

    def _start(self) -> None:
        theirs_read, ours_write = os.pipe()
        ours_read, theirs_write = os.pipe()
        environment = dict(os.environ)
        root = str(Path(__file__).parent.parent)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        self._log = Path(self.folder.name) / "output"
        with open(self._log, "wb") as log:
            pipes = [str(theirs_read), str(theirs_write)]
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "harness.challenge_process", *pipes, self.folder.name],
                pass_fds=[theirs_read, theirs_write],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is the judge's to handle; it ends when its pipe is closed
            )
        os.close(theirs_read)
        os.close(theirs_write)
        self._requests, self._replies = os.fdopen(ours_write, "wb"), os.fdopen(ours_read, "rb")
        self._finalizer = weakref.finalize(self, _end, self._process, self._requests, self._replies)

    def _how_it_ended(self, directory: Path, operation: str) -> str:
        self.close()
        last = self._log.read_text(errors="replace").strip().splitlines()[-1:]
        words = _printable(last[0]) if last else "no message"
        return f"{directory}: the process of the challenge ended during {operation}: {words}"

    def close(self) -> None:
        if self._process is not None:
            self._finalizer()
            self._process = None


def _end(process: subprocess.Popen, *pipes: object) -> None:
    process.kill()
    process.wait()
    for pipe in pipes:
        try:
            pipe.close()
        except BrokenPipeError:  # what was not sent any more
            continue


# ---- finding ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a challenge lies in a checkout: root/difficulty/number_name."""

    directory: Path
    number: int
    name: str

    @property
    def difficulty(self) -> str:
        return self.directory.parent.name


def find_all(root: Path) -> list[Place]:
    """The challenges below a checkout or its folder `challenges`, by number. Raises UsageError where there are none."""
    if not root.is_dir():
        raise UsageError(f"{root} is no directory: --challenges names a checkout of challenges")
    files = [*root.glob("*/*/challenge.py"), *root.glob("challenges/*/*/challenge.py"), *root.glob("*/challenge.py")]
    matches = [(path.parent, DIRECTORY_NAME.fullmatch(path.parent.name)) for path in files]
    places = [Place(directory, int(match[1]), match[2]) for directory, match in matches if match]
    if not places:
        raise UsageError(f"{root} holds no challenges: there is no DIFFICULTY/NUMBER_NAME/challenge.py in it")
    return sorted(places, key=lambda place: (place.number, place.name))


def find_directory(wanted: str, root: Path | None) -> Path:
    """The directory of a challenge named by its path, or, with a checkout, by number or name. Raises UsageError."""
    if root is None:
        path = Path(wanted)
        if path.name == "challenge.py":
            path = path.parent
        if not path.exists():
            hint = "" if os.sep in wanted else "; for a name or a number say with --challenges where the checkout is"
            raise UsageError(f"{wanted} does not exist: --challenge names a directory that holds a challenge.py{hint}")
        if not (path / "challenge.py").is_file():
            raise UsageError(f"{wanted} holds no challenge.py: --challenge names a directory that does")
        return path
    places = find_all(root)
    found = [p for p in places if wanted in (str(p.number), p.name, p.directory.name)]
    if len(found) > 1:
        raise UsageError(f"{wanted!r} is several challenges: {', '.join(str(p.directory) for p in found)}")
    if not found:
        near = difflib.get_close_matches(wanted, [p.name for p in places], n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UsageError(f"{root} has no challenge {wanted!r}: python -m harness problems --challenges {root}{hint}")
    return found[0].directory


# ---- loading ----------------------------------------------------------------------------------------------------


def load_challenge(directory: Path, host: ChallengeHost | None = None) -> Problem:
    """The problem of a challenge's directory. Raises UsageError where its code does not do what it should."""
    host = host or ChallengeHost()
    directory = directory.absolute()
    return _Loader(directory, host).problem()


class _Loader:
    """Asks the challenge's process; what a Problem of it calls."""

    def __init__(self, directory: Path, host: ChallengeHost) -> None:
        self.directory = directory
        self.host = host
        self.describe = functools.cache(self._describe)
        self.object_file = functools.cache(self._object_file)
        about = self.describe(0)
        self.parameters = tuple(Parameter(**entry) for entry in about["parameters"])
        self.buffers = [p for p in self.parameters if p.is_buffer]
        self.outputs = [p for p in self.buffers if p.role != "in"]
        self.rule = Published(about["atol"], about["rtol"])
        unknown = [p for p in self.parameters if p.role != "object" and p.dtype not in C_TYPES]
        if unknown:
            raise UsageError(f"{directory}: {unknown[0].name} is of the type {unknown[0].dtype}, which the judge lacks")
        if not self.outputs:
            raise UsageError(f"{directory}: its signature has no output")

    def _describe(self, seed: int) -> dict:
        try:
            return self.host.ask(self.directory, "describe", seed=seed)[0]
        except NoReference as error:
            raise UsageError(str(error)) from None

    def problem(self) -> Problem:
        about = self.describe(0)
        own = self.made(0)
        timing = [replace(case, group="timing", name=f"{case.name}/timing") for case in own if _is_performance(case)]
        small = max((case for case in own if case.group == "main"), key=lambda case: self.elements(case.sizes))
        emulated = replace(small, group="timing", name=f"{small.name}/timing")
        scalars = [p.name for p in self.parameters if p.role == "scalar" and np.dtype(p.dtype).kind in "iu"]
        dimensions = tuple(scalars or [key for key in small.sizes if "[" in key])
        by_shape = {tuple(case.sizes[name] for name in dimensions): case for case in (emulated, *timing)}

        def timing_case(*shape: int) -> Case:
            if shape not in by_shape:
                known = " or ".join("x".join(map(str, each)) for each in by_shape)
                raise UsageError(f"{self.directory.name} is timed at its own sizes: leave --sizes out, or say {known}")
            return by_shape[shape]

        def shape_of(case: Case) -> Shape:
            return tuple(case.sizes[name] for name in dimensions)

        reference, copied = self.write_solves()
        return Problem(
            name=self.directory.name,
            summary=_printable(about["title"]),
            version=zlib.crc32((self.directory / "challenge.py").read_bytes()),
            parameters=self.parameters,
            cases=self.cases,
            dimensions=dimensions,
            timing_shapes=tuple(shape_of(case) for case in timing),
            emulated_shapes=(shape_of(emulated),),
            timing_case=timing_case,
            layouts=self.layouts,
            fill=lambda case, _: self.fill(case),
            reference=self.reference,
            check=self.check,
            ideal_bytes=self.ideal_bytes,
            reference_solve=reference,
            reference_label=f"{self.directory.name} reference",
            copy_solve=copied,
            challenge=Challenge(self.directory, self.unsupported(about["gpus"]), self.objects),
        )

    def unsupported(self, gpus: int) -> dict[str, str]:
        if gpus > 1:
            return dict.fromkeys(("cuda", "python"), f"the challenge asks for {gpus} GPUs: the judge runs one")
        objects = [p.name for p in self.parameters if p.role == "object"]
        return {"cuda": f"{objects[0]} is a Python object: only a Python solve can take it"} if objects else {}

    def write_solves(self) -> tuple[Path, Path]:
        """The files of the reference row and of the ceiling."""
        names, roles = (tuple(getattr(p, field) for p in self.parameters) for field in ("name", "role"))
        folder = Path(self.host.folder.name)
        stem = f"{self.directory.name}-{zlib.crc32(os.fsencode(self.directory)):08x}"
        reference, copied = folder / f"{stem}.py", folder / f"{stem}-copy.py"
        head = "from harness.challenge_process import copy_solve, reference_solve\n\n"
        reference.write_text(f"{head}solve = reference_solve({str(self.directory)!r}, {names!r})\n")
        copied.write_text(f"{head}solve = copy_solve({roles!r})\n")
        return reference, copied

    # -- cases

    def made(self, seed: int) -> list[Case]:
        """The challenge's own cases, in its order, with outputs full of the two poisons in turns."""
        described = self.describe(seed)["cases"]
        all_sizes = [self.sizes(entry, seed) for entry in described]
        elements = [self.elements(sizes) for sizes in all_sizes]
        ordinary = [n for n, entry in zip(elements, described, strict=True) if entry["which"] != "performance"]
        if not ordinary:
            raise UsageError(f"{self.directory}: it has no test cases but for performance")
        limit = max(CPU_ELEMENTS, 2 * min(ordinary))
        cases = []
        for position, (entry, sizes) in enumerate(zip(described, all_sizes, strict=True)):
            which, index = entry["which"], entry["index"]
            group = "gpu" if which == "performance" or elements[position] > limit else "main"
            number = f"-{index + 1}" if which == "functional" or index else ""
            said = ",".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                            for name, value in entry["scalars"].items())  # fmt: skip
            name = f"{which}{number}/{said}".rstrip("/")
            cases.append(Case(name, group, sizes, which, json.dumps([seed, which, index]), position % 2))
        return cases

    def cases(self, seed: int) -> list[Case]:
        cases = self.made(seed)
        repeatable = [c for c in cases if c.group == "main" and self.elements(c.sizes) <= AGAIN_ELEMENTS]
        largest = sorted(repeatable, key=lambda case: self.elements(case.sizes))[-2:]
        return [*cases, *(again(case) for case in largest)]

    def sizes(self, entry: dict, seed: int) -> dict[str, int | float]:
        found: dict[str, int | float] = {}
        for parameter in self.parameters:
            name = parameter.name
            if parameter.role == "scalar":
                value = entry["scalars"][name]
                is_whole = np.dtype(parameter.dtype).kind in "iu" and float(value).is_integer()
                found[name] = int(value) if is_whole else value
            elif parameter.role == "object":
                found[name] = object_key(seed, entry["which"], entry["index"])
            else:
                found |= {f"{name}[{axis}]": extent for axis, extent in enumerate(entry["shapes"][name])}
        return found

    def layouts(self, sizes: Sizes) -> dict[str, Layout]:
        return {p.name: Layout(tuple(_extents(p.name, sizes))) for p in self.buffers}

    def elements(self, sizes: Sizes) -> int:
        return max(math.prod(_extents(p.name, sizes)) for p in self.buffers)

    def ideal_bytes(self, sizes: Sizes) -> int:
        """Every input read once, every output written once, an inout both."""
        times = {"in": 1, "out": 1, "inout": 2}
        layouts = self.layouts(sizes)
        return sum(times[p.role] * layouts[p.name].length * np.dtype(p.dtype).itemsize for p in self.buffers)

    def fill(self, case: Case) -> Arrays:
        seed, which, index = json.loads(case.contents)
        _, arrays = self.host.ask(self.directory, "inputs", seed=seed, which=which, index=index)
        layouts = self.layouts(case.sizes)
        for name, array in arrays.items():
            if array.shape != layouts[name].shape:
                raise UsageError(f"{self.directory}: {name} of {case.name} is not of the same shape every time")
        return {name: array.reshape(-1) for name, array in arrays.items()}

    # -- answers

    def reference(self, inputs: Arrays, sizes: Sizes) -> Arrays:
        """What the reference leaves in the outputs, and, under another name, in float64 where that is possible."""
        layouts = self.layouts(sizes)
        arrays = {name: layouts[name].payload(array) for name, array in inputs.items()}
        scalars = {p.name: sizes[p.name] for p in self.parameters if p.role == "scalar"}
        objects = {p.name: sizes[p.name] for p in self.parameters if p.role == "object"}
        return self.host.ask(self.directory, "reference", arrays, scalars=scalars, objects=objects)[1]

    def check(self, inputs: Arrays, outputs: Arrays, reference: Arrays, poison: Arrays) -> Check:
        """The outputs one after the other: the first that is wrong, else the one with the largest error."""
        checks = []
        for name in (p.name for p in self.outputs):
            wide = reference.get(f"{name}{WIDE}")
            checks.append(check_published(name, outputs[name], reference[name], wide, poison[name], self.rule))
        wrong = [check for check in checks if not check.passed]
        differences = "; ".join(check.difference for check in checks if check.difference)
        return replace(wrong[0] if wrong else max(checks, key=lambda check: check.ratio), difference=differences)

    def objects(self, sizes: Sizes) -> dict[str, str]:
        return {p.name: self.object_file(p.name, sizes[p.name]) for p in self.parameters if p.role == "object"}

    def _object_file(self, name: str, key: int) -> str:
        path = Path(self.host.folder.name) / f"{self.directory.name}-{name}-{key}.pt"
        self.host.ask(self.directory, "save_object", name=name, key=key, path=str(path))
        return str(path)


def _printable(text: str) -> str:
    """Foreign words without what could harm a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def _is_performance(case: Case) -> bool:
    return case.kind == "performance"


def _extents(name: str, sizes: Sizes) -> Iterator[int]:
    axis = 0
    while (key := f"{name}[{axis}]") in sizes:
        yield int(sizes[key])
        axis += 1
