"""Device activity from CUPTI: when each kernel, copy and fill began and ended, on the GPU's own clock.

Through ctypes on the libcupti that comes with torch. Records are read at offsets that have not moved from CUDA 9.0's
CUpti_ActivityKernel4 to CUDA 13's CUpti_ActivityKernel10 (cupti_activity.h): the kind at byte 0, start and end in
nanoseconds at 16 and 24; of calls of the API at 8 and 16. The correlation, a number that grows with every call of the
API in this process, lies at byte 92 of a kernel, 44 of a copy or fill, 32 of a call.

Which call of a solve a record belongs to is told by correlations and not by times: CUPTI converts the GPU's clock to
the host's, and on an H200 records were seen more than 5 us late, so that short kernels fell out of the window of the
call that had caused them.
"""

from __future__ import annotations

import bisect
import ctypes
import glob
import os
import secrets
import struct
import sysconfig

from harness import gpu

MEMCPY, MEMSET, DRIVER_CALL, RUNTIME_CALL, CONCURRENT_KERNEL = 1, 2, 4, 5, 10  # CUpti_ActivityKind
DEVICE_KINDS = (CONCURRENT_KERNEL, MEMCPY, MEMSET)
CALL_KINDS = (RUNTIME_CALL, DRIVER_CALL)
CALLBACK_DOMAIN = {DRIVER_CALL: 1, RUNTIME_CALL: 2}  # CUpti_CallbackDomain
COPY_KINDS = {1: "host to device", 2: "device to host", 8: "device to device"}  # CUpti_ActivityMemcpyKind
FORCED_FLUSH = 1  # CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
BUFFER_BYTES = 1 << 20
MARK_BYTES = (257, 4096)  # the size of a mark is drawn from this range, end excluded

_REQUESTED = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)
)
_COMPLETED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class CuptiError(Exception):
    """CUPTI is absent or refused; the text says which call."""


def _find() -> ctypes.CDLL:
    packages = sysconfig.get_path("purelib")
    wheels = glob.glob(f"{packages}/nvidia/*/lib/libcupti.so.1*") + glob.glob(f"{packages}/nvidia/cuda_cupti/lib/lib*")
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    toolkit = glob.glob(f"{home}/extras/CUPTI/lib64/libcupti.so.1*") + glob.glob(f"{home}/lib64/libcupti.so.1*")
    for name in ["libcupti.so", "libcupti.so.13", "libcupti.so.12", *wheels, *toolkit]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise CuptiError("libcupti.so was not found (it comes with torch's CUDA builds and with CUDA toolkits)")


class Recorder:
    """Collects the device activity of this process while it is not paused."""

    def __init__(self) -> None:
        self._cupti = _find()
        self._buffers: dict[int, ctypes.Array] = {}
        self._records: list[dict] = []
        self._mark_at = gpu.allocate(MARK_BYTES[1])
        self._mark_bytes = 0
        # The callbacks must outlive the registration: keep them.
        self._requested = _REQUESTED(self._give_buffer)
        self._completed = _COMPLETED(self._take_buffer)
        self._call("cuptiActivityRegisterCallbacks", self._requested, self._completed)

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._cupti, name)(*arguments)
        if status != 0:
            raise CuptiError(f"{name} failed with CUPTI error {status}")

    def resume(self, kinds: tuple[int, ...] = DEVICE_KINDS) -> None:
        """Records from now on. Marks get a size of their own, which a solve cannot know when it is written."""
        self._mark_bytes = MARK_BYTES[0] + secrets.randbelow(MARK_BYTES[1] - MARK_BYTES[0])
        for kind in kinds:
            self._call("cuptiActivityEnable", kind)

    def pause(self, kinds: tuple[int, ...] = DEVICE_KINDS) -> None:
        """Records nothing until `resume`: recording makes launches slower, though not the kernels."""
        for kind in kinds:
            self._call("cuptiActivityDisable", kind)

    def _give_buffer(self, buffer, size, max_records) -> None:  # noqa: ANN001 (ctypes pointers)
        # CUPTI asks for 8-byte alignment; ctypes arrays of 64-bit integers have it.
        memory = (ctypes.c_uint64 * (BUFFER_BYTES // 8))()
        address = ctypes.addressof(memory)
        self._buffers[address] = memory
        buffer[0], size[0], max_records[0] = address, BUFFER_BYTES, 0

    def _take_buffer(self, context, stream, buffer, size, valid) -> None:  # noqa: ANN001
        record = ctypes.c_void_p()
        next_record = self._cupti.cuptiActivityGetNextRecord
        while next_record(ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(record)) == 0:
            kind = ctypes.c_uint32.from_address(record.value).value
            if kind in DEVICE_KINDS:
                self._records.append(_device_record(kind, record.value))
            elif kind in CALL_KINDS:
                self._records.append(self._call_record(kind, record.value))
        del self._buffers[buffer]

    def _call_record(self, kind: int, address: int) -> dict:
        callback = ctypes.c_uint32.from_address(address + 4).value
        start, end = struct.unpack("QQ", ctypes.string_at(address + 8, 16))
        correlation = ctypes.c_uint32.from_address(address + 32).value
        name = ctypes.c_char_p()
        self._call("cuptiGetCallbackName", CALLBACK_DOMAIN[kind], callback, ctypes.byref(name))
        name = (name.value or b"?").decode()
        return {"what": "call", "start": start, "end": end, "correlation": correlation, "name": name}

    def mark(self) -> None:
        """Marks where a call of the solve begins, or ends: a small fill. Synchronise the device before an end."""
        gpu.fill(self._mark_at, self._mark_bytes)

    def take_calls(self, count: int) -> list[list[dict]]:
        """The records of each of `count` calls, all of them between two marks. Raises CuptiError where marks lack."""
        gpu.synchronize()
        return between_marks(self.take(), self._mark_bytes, count)

    def now(self) -> int:
        """The time in nanoseconds on the clock of the records."""
        timestamp = ctypes.c_uint64()
        self._call("cuptiGetTimestamp", ctypes.byref(timestamp))
        return timestamp.value

    def take(self) -> list[dict]:
        """All records since the last call, in order of start. Synchronise the device before."""
        self._call("cuptiActivityFlushAll", FORCED_FLUSH)
        records, self._records = sorted(self._records, key=lambda record: record["start"]), []
        return records


def _device_record(kind: int, address: int) -> dict:
    """A kernel, copy or fill: what, start, end, and of a kernel its launch, of the others their bytes."""
    start, end = struct.unpack("QQ", ctypes.string_at(address + 16, 16))
    correlation = ctypes.c_uint32.from_address(address + (92 if kind == CONCURRENT_KERNEL else 44)).value
    record = {"start": start, "end": end, "correlation": correlation}
    if kind == CONCURRENT_KERNEL:
        registers = ctypes.c_uint16.from_address(address + 6).value
        grid_and_block = struct.unpack("6i", ctypes.string_at(address + 52, 24))
        static, dynamic, local = struct.unpack("iiI", ctypes.string_at(address + 76, 12))
        name = ctypes.c_char_p.from_address(address + 104).value or b"?"
        return {
            "what": "kernel",
            **record,
            "name": name.decode("utf-8", "replace"),
            "grid": grid_and_block[:3],
            "block": grid_and_block[3:],
            "registers": registers,
            "shared_bytes": static + dynamic,
            "local_bytes": local,
        }
    size = ctypes.c_uint64.from_address(address + 8).value
    if kind == MEMSET:
        return {"what": "fill", **record, "bytes": size}
    direction = COPY_KINDS.get(ctypes.c_uint8.from_address(address + 4).value, "other")
    return {"what": "copy", **record, "bytes": size, "direction": direction}


def between_marks(records: list[dict], mark_bytes: int, count: int) -> list[list[dict]]:
    """The records between each pair of marks, in order of start. Raises CuptiError unless there are `count` pairs."""
    found = {r["correlation"] for r in records if r["what"] == "fill" and r["bytes"] == mark_bytes}
    marks = sorted(found)
    if len(marks) != 2 * count:
        raise CuptiError(f"the record of {count} calls has {len(marks)} marks, not {2 * count}")
    calls: list[list[dict]] = [[] for _ in range(count)]
    for record in sorted(records, key=lambda record: record["start"]):
        before = bisect.bisect(marks, record["correlation"])
        if before % 2 == 1 and record["correlation"] not in found:
            calls[before // 2].append(record)
    return calls


def union(spans: list[tuple[int, int]]) -> int:
    """Nanoseconds covered by at least one span; the spans in order of start."""
    total, edge = 0, 0
    for start, end in spans:
        total += max(0, end - max(start, edge))
        edge = max(edge, end)
    return total
