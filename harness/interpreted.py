"""What Triton's interpreter lacks: quick custom reductions, a driver to ask, `kernel.warmup`, peace with NumPy 2.4."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

# The GPU of the CUDA-on-CPU layer, an H100, in the words of Triton's driver.
PROPERTIES = {
    "max_shared_mem": 232_448,
    "max_num_regs": 65_536,
    "multiprocessor_count": 132,
    "warpSize": 32,
    "sm_clock_rate": 1_980_000,
    "mem_clock_rate": 2_619_000,
    "mem_bus_width": 5_120,
}
REGISTERS = 32  # of a thread, as that layer has it


class Driver:
    """What files ask `triton.runtime.driver.active` for."""

    utils = SimpleNamespace(get_device_properties=lambda device: dict(PROPERTIES))

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, PROPERTIES["warpSize"])

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        return 0


class Compiled:
    """What `kernel.warmup` gives: figures to compute an occupancy from, and the kernel to launch."""

    n_regs, n_spills, n_max_threads = REGISTERS, 0, 1024

    def __init__(self, kernel: Any, options: dict) -> None:
        self.kernel = kernel
        warps = options.get("num_warps", 4)
        # A reduction between warps takes shared memory, so nobody need think of none.
        shared = 4 * warps
        self.metadata = SimpleNamespace(shared=shared, num_warps=warps, num_ctas=1, num_stages=3)

    def _init_handles(self) -> None:
        """There is nothing to load."""

    @property
    def asm(self) -> dict:
        raise NotImplementedError("a compiled kernel's code is not there in interpreter mode")

    def __getitem__(self, grid: Any) -> Callable:
        return self.kernel[grid]


class Taken:
    """While a combine function is given whole blocks: whether it branched on one, which only a number can decide."""

    def __init__(self, tensor: type) -> None:
        self.tensor, self.branched = tensor, False

    def __enter__(self) -> "Taken":
        self.original = self.tensor.__bool__

        def decide(block: Any) -> bool:
            if block.handle.data.size == 1:
                return self.original(block)
            self.branched = True
            raise ValueError("a branch on a block")

        self.tensor.__bool__ = decide
        return self

    def __exit__(self, *error: object) -> None:
        self.tensor.__bool__ = self.original


def combined(scan: Any, left: list, right: list, types: list) -> list:
    """The combine function on two blocks, element by element."""
    as_tensors = [scan.to_tensor(data, kind) for side in (left, right) for data, kind in zip(side, types, strict=True)]
    results = scan.combine_fn.fn(*as_tensors)
    results = results if isinstance(results, tuple) else (results,)
    values = [getattr(result, "handle", result) for result in results]
    values = [getattr(value, "data", value) for value in values]
    return [np.broadcast_to(v, old.shape).astype(old.dtype) for v, old in zip(values, left, strict=True)]


def reduced(scan: Any, blocks: list, types: list, axis: int) -> list:
    """By halves of neighbours, in log2 steps and in order."""
    while blocks[0].shape[axis] > 1:
        pairs = [np.moveaxis(block, axis, 0) for block in blocks]
        left, right = ([np.moveaxis(pair[at::2], 0, axis) for pair in pairs] for at in (0, 1))
        blocks = combined(scan, left, right, types)
    return blocks


def scanned(scan: Any, blocks: list, types: list, axis: int) -> list:
    """Each element takes in what ends 1, 2, 4, ... before it."""
    distance = 1
    while distance < blocks[0].shape[axis]:
        earlier = [np.roll(block, distance, axis) for block in blocks]
        later = combined(scan, earlier, blocks, types)
        for block, new in zip(blocks, later, strict=True):
            first = [slice(None)] * block.ndim
            first[axis] = slice(distance)
            new[tuple(first)] = block[tuple(first)]
        blocks, distance = later, 2 * distance
    return blocks


def complete() -> None:
    """Changes the interpreter of this process."""
    import triton.language as tl
    from triton.runtime import driver, interpreter

    one_by_one_reduce = interpreter.ReduceOps.generic_reduce
    one_by_one_scan = interpreter.ScanOps.generic_scan

    def whole_blocks(method: Callable, one_by_one: Callable) -> Callable:
        # The interpreter calls the combine function for each element: minutes for what a GPU does in microseconds.
        def call(self: Any, tensors: tuple) -> Any:
            with Taken(tl.core.tensor) as taken:
                try:
                    return method(self, tensors)
                except Exception:
                    if not taken.branched:
                        raise
            return one_by_one(self, tensors)

        return call

    def reduce(self: Any, tensors: tuple) -> list:
        blocks, types = [t.handle.data for t in tensors], [t.dtype for t in tensors]
        shape, axis = blocks[0].shape, self.axis
        if axis is None:
            blocks, axis = [block.reshape(-1) for block in blocks], 0
        results = reduced(self, blocks, types, axis)
        if self.keep_dims:
            results = [r.reshape([1] * len(shape)) if self.axis is None else r for r in results]
        else:
            results = [r.squeeze(axis) for r in results]
            results = [r if r.ndim else r.item() for r in results]
        return [self.to_tensor(r, kind) for r, kind in zip(results, types, strict=True)]

    def scan(self: Any, tensors: tuple) -> list:
        types = [t.dtype for t in tensors]
        blocks = scanned(self, [t.handle.data for t in tensors], types, self.axis)
        return [self.to_tensor(block, kind) for block, kind in zip(blocks, types, strict=True)]

    interpreter.ReduceOps.generic_reduce = whole_blocks(reduce, one_by_one_reduce)
    interpreter.ScanOps.generic_scan = whole_blocks(scan, one_by_one_scan)

    begin = interpreter.GridExecutor.__init__

    def begin_grid(self: Any, fn: Callable, names: list[str], *arguments: Any) -> None:
        begin(self, fn, names, *arguments)
        # Annotations are words there, of which only tl.constexpr is understood: not triton.language.constexpr.
        words = fn.__annotations__
        more = [name for name in names if str(words.get(name, "")).endswith(".constexpr")]
        self.constexprs = [*self.constexprs, *more]

    interpreter.GridExecutor.__init__ = begin_grid
    run = interpreter.InterpretedFunction.run

    def run_or_compile(self: Any, *arguments: Any, grid: Any, warmup: bool, **keywords: Any) -> Any:
        if warmup:
            return Compiled(self, keywords)
        return run(self, *arguments, grid=grid, warmup=False, **keywords)

    interpreter.InterpretedFunction.run = run_or_compile
    patch = interpreter._patch_lang_tensor

    def patch_tensor(tensor: type, *scope: Any) -> None:
        patch(tensor, *scope)  # up to Triton 3.6 with an __index__ that NumPy 2.4 refuses
        tensor.__index__ = lambda self: self.handle.data.item()

    interpreter._patch_lang_tensor = patch_tensor
    driver.set_active(Driver())
