"""The worker: a forked process that loads exactly one solve and runs it when the judge asks. It decides nothing.

Replies and requests are lines of JSON. A reply tells what happened ("raised", "status" of the device, seconds); whether
the output is right, and what the verdict is, only the judge knows.
"""

from __future__ import annotations

import ctypes
import importlib.util
import inspect
import json
import mmap
import os
import resource
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import interpreted
from harness.facts import MAPPED, VERSION, Facts
from harness.signature import Parameter

if TYPE_CHECKING:
    from harness.clock import CpuClock, GpuClock

C_SCALARS = {
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
    **{f"{sign}int{bits}": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}

# Around each buffer of a host arena so many bytes of address space fault: whatever a 32-bit index can reach from it.
FENCE = 1 << 33

FILE_BYTES = 1 << 30  # no file that a submission writes may become larger

M_PERTURB = -6  # of mallopt(3): new memory is filled with the complement of a byte

# What torch says where a file asks for a device that is not there: a build for the CPU, one for CUDA without a driver.
NO_CUDA = ("Torch not compiled with CUDA enabled", "Found no NVIDIA driver on your system")

PROT_NONE, PROT_RW = 0, mmap.PROT_READ | mmap.PROT_WRITE
MAP_FIXED, MAP_NORESERVE = 0x10, 0x4000


@dataclass(frozen=True)
class Buffer:
    """A buffer as this process sees it: payload [begin, end) inside [low, high), which holds nothing else."""

    low: int
    begin: int
    end: int
    high: int


class Failure(Exception):
    """The solve could not be loaded or raised; `kind` is load, clock, ipc, memory, unsupported, bounds or exception."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


# ---- memory -----------------------------------------------------------------------------------------------------


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def map_memory(address: int | None, size: int, protection: int, flags: int, descriptor: int, offset: int) -> int:
    """mmap(2). Unlike Python's, it keeps no copy of the descriptor that a submission could write to."""
    result = _libc.mmap(address, size, protection, flags, descriptor, offset)
    if result in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap failed")
    return result


def map_shared(descriptor: int, size: int) -> int:
    """The address of a whole memfd; the descriptor is closed."""
    address = map_memory(None, size, PROT_RW, mmap.MAP_SHARED, descriptor, 0)
    os.close(descriptor)
    return address


class HostMemory:
    """A host arena mapped with faulting pages around what the case uses. Buffers keep their address in every case."""

    def __init__(self, description: dict, descriptor: int) -> None:
        self._views = {}
        page = mmap.PAGESIZE
        for segment in description["segments"]:
            # One page of guard on either side is shared with the judge; beyond it everything faults.
            begin = segment["begin"] - page
            size = segment["capacity"] + 2 * page
            private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
            low = map_memory(None, 2 * FENCE + size, PROT_NONE, private, -1, 0)
            map_memory(low + FENCE, size, PROT_NONE, mmap.MAP_SHARED | MAP_FIXED, descriptor, begin)
            self._views[segment["name"]] = (low, low + FENCE, size)
        os.close(descriptor)

    def _protect(self, address: int, size: int, protection: int) -> None:
        if _libc.mprotect(address, size, protection) != 0:
            raise OSError(ctypes.get_errno(), "mprotect of the arena failed")

    def place(self, name: str, offset: int, size: int) -> Buffer:
        """The buffer with a payload of `size` bytes, `offset` bytes behind its usual begin."""
        page = mmap.PAGESIZE
        low, view, view_size = self._views[name]
        begin = view + page + offset
        first = begin // page * page - page
        last = -(-(begin + size) // page) * page + page
        self._protect(view, view_size, PROT_NONE)
        self._protect(first, last - first, PROT_RW)
        return Buffer(low, begin, begin + size, low + 2 * FENCE + view_size)

    def tensor(self, buffer: Buffer, dtype: str) -> Any:
        import torch

        if buffer.begin == buffer.end:
            return torch.empty(0, dtype=getattr(torch, dtype))
        memory = (ctypes.c_char * (buffer.end - buffer.begin)).from_address(buffer.begin)
        return torch.frombuffer(memory, dtype=getattr(torch, dtype))

    def before_call(self) -> None:
        pass

    def after_call(self) -> None:
        pass


def device_tensor(buffer: Buffer, dtype: str) -> Any:
    """The torch tensor over a buffer on the GPU, without a copy."""
    import torch

    from harness import gpu

    # As bytes first: the interface between the two has no name for bfloat16.
    memory = gpu.DeviceArray(buffer.begin, buffer.end - buffer.begin, "|u1")
    return torch.as_tensor(memory, device="cuda").view(getattr(torch, dtype))


def held_device_bytes() -> int:
    """What is taken of the GPU's memory, without what torch's allocator keeps for later."""
    import torch

    from harness import gpu

    return gpu.used_bytes() - torch.cuda.memory_reserved() + torch.cuda.memory_allocated()


class DeviceMemory:
    """A device arena opened through CUDA IPC, or a device mirror of a host arena where IPC is refused."""

    def __init__(self, description: dict, descriptor: int | None) -> None:
        from harness import gpu

        self._gpu = gpu
        gpu.open_context()
        self._begins = {s["name"]: s["begin"] for s in description["segments"]}
        self._total = description["total"]
        self._host = None
        if description["kind"] == "device":
            try:
                self._base = gpu.open_exported(bytes.fromhex(description["handle"]))
            except gpu.GpuError as error:
                raise Failure("ipc", str(error)) from None
        else:
            import torch

            self._base = gpu.allocate(self._total)
            shared = (ctypes.c_char * self._total).from_address(map_shared(descriptor, self._total))
            self._host = torch.frombuffer(shared, dtype=torch.uint8)
            self._mirror = torch.as_tensor(gpu.DeviceArray(self._base, self._total, "|u1"), device="cuda")

    def place(self, name: str, offset: int, size: int) -> Buffer:
        begin = self._base + self._begins[name] + offset
        return Buffer(begin, begin, begin + size, begin + size)

    def tensor(self, buffer: Buffer, dtype: str) -> Any:
        return device_tensor(buffer, dtype)

    def before_call(self) -> None:
        if self._host is not None:
            self._mirror.copy_(self._host)
            self._gpu.synchronize()

    def after_call(self) -> None:
        if self._host is not None:
            self._host.copy_(self._mirror)


# ---- loading ----------------------------------------------------------------------------------------------------


def root_cause(error: BaseException) -> BaseException:
    """Triton's interpreter wraps what a kernel raised."""
    for _ in range(10):  # a submission's exceptions may be each other's causes
        if type(error).__name__ not in ("InterpreterError", "CompilationError") or error.__cause__ is None:
            break
        error = error.__cause__
    return error


def line_in(path: str, error: BaseException) -> str:
    """ "line 12: " for the innermost frame of `error` that lies in the file `path`, or ""."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"line {error.lineno}: "
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f"line {lines[-1]}: " if lines else ""


def describe(path: str, error: BaseException) -> Failure:
    try:
        return _describe(path, error)
    except BaseException:  # the words of a submission's exception are its own code, which may exit, too
        name = type.__dict__["__name__"].__get__(type(error))  # whatever its metaclass says
        return Failure("exception", f"{line_in(path, error)}{name}: it raised another one when asked for its words")


def _describe(path: str, error: BaseException) -> Failure:
    cause = root_cause(error)
    where = line_in(path, cause) or line_in(path, error)
    name = type(cause).__name__
    message = cause.msg if isinstance(cause, SyntaxError) else str(cause)
    text = " ".join(f"{where}{name}: {message}".split())[:1000]
    if isinstance(cause, SystemExit):
        return Failure("exception", f"{where}the solve called exit({cause.code})")
    refused = "can't allocate memory" in message  # torch's CPU allocator, as a RuntimeError
    if isinstance(cause, MemoryError) or refused or name in ("OutOfMemoryError", "AcceleratorOutOfMemoryError"):
        return Failure("memory", text)
    if any(words in message for words in NO_CUDA):
        return Failure(
            "unsupported", f"{where}torch's device cuda, which is not here: device=input.device works on both"
        )
    if isinstance(cause, NotImplementedError) and "interpreter" in str(cause):
        return Failure("unsupported", text)
    if isinstance(cause, Failure):
        return Failure(cause.kind, f"{where}{cause}")
    return Failure("exception", text)


class Control(ctypes.Structure):
    """`cudacpu_control` in cudacpu/include/cudacpu/judge.h: how the CUDA-on-CPU layer is told to watch a call."""

    _fields_ = [
        ("attach", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("set_buffer", ctypes.CFUNCTYPE(None, ctypes.c_int, *[ctypes.c_uint64] * 4, ctypes.c_int)),
        ("clear_buffers", ctypes.CFUNCTYPE(None)),
        ("begin_call", ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int, ctypes.c_int)),
        ("end_call", ctypes.CFUNCTYPE(None)),
    ]


def take_control(runtime: ctypes.CDLL) -> Control:
    """Only the first caller of a process gets it, so that a submission cannot."""
    runtime.cudacpu_take_control.restype = ctypes.POINTER(Control)
    return runtime.cudacpu_take_control().contents


class CudaSolve:
    """The library of a .cu file, called through ctypes."""

    def __init__(self, task: dict, facts: Facts, memory: HostMemory | DeviceMemory) -> None:
        self._parameters = [Parameter(**p) for p in task["parameters"]]
        self._facts = facts
        self._runtime = None
        if task["runtime"]:
            self._runtime = ctypes.CDLL(task["runtime"])
            self._control = take_control(self._runtime)
            self._control.attach(ctypes.addressof(facts))
        try:
            self._library = ctypes.CDLL(task["library"])
            self._solve = self._library.solve
        except OSError as error:
            raise Failure("load", str(error)) from None
        except AttributeError:
            raise Failure("load", "there is no function solve to call: it is static, or defined nowhere") from None
        self._solve.restype = None
        self._solve.argtypes = [ctypes.c_void_p if p.is_buffer else C_SCALARS[p.dtype] for p in self._parameters]

    def prepare(self, buffers: dict[str, Buffer], sizes: dict, request: dict) -> None:
        self._arguments = [buffers[p.name].begin if p.is_buffer else sizes[p.name] for p in self._parameters]
        if self._runtime:
            self._control.clear_buffers()
            for index, (name, b) in enumerate(buffers.items()):
                self._control.set_buffer(index, b.low, b.begin, b.end, b.high, name in request["poisoned"])
            self._control.begin_call(request["schedule"], request["poison_byte"], request["races"])

    def __call__(self) -> None:
        self._solve(*self._arguments)

    def finish(self) -> None:
        if self._runtime:
            self._control.end_call()

    def launch_error(self) -> str:
        """The error that a launch left behind in the cudart that the library itself uses, in CUDA's words, or ""."""
        if self._runtime:
            status, words = self._facts.last_error, self._runtime.cudacpu_error_string
        else:
            status, words = self._library.cudaGetLastError(), self._library.cudaGetErrorString
        words.restype = ctypes.c_char_p
        return f"{words(status).decode()} ({status})" if status else ""


class PythonSolve:
    """The `solve` of a Python file: Triton, or plain PyTorch."""

    def __init__(self, task: dict, facts: Facts, memory: HostMemory | DeviceMemory) -> None:
        self._path = task["path"]
        self._parameters = [Parameter(**p) for p in task["parameters"]]
        self._memory = memory
        self._facts = facts
        self._objects: dict[str, Any] = {}
        self._on_gpu = task["backend"] == "gpu"
        if not self._on_gpu:
            self._interpret()
        sys.path.insert(0, str(Path(self._path).parent))
        specification = importlib.util.spec_from_file_location("submission", self._path)
        module = importlib.util.module_from_spec(specification)
        sys.modules["submission"] = module
        try:
            specification.loader.exec_module(module)
        except BaseException as error:  # whatever a foreign module raises on import, SystemExit included
            failure = describe(self._path, error)
            raise Failure("unsupported" if failure.kind == "unsupported" else "load", str(failure)) from None
        self._solve = getattr(module, "solve", None)
        names = ", ".join(p.name for p in self._parameters)
        if not callable(self._solve):
            raise Failure("load", f"there is no function solve: define solve({names})")
        try:
            inspect.signature(self._solve).bind(*self._parameters)
        except TypeError as error:
            raise Failure("load", f"solve cannot be called with ({names}): {error}") from None

    def _interpret(self) -> None:
        """Triton's interpreter with exact bounds, the first configuration of an autotuned kernel, rounded bfloat16."""
        import ml_dtypes
        import numpy as np
        import triton.language as tl
        from triton.runtime import autotuner, interpreter

        def check(pointers: Any, mask: Any, kind: int) -> None:
            address = np.asarray(pointers.data).astype(np.int64)
            if mask is not None:
                address = address[np.broadcast_to(np.asarray(mask.data).astype(bool), address.shape)]
            size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
            for index, (name, buffer) in enumerate(self._buffers.items()):
                inside = (address >= buffer.low) & (address < buffer.high)
                bad = address[inside & ((address < buffer.begin) | (address + size > buffer.end))]
                if len(bad):
                    self._facts.violation_kind = kind
                    self._facts.violation_buffer = index
                    self._facts.violation_size = size
                    self._facts.violation_offset = int(bad[0]) - buffer.begin
                    self._facts.violation_extent = buffer.end - buffer.begin
                    raise Failure("bounds", f"access outside {name}")

        def checked(name: str, kind: int, mask_at: int | None) -> None:
            original = getattr(interpreter.InterpreterBuilder, name)

            def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
                # atomic_rmw has the pointer second; the mask's place differs too.
                pointers = arguments[1] if name == "create_atomic_rmw" else arguments[0]
                check(pointers, None if mask_at is None else arguments[mask_at], kind)
                return original(self, *arguments, **keywords)

            setattr(interpreter.InterpreterBuilder, name, call)

        checked("create_masked_load", 1, 1)
        checked("create_masked_store", 2, 2)
        checked("create_atomic_cas", 2, None)
        checked("create_atomic_rmw", 2, 3)

        convert = interpreter._convert_float

        def convert_float(data: Any, source: Any, target: Any, rounding: Any) -> Any:
            # The interpreter cuts float32 to bfloat16 where a GPU rounds to the nearest, ties to even.
            if (source, target) == (tl.float32, tl.bfloat16) and rounding != interpreter._ir.ROUNDING_MODE.RTZ:
                with np.errstate(over="ignore", invalid="ignore"):
                    return data.astype(ml_dtypes.bfloat16).view(np.uint16)
            if (source, target) == (tl.bfloat16, tl.float32):  # exact, subnormals too
                return data.astype(np.uint32) << 16
            return convert(data, source, target, rounding)

        interpreter._convert_float = convert_float

        def first_configuration(self: Any, *arguments: Any, **keywords: Any) -> Any:
            configuration = self.configs[0]
            if configuration.pre_hook is not None:
                named = dict(zip(self.arg_names, arguments, strict=False))
                configuration.pre_hook({**named, **keywords, **configuration.all_kwargs()})
            return self.fn.run(*arguments, **keywords, **configuration.all_kwargs())

        autotuner.Autotuner.run = first_configuration
        interpreted.complete()

    def prepare(self, buffers: dict[str, Buffer], sizes: dict, request: dict) -> None:
        self._facts.violation_kind = 0
        if request["op"] == "run" and not self._on_gpu and hasattr(_libc, "mallopt"):
            # What torch.empty gives is poison, and no chance zeros
            _libc.mallopt(M_PERTURB, 0xFF ^ request["poison_byte"])
        self._buffers = buffers
        self._arguments = [self._argument(p, buffers, sizes, request) for p in self._parameters]

    def _argument(self, parameter: Parameter, buffers: dict[str, Buffer], sizes: dict, request: dict) -> Any:
        name = parameter.name
        if parameter.is_buffer:
            flat = self._memory.tensor(buffers[name], parameter.dtype)
            shapes = request.get("shapes", {})
            return flat.view(shapes[name]) if name in shapes else flat
        return self._object(request["objects"][name]) if parameter.role == "object" else sizes[name]

    def _object(self, path: str) -> Any:
        """An argument that is neither tensor nor number, as the challenge made it; on the device if it can be there."""
        if path not in self._objects:
            import torch

            made = torch.load(path, weights_only=False)
            self._objects[path] = made.to("cuda") if self._on_gpu and hasattr(made, "to") else made
        return self._objects[path]

    def __call__(self) -> None:
        try:
            self._solve(*self._arguments)
        except BaseException as error:  # a submission may raise anything; it is reported, never swallowed
            raise describe(self._path, error) from None

    def finish(self) -> None:
        pass

    def launch_error(self) -> str:
        return ""


# ---- running ----------------------------------------------------------------------------------------------------


class Worker:
    def __init__(self, task: dict, descriptors: dict[str, int]) -> None:
        self.on_gpu = task["backend"] == "gpu"
        self.facts = Facts.from_address(map_shared(descriptors["facts"], MAPPED))
        self.facts.version = VERSION
        self.facts.fault_buffer = -1  # a fault before the first call is in no buffer
        memory = DeviceMemory if self.on_gpu else HostMemory
        self.memory = memory(task["arena"], descriptors.get("arena"))
        solve = CudaSolve if task["library"] else PythonSolve
        self.solve = solve(task, self.facts, self.memory)
        self.dtypes = {p["name"]: p["dtype"] for p in task["parameters"]}
        self.clock = self.make_clock() if task["timed"] else None
        self.timed: tuple | None = None

    def make_clock(self) -> CpuClock | GpuClock:
        """Now and not at the first turn: a race's workers start side by side, their turns come one after the other."""
        from harness.clock import CpuClock, GpuClock
        from harness.cupti import CuptiError

        try:
            return GpuClock() if self.on_gpu else CpuClock()
        except CuptiError as error:
            raise Failure("clock", f"it cannot be timed: {error}") from None

    def place(self, request: dict) -> dict[str, Buffer]:
        return {b["name"]: self.memory.place(b["name"], request["offset"], b["bytes"]) for b in request["buffers"]}

    def synchronize(self) -> None:
        if self.on_gpu:
            from harness import gpu

            gpu.synchronize()

    def run(self, request: dict) -> dict:
        """One call on the buffers as the judge prepared them."""
        self.memory.before_call()
        self.solve.prepare(self.place(request), request["sizes"], request)
        reply = self.call()
        if "device" not in reply:
            self.memory.after_call()
        return reply

    def call(self) -> dict:
        reply: dict = {}
        started = time.perf_counter()
        try:
            self.solve()
        except Failure as failure:
            reply["raised"] = [failure.kind, str(failure)]
        try:
            self.synchronize()
        except Exception as error:  # the driver's words for what a kernel did; the context is lost after most of them
            reply["device"] = str(error)
            return reply
        reply["seconds"] = time.perf_counter() - started
        self.solve.finish()
        if self.on_gpu:
            reply["device_bytes"] = held_device_bytes()
        launch_error = self.solve.launch_error()
        if launch_error:
            reply["launch"] = launch_error
        return reply

    def time(self, request: dict) -> dict:
        """The "device" or "call" times of `samples` calls, or as many as fit into `seconds`; or the "anatomy" of one.

        Each on refilled inputs and poisoned outputs.
        """
        from harness.cupti import CuptiError

        self.memory.before_call()
        buffers = self.place(request)
        self.solve.prepare(buffers, request["sizes"], request)
        case = (request["sizes"], request["offset"], request["contents"])
        if case != self.timed:  # the judge has put other contents there
            tensors = {name: self.memory.tensor(buffer, self.dtypes[name]) for name, buffer in buffers.items()}
            given = [tensor for name, tensor in tensors.items() if name not in request["poisoned"]]
            self.clock.use(given, [tensors[name] for name in request["poisoned"]])
            self.timed = case
        try:
            if request["op"] == "anatomy":
                reply = self.clock.anatomy(self.solve)
            else:
                measure = self.clock.device_times if request["op"] == "device" else self.clock.call_times
                reply = {"times": measure(self.solve, request["samples"], request["seconds"], request["cold"])}
        except Failure as failure:
            return {"raised": [failure.kind, str(failure)]}
        except CuptiError as error:
            return {"raised": ["clock", str(error)]}
        self.memory.after_call()
        return reply


def lower_limit(kind: int, value: int) -> None:
    """Sets a limit of this process, where its own is not lower already: that one could not be raised."""
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def limit(memory_bytes: int) -> None:
    # RLIMIT_DATA: RLIMIT_AS would stop CUDA, which reserves terabytes of addresses.
    lower_limit(resource.RLIMIT_DATA, memory_bytes)
    lower_limit(resource.RLIMIT_CORE, 0)
    lower_limit(resource.RLIMIT_FSIZE, FILE_BYTES)


def main(task: dict, descriptors: dict[str, int]) -> int:
    requests = os.fdopen(descriptors["requests"], "rb")
    replies = descriptors["replies"]
    # From here on the module's own names are used, so that a submission that replaces os.write or json.dumps only
    # silences its own worker.
    write, dumps, loads, getpid = os.write, json.dumps, json.loads, os.getpid
    own = getpid()

    def send(reply: dict) -> None:
        data = dumps(reply).encode() + b"\n"
        while data:
            data = data[write(replies, data) :]

    limit(task["memory_bytes"])
    try:
        worker = Worker(task, descriptors)
    except Failure as failure:
        send({"id": 0, "failed": [failure.kind, str(failure)]})
        return 0
    except MemoryError as error:
        send({"id": 0, "failed": ["memory", f"MemoryError: {error}"]})
        return 0
    send({"id": 0, "loaded": True})
    for line in requests:
        request = loads(line)
        reply = worker.run(request) if request["op"] == "run" else worker.time(request)
        if getpid() != own:  # solve forked, and this is the child: it must not answer in the worker's place
            break
        send({"id": request["id"], **reply})
    return 0
