"""Options, the meaning of the marker `gpu`, and the command line as a fixture."""

import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness import gpu

ROOT = Path(__file__).parent.parent
CACHE = pytest.StashKey[tempfile.TemporaryDirectory]()
SEED = int(os.environ.get("JUDGE_SEED", secrets.randbelow(2**32)))


def why_no_gpu() -> str:
    """Why tests marked `gpu` cannot run here, or ""."""
    from harness.backend import choose
    from harness.errors import UsageError

    try:
        choose("gpu", needs_nvcc=True)
    except UsageError as error:
        return str(error)
    return ""


def pytest_configure(config):
    """Tests have a build cache and a board of their own, never the user's."""
    config.stash[CACHE] = tempfile.TemporaryDirectory(prefix="solve-judge-tests-")
    os.environ["XDG_CACHE_HOME"] = os.environ["XDG_DATA_HOME"] = config.stash[CACHE].name


def pytest_unconfigure(config):
    config.stash[CACHE].cleanup()


def pytest_addoption(parser):
    parser.addoption("--solve", action="append", default=[], metavar="PATH", help="judge this file, too")


def pytest_report_header(config):
    reason = why_no_gpu()
    backend = f"gpu and cpu ({gpu.describe().name})" if not reason else f"cpu ({reason})"
    return f"judge: seed {SEED} (JUDGE_SEED={SEED} repeats it), backends: {backend}"


def pytest_collection_modifyitems(items):
    reason = why_no_gpu()
    if reason and os.environ.get("JUDGE_REQUIRE_GPU") != "1":
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_runtest_setup(item):
    """JUDGE_REQUIRE_GPU=1: a GPU test that cannot run has failed."""
    if item.get_closest_marker("gpu") and os.environ.get("JUDGE_REQUIRE_GPU") == "1":
        reason = why_no_gpu()
        if reason:
            pytest.fail(f"JUDGE_REQUIRE_GPU=1, but {reason}", pytrace=False)


def run_cli(*arguments, cwd=ROOT, timeout=280, **environment):
    """`python -m harness ARGUMENTS` in a process of its own; environment variables set to None are removed."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run(
        [sys.executable, "-m", "harness", *map(os.fspath, arguments)],
        cwd=cwd,
        env={name: value for name, value in variables.items() if value is not None},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=timeout,
    )


@pytest.fixture(scope="session")
def cli():
    return run_cli
