"""Device activity from CUPTI: when each kernel, copy and fill began and ended, on the GPU's own clock.

Through ctypes on the libcupti that comes with torch. All records used here begin alike: the kind at byte 0, start and
end in nanoseconds at bytes 16 and 24 (CUpti_ActivityKernel3 and later, CUpti_ActivityMemcpy, CUpti_ActivityMemset).
"""

from __future__ import annotations

import ctypes
import glob
import os
import struct
import sysconfig

MEMCPY, MEMSET, CONCURRENT_KERNEL = 1, 2, 10  # CUpti_ActivityKind
KINDS = (CONCURRENT_KERNEL, MEMCPY, MEMSET)
FORCED_FLUSH = 1  # CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
BUFFER_BYTES = 1 << 20
MAX_LIMIT_REACHED = 12  # CUPTI_ERROR_MAX_LIMIT_REACHED: no further record in the buffer

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
    """Collects the device activity of this process from its creation on."""

    def __init__(self) -> None:
        self._cupti = _find()
        self._buffers: dict[int, ctypes.Array] = {}
        self._spans: list[tuple[int, int]] = []
        # The callbacks must outlive the registration: keep them.
        self._requested = _REQUESTED(self._give_buffer)
        self._completed = _COMPLETED(self._take_buffer)
        self._call("cuptiActivityRegisterCallbacks", self._requested, self._completed)
        self.resume()

    def resume(self) -> None:
        """Records from now on."""
        for kind in KINDS:
            self._call("cuptiActivityEnable", kind)

    def pause(self) -> None:
        """Records nothing until `resume`: recording makes launches slower, though not the kernels."""
        for kind in KINDS:
            self._call("cuptiActivityDisable", kind)

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._cupti, name)(*arguments)
        if status != 0:
            raise CuptiError(f"{name} failed with CUPTI error {status}")

    def _give_buffer(self, buffer, size, max_records) -> None:  # noqa: ANN001 (ctypes pointers)
        # CUPTI asks for 8-byte alignment; ctypes arrays of 64-bit integers have it.
        memory = (ctypes.c_uint64 * (BUFFER_BYTES // 8))()
        address = ctypes.addressof(memory)
        self._buffers[address] = memory
        buffer[0], size[0], max_records[0] = address, BUFFER_BYTES, 0

    def _take_buffer(self, context, stream, buffer, size, valid) -> None:  # noqa: ANN001
        record = ctypes.c_void_p()
        while (
            self._cupti.cuptiActivityGetNextRecord(
                ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(record)
            )
            == 0
        ):
            kind, start, end = struct.unpack("I12xQQ", ctypes.string_at(record.value, 32))
            if kind in KINDS:
                self._spans.append((start, end))
        del self._buffers[buffer]

    def now(self) -> int:
        """The time in nanoseconds on the clock of the records."""
        timestamp = ctypes.c_uint64()
        self._call("cuptiGetTimestamp", ctypes.byref(timestamp))
        return timestamp.value

    def take(self) -> list[tuple[int, int]]:
        """(start, end) of all activity since the last call, in order of start. Synchronise the device before."""
        self._call("cuptiActivityFlushAll", FORCED_FLUSH)
        spans, self._spans = sorted(self._spans), []
        return spans


def union(spans: list[tuple[int, int]]) -> int:
    """Nanoseconds covered by at least one span; the spans in order of start."""
    total, edge = 0, 0
    for start, end in spans:
        total += max(0, end - max(start, edge))
        edge = max(edge, end)
    return total
