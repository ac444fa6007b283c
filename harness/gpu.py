"""The CUDA driver through ctypes: is there a GPU, what is it, device memory that other processes can open.

The driver API and not a Python package of bindings: it is there wherever a GPU is usable, the same in every version,
and needs no CUDA build of anything. Contexts are the primary ones, which torch and cudart share.
"""

from __future__ import annotations

import ctypes
import functools
import re
import uuid
from dataclasses import dataclass
from pathlib import Path


class GpuError(Exception):
    """A call of the driver failed; the text is the driver's."""


@dataclass(frozen=True)
class Gpu:
    """A GPU's fixed properties: bytes, bytes per second (from memory clock and bus width), and counts.

    The `uuid` tells it from every other one, on this host and elsewhere.
    """

    name: str
    capability: str
    memory_bytes: int
    l2_bytes: int
    multiprocessors: int
    peak_bandwidth: float
    driver: str
    uuid: str = ""


@dataclass(frozen=True)
class Multiprocessor:
    """What one multiprocessor holds at a time; `reserved_shared_bytes` of its shared memory CUDA takes per block."""

    threads: int
    blocks: int
    registers: int
    shared_bytes: int
    reserved_shared_bytes: int


# CUdevice_attribute in cuda.h
_MULTIPROCESSOR_COUNT = 16
_MEMORY_CLOCK_KHZ = 36
_MEMORY_BUS_WIDTH_BITS = 37
_L2_CACHE_BYTES = 38
_CAPABILITY_MAJOR = 75
_CAPABILITY_MINOR = 76
_OF_A_MULTIPROCESSOR = {
    "threads": 39,
    "blocks": 106,
    "registers": 82,
    "shared_bytes": 81,
    "reserved_shared_bytes": 111,
}

# CUipcMem_flags in cuda.h
_IPC_LAZY_ENABLE_PEER_ACCESS = 1


class _IpcHandle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_ubyte * 64)]


@functools.cache
def _driver() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise GpuError("there is no NVIDIA driver (libcuda.so.1)") from None
    library.cuIpcOpenMemHandle_v2.argtypes = [ctypes.c_void_p, _IpcHandle, ctypes.c_uint]
    for name in ("cuMemFree_v2", "cuIpcCloseMemHandle"):
        getattr(library, name).argtypes = [ctypes.c_uint64]
    library.cuIpcGetMemHandle.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    library.cuMemAlloc_v2.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


def error_text(status: int) -> str:
    """The driver's words for a CUresult, e.g. "an illegal memory access was encountered (700)"."""
    text = ctypes.c_char_p()
    _driver().cuGetErrorString(status, ctypes.byref(text))
    return f"{text.value.decode() if text.value else 'unknown error'} ({status})"


def _call(name: str, *arguments: object) -> None:
    status = getattr(_driver(), name)(*arguments)
    if status != 0:
        raise GpuError(error_text(status))


@functools.cache
def describe() -> Gpu:
    """The properties of GPU 0 among the visible ones (CUDA_VISIBLE_DEVICES). Raises GpuError if none is usable."""
    _call("cuInit", 0)
    device = ctypes.c_int()
    _call("cuDeviceGet", ctypes.byref(device), 0)
    name = ctypes.create_string_buffer(256)
    _call("cuDeviceGetName", name, len(name), device)
    memory = ctypes.c_size_t()
    _call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        _call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
        return value.value

    # Two transfers per memory clock (double data rate), bus width in bits.
    bandwidth = 2 * attribute(_MEMORY_CLOCK_KHZ) * 1e3 * attribute(_MEMORY_BUS_WIDTH_BITS) / 8
    return Gpu(
        name=name.value.decode(),
        capability=f"{attribute(_CAPABILITY_MAJOR)}.{attribute(_CAPABILITY_MINOR)}",
        memory_bytes=memory.value,
        l2_bytes=attribute(_L2_CACHE_BYTES),
        multiprocessors=attribute(_MULTIPROCESSOR_COUNT),
        peak_bandwidth=bandwidth,
        driver=_driver_version(),
        uuid=_uuid(device),
    )


def names() -> list[str]:
    """What the visible GPUs are called, in their order; [] where none is usable."""
    count, device = ctypes.c_int(), ctypes.c_int()
    found = []
    try:
        _call("cuInit", 0)
        _call("cuDeviceGetCount", ctypes.byref(count))
        for number in range(count.value):
            _call("cuDeviceGet", ctypes.byref(device), number)
            name = ctypes.create_string_buffer(256)
            _call("cuDeviceGetName", name, len(name), device)
            found.append(name.value.decode())
    except GpuError:
        return []
    return found


def _uuid(device: ctypes.c_int) -> str:
    value = (ctypes.c_ubyte * 16)()
    _call("cuDeviceGetUuid_v2", ctypes.byref(value), device)
    return str(uuid.UUID(bytes=bytes(value)))


def multiprocessor() -> Multiprocessor:
    """The limits of each multiprocessor of GPU 0 among the visible ones."""
    _call("cuInit", 0)
    device = ctypes.c_int()
    _call("cuDeviceGet", ctypes.byref(device), 0)
    value = ctypes.c_int()
    limits = {}
    for name, attribute in _OF_A_MULTIPROCESSOR.items():
        _call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        limits[name] = value.value
    return Multiprocessor(**limits)


def pci_bus_id() -> str:
    """The PCI bus id of GPU 0 among the visible ones, by which NVML knows it."""
    _call("cuInit", 0)
    text = ctypes.create_string_buffer(32)
    _call("cuDeviceGetPCIBusId", text, len(text), 0)
    return text.value.decode()


def _driver_version() -> str:
    """ "580.159.04 (CUDA 13.0)": the kernel module's version where it can be read, and the driver API's."""
    version = ctypes.c_int()
    _call("cuDriverGetVersion", ctypes.byref(version))
    api = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    try:
        module = re.search(r"\d+\.\d+(\.\d+)?", Path("/proc/driver/nvidia/version").read_text())
    except OSError:  # no such file under WSL 2
        return api
    return f"{module[0]} ({api})" if module else api


@functools.cache
def open_context() -> None:
    """Makes the primary context of GPU 0 current in this thread; once per process."""
    _call("cuInit", 0)
    context = ctypes.c_void_p()
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    _call("cuCtxSetCurrent", context)


def synchronize() -> None:
    """Waits for all work of the context. Raises GpuError with the driver's words if any of it failed."""
    _call("cuCtxSynchronize")


def reset_persisting_l2() -> None:
    """Turns L2 lines that a kernel set aside as persisting back into normal ones."""
    _call("cuCtxResetPersistingL2Cache")


def start_profiler() -> None:
    """From here on a profiler that was told to wait (ncu --profile-from-start off) watches."""
    _call("cuProfilerStart")


def stop_profiler() -> None:
    _call("cuProfilerStop")


def allocate(size: int) -> int:
    """Address of `size` bytes that are an allocation of their own (IPC maps whole allocations)."""
    address = ctypes.c_uint64()
    _call("cuMemAlloc_v2", ctypes.byref(address), size)
    return address.value


def used_bytes() -> int:
    """How much of the GPU's memory is taken, by whomever."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return total.value - free.value


def fill(address: int, size: int) -> None:
    """Sets `size` bytes to zero, on the default stream."""
    _call("cuMemsetD8_v2", ctypes.c_uint64(address), 0, ctypes.c_size_t(size))


def free(address: int) -> None:
    _call("cuMemFree_v2", address)


def export(address: int) -> bytes:
    """A handle by which another process can open the allocation at `address`."""
    handle = _IpcHandle()
    _call("cuIpcGetMemHandle", ctypes.byref(handle), address)
    return bytes(handle.reserved)


def open_exported(handle: bytes) -> int:
    """Address in this process of an allocation that another process exported."""
    structure = _IpcHandle.from_buffer_copy(handle)
    address = ctypes.c_uint64()
    _call("cuIpcOpenMemHandle_v2", ctypes.byref(address), structure, _IPC_LAZY_ENABLE_PEER_ACCESS)
    return address.value


class DeviceArray:
    """Presents device memory to torch.as_tensor through __cuda_array_interface__, without a copy."""

    def __init__(self, address: int, count: int, dtype: str) -> None:
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": dtype,
            "data": (address, False),
            "version": 3,
        }
