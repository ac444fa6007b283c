"""Judges submissions on a Ray cluster, one a task: its sources travel; a task whose node dies is done by another."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from harness import gpu
from harness.backend import Backend
from harness.build import cache_directory
from harness.errors import UsageError
from harness.judge import Judged, Session, judge_one
from harness.locks import locked
from harness.pool import ATTEMPTS, Lost
from harness.pool_process import Setup
from harness.problems import Problem, find_problem
from harness.progress import Progress
from harness.rows import Row
from harness.submission import Submission

EMBEDDED = "local"  # as an address: Ray is started here, for this run
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Parcel:
    """A submission with all that it is made of: files by their place below the folder of the first."""

    path: Path  # as it was named to the judge
    files: dict[str, bytes]  # the solve itself first
    problem: str
    challenge: tuple[Path, dict[str, bytes]] | None


def pack(submission: Submission) -> Parcel:
    """Raises UsageError if the file includes one that lies outside its folder."""
    folder = submission.path.absolute().parent
    files: dict[str, bytes] = {}
    waiting = [submission.path.name]
    while waiting:
        name = waiting.pop()
        files[name] = (folder / name).read_bytes()
        for match in INCLUDE.finditer(files[name]) if submission.language == "cuda" else ():
            included = os.path.normpath(PurePath(name).parent / os.fsdecode(match[1]))
            if included in files or not (folder / included).is_file():
                continue  # a header of the system's, or one that is not there: the compiler says so
            if included.startswith(".."):
                raise UsageError(f"{submission.path} includes {included}: with --ray only what lies beside it travels")
            waiting.append(included)
    challenge = None
    if submission.problem.challenge:
        directory = submission.problem.challenge.directory
        below = {p.name: p.read_bytes() for p in sorted(directory.iterdir()) if p.is_file()}
        challenge = (directory, below)
    return Parcel(submission.path, files, submission.problem.name, challenge)


def unpack(parcel: Parcel, folder: Path) -> tuple[Submission, dict[str, str]]:
    """The submission in a folder of this machine, and what its paths are to be called in words: as they were there."""
    for name, contents in parcel.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(contents)
    path = folder / next(iter(parcel.files))
    names = {os.fspath(path): os.fspath(parcel.path)}
    problem: Problem
    if parcel.challenge:
        from harness.challenge import load_challenge

        directory, files = parcel.challenge
        here = folder / "challenge" / directory.name
        here.mkdir(parents=True, exist_ok=True)
        for name, contents in files.items():
            (here / name).write_bytes(contents)
        problem = load_challenge(here)
        names[os.fspath(here)] = os.fspath(directory)
    else:
        problem = find_problem(parcel.problem)
    return Submission(path, problem), names


def renamed(row: Row, names: dict[str, str]) -> Row:
    """The row with every path called what it was called where the submission comes from."""

    def words(text: str) -> str:
        for here, there in names.items():
            text = text.replace(shlex.quote(here), shlex.quote(there)).replace(here, there)
        return text

    cases = [replace(case, message=words(case.message), replay=words(case.replay)) for case in row.cases]
    warnings = [words(warning) for warning in row.warnings]
    return replace(row, file=words(row.file), message=words(row.message), warnings=warnings, cases=cases)


MODEL = "accelerator_type:"  # how Ray begins the name of a resource that nodes with a model of GPU have
SOME_OF_A_MODEL = 0.001  # as Ray asks for one itself


def model_needed(name: str, there: dict[str, float]) -> dict[str, float]:
    """What a task for the GPU `name` needs of a cluster's resources, as {"accelerator_type:H200": 0.001}.

    {} where no node says yet which GPUs it has. Raises UsageError where all of them are of another model.
    """
    models = [resource.removeprefix(MODEL) for resource in there if resource.startswith(MODEL)]
    dashed = f"-{name.replace(' ', '-')}-"
    fitting = max((model for model in models if f"-{model}-" in dashed), key=len, default=None)
    if models and fitting is None:
        raise UsageError(f"the GPUs of the Ray cluster are {', '.join(sorted(models))}, the run is for {name}")
    return {f"{MODEL}{fitting}": SOME_OF_A_MODEL} if fitting else {}


_sessions: dict[Setup, Session] = {}  # of this process: a Ray worker does many tasks


def judge_parcel(parcel: Parcel, setup: Setup) -> Judged:
    """What a task does, on its node."""
    if setup not in _sessions:
        device = gpu.describe() if setup.backend == "gpu" else None
        if device and device.name != setup.reason:
            raise UsageError(f"a node of the cluster has {device.name}, the run is for {setup.reason}")
        _sessions[setup] = Session(Backend(setup.backend, setup.reason, device), setup.options, setup.needs_torch)
    digest = hashlib.blake2b(repr((parcel.path, parcel.files)).encode(), digest_size=16).hexdigest()
    shipped = cache_directory() / "shipped"
    shipped.mkdir(exist_ok=True)
    folder = shipped / digest  # of every attempt the same, so that its build is found again
    # Another run may be at the same file, or what is left of an attempt whose node is thought dead.
    with locked(shipped / f"{digest}.lock"):
        try:
            submission, names = unpack(parcel, folder)
            judged = judge_one(submission, _sessions[setup], Progress(silent=True))
            return replace(judged, row=renamed(judged.row, names))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError("--ray needs Ray, which is not installed: pip install -e '.[ray]' installs it") from None
    return ray


class Cluster:
    """A connection to Ray. A context manager; leaving it ends what it has started."""

    def __init__(self, address: str, setup: Setup) -> None:
        self._ray, self._address, self._setup = import_ray(), address, setup

    def __enter__(self) -> Cluster:
        root = str(Path(__file__).parent.parent)
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        here = {"env_vars": {"PYTHONPATH": path}}
        # Nodes need what this package depends on; the package itself travels.
        elsewhere = {"py_modules": [str(Path(__file__).parent)]}
        options = {"include_dashboard": False} if self._address == EMBEDDED else {}
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody is told what is judged here
        try:
            self._ray.init(
                self._address,
                runtime_env=here if self._address == EMBEDDED else elsewhere,
                logging_level="ERROR",
                log_to_driver=False,
                **options,
            )
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            said = str(error).splitlines()[0]
            # To an address that was named Ray shows its token only if it is told to.
            hint = "" if os.environ.get("RAY_AUTH_MODE") else " (if it asks for a token, set RAY_AUTH_MODE=token)"
            raise UsageError(f"--ray {self._address}: no connection to Ray: {said}{hint}") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def run(self, parcels: list[Parcel]) -> Iterator[tuple[int, Judged | Lost]]:
        """(place, answer) as answers come; Lost where the process of every attempt has ended."""
        ray = self._ray
        needs = {"num_cpus": 1, "num_gpus": 1 if self._setup.backend == "gpu" else 0}
        there = ray.cluster_resources()
        lacking = " and no ".join(name for name in ("CPU", "GPU") if there.get(name, 0) < needs[f"num_{name.lower()}s"])
        if lacking:
            print(f"the Ray cluster has no {lacking} yet: waiting for a node that has", file=sys.stderr)
        model = model_needed(self._setup.reason, there) if self._setup.backend == "gpu" else {}
        task = ray.remote(max_retries=ATTEMPTS - 1, resources=model, **needs)(judge_parcel)
        places = {task.remote(parcel, self._setup): place for place, parcel in enumerate(parcels)}
        while places:
            (done,), _ = ray.wait(list(places), num_returns=1)
            place = places.pop(done)
            try:
                yield place, ray.get(done)
            except ray.exceptions.RayTaskError as error:
                cause = error.cause
                if isinstance(cause, UsageError):
                    raise cause from None
                yield place, Lost(f"its task failed: {type(cause).__name__}: {cause}")
            except ray.exceptions.RayError as error:  # the process, or its node, has ended each time
                yield place, Lost(f"the judging process ended in each of {ATTEMPTS} attempts ({type(error).__name__})")
