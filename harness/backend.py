"""Which backend judges, and why: gpu where a usable NVIDIA GPU and a compiler exist, else cpu."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from harness import gpu
from harness.build import find_nvcc, nvcc_version
from harness.errors import UsageError


@dataclass(frozen=True)
class Backend:
    """`name` is gpu or cpu, `reason` a clause for the user."""

    name: str
    reason: str
    gpu: gpu.Gpu | None


def choose(wanted: str, needs_nvcc: bool) -> Backend:
    """`wanted` is auto, gpu or cpu. Raises UsageError if gpu is asked for and cannot be."""
    if wanted == "cpu":
        return Backend("cpu", "asked for", None)
    missing, device = _gpu_or_why_not(needs_nvcc)
    if device is None:
        if wanted == "gpu":
            raise UsageError(f"--backend gpu is not possible here: {missing}; use --backend cpu")
        return Backend("cpu", str(missing), None)
    return Backend("gpu", device.name, device)


def _gpu_or_why_not(needs_nvcc: bool) -> tuple[str | None, gpu.Gpu | None]:
    try:
        device = gpu.describe()
    except gpu.GpuError as error:
        return str(error), None
    if needs_nvcc and find_nvcc() is None:
        return "there is a GPU but no nvcc to build .cu files (install the extra [cuda], or a toolkit)", None
    if "+cpu" in importlib.metadata.version("torch"):
        return "there is a GPU but torch is a CPU build", None
    return None, device


def machine(backend: Backend) -> dict:
    """What a result depends on beside the file: for the JSON."""
    versions = {}
    for package in ("torch", "triton", "numpy"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "backend": backend.name,
        "reason": backend.reason,
        "gpu": asdict(backend.gpu) if backend.gpu else None,
        "nvcc": nvcc_version() if backend.gpu else None,
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
        **versions,
    }


def _cpu_name() -> str:
    with open("/proc/cpuinfo") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()
