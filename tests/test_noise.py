"""What the GPU tells of itself, from a stand-in for NVML: readings, reasons of throttling, other users, silence."""

import os
import sys
from types import SimpleNamespace

import pytest

from harness import gpu, noise


class NVMLError(Exception):
    pass


def nvml(**replaced):
    """A stand-in for pynvml: one GPU at 1980 MHz, 41 degrees, 120 W, idle apart from this process."""
    functions = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetHandleByPciBusId": lambda bus_id: f"handle of {bus_id}",
        "nvmlDeviceGetClockInfo": lambda handle, kind: {"sm": 1980, "memory": 3201}[kind],
        "nvmlDeviceGetTemperature": lambda handle, kind: 41,
        "nvmlDeviceGetPowerUsage": lambda handle: 120_000,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: 0x1,
        "nvmlDeviceGetComputeRunningProcesses": lambda handle: [SimpleNamespace(pid=os.getpid())],
    }
    constants = {"NVML_CLOCK_SM": "sm", "NVML_CLOCK_MEM": "memory", "NVML_TEMPERATURE_GPU": 0}
    return SimpleNamespace(NVMLError=NVMLError, **constants, **{**functions, **replaced})


@pytest.fixture
def monitor(monkeypatch):
    def start(**replaced):
        monkeypatch.setitem(sys.modules, "pynvml", nvml(**replaced))
        monkeypatch.setattr(gpu, "pci_bus_id", lambda: "0000:17:00.0")
        return noise.Monitor()

    return start


def refuse(*_):
    raise NVMLError("not supported")


def test_a_quiet_gpu_is_read_and_warned_of_in_no_way(monitor):
    quiet = monitor()
    reading = quiet.read()
    assert (reading.sm_mhz, reading.memory_mhz, reading.temperature_c, reading.power_w) == (1980, 3201, 41, 120.0)
    assert reading.throttled == ()  # the reason "idle" is none
    assert quiet.warnings() == []
    assert quiet.summary()["sm_mhz_median"] == 1980


def test_throttling_is_named_and_counted(monitor):
    reasons = iter([0x0, 0x4 | 0x40, 0x4])
    hot = monitor(nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: next(reasons))
    readings = [hot.read() for _ in range(3)]
    assert [reading.throttled for reading in readings][1] == ("software power cap", "hardware thermal slowdown")
    (warning,) = hot.warnings()
    assert "throttled in 2 of 3 readings: hardware thermal slowdown, software power cap" in warning
    assert hot.summary()["throttled_readings"] == 2


def test_another_process_on_the_gpu_is_named(monitor):
    busy = monitor(nvmlDeviceGetComputeRunningProcesses=lambda handle: [SimpleNamespace(pid=os.getppid())])
    (warning,) = busy.warnings()
    assert f"({os.getppid()})" in warning


def test_what_a_gpu_does_not_tell_is_none_and_the_rest_is_read(monitor):
    reading = monitor(nvmlDeviceGetPowerUsage=refuse, nvmlDeviceGetClockInfo=refuse).read()
    assert (reading.sm_mhz, reading.power_w, reading.temperature_c) == (None, None, 41)


def test_without_nvml_nothing_is_read_and_a_warning_says_why(monitor):
    blind = monitor(nvmlInit=refuse)
    assert blind.read() is None
    assert blind.warnings() == ["the GPU's clocks were not read: not supported"]
    assert "not supported" in blind.summary()["unavailable"]
