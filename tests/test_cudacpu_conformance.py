"""What CUDA documents, feature by feature: the same .cu files on the CPU layer and, built by nvcc, on a GPU."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness import gpu
from harness.build import BuildError, build_file, toolchain
from harness.signature import VECTOR

FOLDER = Path(__file__).parent / "cudacpu_conformance"
FILES = sorted(FOLDER.glob("*.cu"))
FEATURES = [
    (path.name, name) for path in FILES for name in re.findall(r"^FEATURE\((\w+)\)", path.read_text(), re.MULTILINE)
]
RUN = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).solve(None, None, 0)"
# What the toolchain is asked for, and which of its builds.
BACKENDS = {"cpu": ("", "cpu"), "checked": ("", "checked"), "clang": ("clang++", "cpu"), "gpu": ("", "gpu")}


def report_of(path, build, tools, folder):
    """What the features of one file reported, by name; under "" what ended it before its last one."""
    report = folder / f"{path.stem}.txt"
    try:
        library = build_file(path, build, VECTOR, tools).shared_object
    except BuildError as error:
        return {"": f"{error}\n{error.output[:3000]}"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, library],
        env={**os.environ, "CONFORMANCE_REPORT": str(report)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = report.read_text().splitlines() if report.exists() else []
    told = dict(line.split("\t", 1) for line in lines)
    told[""] = f"not reached: the program ended with status {done.returncode}: {done.stderr[-500:]}"
    return told


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """reports(backend) -> {file name: what its features reported}; every file is built and run once."""
    known = {}

    def run_all(backend):
        if backend not in known:
            compiler, build = BACKENDS[backend]
            capability = gpu.describe().capability if backend == "gpu" else None
            with pytest.MonkeyPatch.context() as patch:
                if compiler:
                    patch.setenv("CXX", compiler)
                tools = toolchain.__wrapped__(capability)
            folder = tmp_path_factory.mktemp(backend)
            with ThreadPoolExecutor(os.cpu_count()) as executor:
                found = executor.map(lambda path: report_of(path, build, tools, folder), FILES)
                known[backend] = dict(zip([path.name for path in FILES], found, strict=True))
        return known[backend]

    return run_all


@pytest.mark.parametrize(
    "backend",
    [
        "cpu",
        "checked",
        pytest.param("clang", marks=pytest.mark.skipif(not shutil.which("clang++"), reason="no clang++")),
        pytest.param("gpu", marks=pytest.mark.gpu),
    ],
)
@pytest.mark.parametrize(("file", "feature"), FEATURES, ids=[name for _, name in FEATURES])
def test_feature(reports, backend, file, feature):
    if (backend, file) in {("cpu", "alignment.cu"), ("clang", "alignment.cu")}:
        pytest.skip("only the checked build looks at alignment")
    told = reports(backend)[file]
    assert told.get(feature, told[""]) == "ok"
