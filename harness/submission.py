"""A solve file as the user named it: which language it is in, which problems it answers."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError
from harness.problems import Problem, find_problem
from harness.signature import DEFAULT_PROBLEM, problems_named_in

LANGUAGES = {".cu": "cuda", ".py": "python"}

# What LeetGPU takes and this judge does not run: by suffix, and by what a Python file imports.
FOREIGN_SUFFIXES = {".mojo": "Mojo", ".🔥": "Mojo"}
FOREIGN_MODULES = {"jax": "JAX", "cutlass": "CuTe", "tinygrad": "tinygrad"}


@dataclass(frozen=True)
class Submission:
    """One file for one problem. `tree` is the source tree whose build/ holds its library, None for other files."""

    path: Path
    problem: Problem
    tree: Path | None = None

    @property
    def language(self) -> str:
        return LANGUAGES[self.path.suffix]

    @property
    def unsupported(self) -> str:
        """Why no backend runs such a file, or ""."""
        if self.language == "python":
            source = self.path.read_text(encoding="utf-8", errors="replace")
            found = re.search(rf"^(?:import|from)\s+({'|'.join(FOREIGN_MODULES)})\b", source, re.MULTILINE)
            if found:
                line = source.count("\n", 0, found.start(1)) + 1
                return f"line {line}: {FOREIGN_MODULES[found[1]]} is not run here, only CUDA C++, Triton and PyTorch"
        return self.problem.challenge.unsupported.get(self.language, "") if self.problem.challenge else ""

    @property
    def source_hash(self) -> str:
        """Of what is in the file now; "" where it has gone."""
        if not self.path.exists():
            return ""
        with open(self.path, "rb") as file:  # in parts: it may have any size
            return hashlib.file_digest(file, "sha256").hexdigest()


def read_submissions(
    path: Path, problem_name: str | None, tree: Path | None = None, challenge: Problem | None = None
) -> list[Submission]:
    """The submissions of a file, one for each problem it names; with a challenge, whatever it names, the one for that.

    Raises UsageError if it cannot be judged at all.
    """
    shown = os.fsencode(path).decode("utf-8", "replace")
    if any(character < " " for character in str(path)):
        raise UsageError(f"{shown!r} has a control character in its name: rename it, since compilers do not take that")
    if path.is_dir():
        raise UsageError(f"{shown} is a directory: name the .cu or .py files to judge")
    if not path.exists():
        raise UsageError(f"{shown} does not exist: name a .cu or .py file")
    if path.suffix in FOREIGN_SUFFIXES:
        raise UsageError(f"{shown}: {FOREIGN_SUFFIXES[path.suffix]} is not run here, only CUDA C++, Triton and PyTorch")
    if path.suffix not in LANGUAGES:
        raise UsageError(f"{shown} is neither CUDA C++ nor Python: a solve file ends in .cu or .py")
    if not path.is_file() or not os.access(path, os.R_OK):
        raise UsageError(f"{shown} cannot be read: make it a readable file")
    if challenge:
        return [Submission(path, challenge)]
    names = (problem_name,) if problem_name is not None else problems_named_in(path) or (DEFAULT_PROBLEM,)
    try:
        # The tree's library was built with the signature of the first problem that the file names.
        return [Submission(path, find_problem(name), tree if name == names[0] else None) for name in names]
    except UsageError as error:
        raise UsageError(f"{shown}: {error}") from None


def find_files(named: Sequence[Path], folders: Sequence[Path]) -> list[Path]:
    """The files that were named, those that patterns such as 'a*.cu' match, and all .cu and .py files below folders.

    What a pattern or a folder gives is in the order of its names, without what is hidden, and no file comes twice that
    way. Raises UsageError for a pattern or a folder that gives nothing.
    """
    files: list[Path] = []

    def add(found: Iterable[Path], where: str) -> None:
        solves = [p for p in sorted(found) if p.suffix in LANGUAGES and p.is_file()]
        if not solves:
            raise UsageError(f"{os.fsencode(where).decode('utf-8', 'replace')} holds no .cu or .py file")
        files.extend(p for p in solves if p not in files)

    for path in named:
        if glob.has_magic(str(path)) and not path.exists():
            add(map(Path, glob.glob(str(path), recursive=True)), f"the pattern {path}")
        else:
            files.append(path)
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"--folder {folder} is no directory: name one that holds .cu and .py files")
        below = folder.rglob("*")
        add((p for p in below if not any(n.startswith(".") for n in p.relative_to(folder).parts)), f"--folder {folder}")
    return files


def source_tree() -> Path:
    """The checkout that holds cuda/ and triton_solutions/: beside the package, else the working directory."""
    for root in (Path(__file__).parent.parent, Path.cwd()):
        if all((root / name).exists() for name in ("CMakeLists.txt", "cuda", "triton_solutions")):
            return root
    raise UsageError("there are no bundled solves here: name files (python -m harness submit FILE), or use a checkout")


def bundled_submissions() -> list[Submission]:
    """Every solve that lies in cuda/ and triton_solutions/ of the source tree."""
    root = source_tree()
    paths = sorted(root.glob("cuda/*.cu")) + sorted(root.glob("triton_solutions/*.py"))
    return [s for path in paths for s in read_submissions(as_typed(path), None, root)]


def as_typed(path: Path) -> Path:
    """Relative to the working directory where it lies below it: what a user would type."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def as_argument(path: Path | str) -> str:
    """A path as a word of a command, which a name that begins with a dash alone is not."""
    return f"./{path}" if str(path).startswith("-") else str(path)
