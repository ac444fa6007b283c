"""What may disturb a measurement: the GPU's clocks, throttling, temperature, power, and who else uses it (NVML)."""

from __future__ import annotations

import os
import statistics
import time
from contextlib import suppress
from dataclasses import asdict, dataclass

from harness import gpu

# nvmlClocksEventReasons: what slows the clocks down. Idle and application clocks (bits 0 and 1) are no disturbance.
THROTTLE_REASONS = {
    0x04: "software power cap",
    0x08: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}


@dataclass(frozen=True)
class Reading:
    """MHz, degrees Celsius and watts; None for what the GPU does not tell. `throttled` names the reasons."""

    seconds: float
    sm_mhz: int | None
    memory_mhz: int | None
    temperature_c: int | None
    power_w: float | None
    throttled: tuple[str, ...]


class Monitor:
    """Reads the GPU's state during a run. Without NVML it reads nothing, and `unavailable` says why."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.readings: list[Reading] = []
        self.unavailable = ""
        self.others: list[str] = []
        try:
            import pynvml

            self._nvml = pynvml
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(gpu.pci_bus_id())
        except Exception as error:  # pynvml has an exception for each status, and is absent in places
            self.unavailable = f"the GPU's clocks were not read: {error}"
            return
        self.others = self._other_processes()

    def read(self) -> Reading | None:
        if self.unavailable:
            return None
        nvml, handle = self._nvml, self._handle
        reasons = self._ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle) or 0
        power = self._ask(nvml.nvmlDeviceGetPowerUsage, handle)
        reading = Reading(
            seconds=time.monotonic() - self._started,
            sm_mhz=self._ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
            memory_mhz=self._ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
            temperature_c=self._ask(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
            power_w=None if power is None else power / 1000,
            throttled=tuple(name for bit, name in THROTTLE_REASONS.items() if reasons & bit),
        )
        self.readings.append(reading)
        return reading

    def _ask(self, function: object, *arguments: object) -> int | None:
        try:
            return function(*arguments)
        except self._nvml.NVMLError:  # not every GPU and not every virtual machine tells everything
            return None

    def _other_processes(self) -> list[str]:
        """Names of processes on the GPU that are neither this one nor below it. Ask before workers start."""
        processes = self._ask(self._nvml.nvmlDeviceGetComputeRunningProcesses, self._handle) or []
        names = []
        for process in processes:
            if process.pid != os.getpid():
                with suppress(OSError), open(f"/proc/{process.pid}/comm") as file:
                    names.append(f"{file.read().strip()} ({process.pid})")
        return names

    def warnings(self) -> list[str]:
        """Sentences about what disturbed the run."""
        found = [self.unavailable] if self.unavailable else []
        if self.others:
            found.append(f"other processes use the GPU: {', '.join(self.others)}")
        throttled = sorted({reason for reading in self.readings for reason in reading.throttled})
        if throttled:
            count = sum(bool(reading.throttled) for reading in self.readings)
            found.append(f"the GPU was throttled in {count} of {len(self.readings)} readings: {', '.join(throttled)}")
        return found

    def summary(self) -> dict:
        """The run's clocks for the JSON: first, last and median reading."""
        if not self.readings:
            return {"unavailable": self.unavailable or "nothing was timed"}
        clocks = [reading.sm_mhz for reading in self.readings if reading.sm_mhz is not None]
        return {
            "start": asdict(self.readings[0]),
            "end": asdict(self.readings[-1]),
            "sm_mhz_median": statistics.median(clocks) if clocks else None,
            "sm_mhz_lowest": min(clocks) if clocks else None,
            "throttled_readings": sum(bool(reading.throttled) for reading in self.readings),
            "readings": len(self.readings),
            "other_processes": self.others,
        }


def merged(summaries: list[dict]) -> dict:
    """One summary of several, of GPUs of one model: clocks over all of them, the rest that of the first."""
    read = [summary for summary in summaries if "readings" in summary]
    if not read:
        return summaries[0]
    medians = [s["sm_mhz_median"] for s in read if s["sm_mhz_median"] is not None]
    lowest = [s["sm_mhz_lowest"] for s in read if s["sm_mhz_lowest"] is not None]
    return {
        **read[0],
        "sm_mhz_median": statistics.median(medians) if medians else None,
        "sm_mhz_lowest": min(lowest) if lowest else None,
        "throttled_readings": sum(s["throttled_readings"] for s in read),
        "readings": sum(s["readings"] for s in read),
    }
