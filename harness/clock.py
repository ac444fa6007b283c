"""The clocks of a worker: how long one call took, on the device and on the host."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from harness.arena import POISONS

PAGE_BYTES, PLACES = 2 << 20, 32


def any_place() -> int:
    """How many pages of the GPU's memory are to be held, so that what a solve allocates comes to lie elsewhere.

    Where a few bytes lie that many blocks read or update tells in a short kernel: tests/clock/places.py.
    """
    return random.SystemRandom().randrange(PLACES)


class CpuClock:
    """Host time of a call. It times an emulation and says nothing about a GPU."""

    def use(self, inputs: list[Any], outputs: list[Any]) -> None:
        """The tensors of the calls to come, the inputs with the contents they are to be refilled with."""
        self._contents = _contents(inputs, outputs)

    def call_times(self, solve: Callable[[], None], samples: int, seconds: float, cold: bool = True) -> list[int]:
        """Nanoseconds of each call; at least one sample, then until `samples` or `seconds` are reached.

        `cold` has no meaning here: a CPU's caches are left as they are.
        """
        return _repeat(lambda: self._call(solve), samples, seconds)

    def _call(self, solve: Callable[[], None]) -> int:
        _restore(self._contents)
        started = time.perf_counter_ns()
        solve()
        return time.perf_counter_ns() - started


class GpuClock:
    """Device time of a call from CUPTI's activity records, and call time by the host's clock with a synchronise.

    Before each call, in this order: inputs refilled, outputs poisoned, persisting L2 lines reset, L2 flushed by writing
    twice its size (unless hot), the device idle. What was asked of the device from then until the synchronise after the
    call has ended belongs to the call, on whatever stream and by whatever thread. So that a median is over places in
    memory and not of one by chance, `pages` are held during a series, others in each.
    """

    def __init__(self, pages: Callable[[], int] = any_place) -> None:
        import torch

        from harness import cupti, gpu

        self._cupti, self._gpu = cupti, gpu
        self._recorder = cupti.Recorder()
        self._contents: list[tuple[Any, Any]] = []
        self._pages, self._held = pages, list[int]()
        self._flush = torch.empty(2 * gpu.describe().l2_bytes, dtype=torch.uint8, device="cuda")

    def use(self, inputs: list[Any], outputs: list[Any]) -> None:
        """The tensors of the calls to come, the inputs with the contents they are to be refilled with."""
        self._contents = _contents(inputs, outputs)

    def device_times(self, solve: Callable[[], None], samples: int, seconds: float, cold: bool = True) -> list[int]:
        """Nanoseconds of device time of up to `samples` calls in up to `seconds`; 0 where a call caused no activity."""
        self._move_temporaries()
        self._recorder.resume()
        recorded = _repeat(lambda: self._recorded(solve, cold), samples, seconds)
        calls = self._recorder.take_calls(len(recorded))
        self._recorder.pause()
        return [self._cupti.union([(record["start"], record["end"]) for record in call]) for call in calls]

    def call_times(self, solve: Callable[[], None], samples: int, seconds: float, cold: bool = True) -> list[int]:
        """Nanoseconds of up to `samples` calls in up to `seconds` by the host's clock.

        A series of its own, since recording makes a launch, and so the call, longer.
        """
        return _repeat(lambda: self._call(solve, cold), samples, seconds)

    def anatomy(self, solve: Callable[[], None]) -> dict:
        """{"records": ...}: everything one call did on the device, and what it asked of CUDA until it returned."""
        kinds = (*self._cupti.DEVICE_KINDS, *self._cupti.CALL_KINDS)
        self._recorder.resume(kinds)
        called, returned = self._recorded(solve, cold=True)
        (records,) = self._recorder.take_calls(1)
        self._recorder.pause(kinds)
        # Before and after it the clock itself synchronises. Calls are timed by the host, as `called` is.
        return {"records": [r for r in records if r["what"] != "call" or called <= r["start"] <= returned]}

    def _move_temporaries(self) -> None:
        """What solve allocates lies elsewhere from now on."""
        import torch

        torch.cuda.empty_cache()
        while self._held:
            self._gpu.free(self._held.pop())
        with suppress(self._gpu.GpuError):  # a full memory has no other places
            for _ in range(self._pages()):
                self._held.append(self._gpu.allocate(PAGE_BYTES))

    def _prepare(self, cold: bool, last: Callable[[], None] = lambda: None) -> None:
        _restore(self._contents)
        self._gpu.reset_persisting_l2()
        if cold:
            self._flush.fill_(1)
        last()
        self._gpu.synchronize()

    def _recorded(self, solve: Callable[[], None], cold: bool) -> tuple[int, int]:
        """Calls once, between marks; when it was called and when it returned, on the recorder's clock."""
        self._prepare(cold, self._recorder.mark)
        called = self._recorder.now()
        solve()
        returned = self._recorder.now()
        self._gpu.synchronize()
        self._recorder.mark()
        return called, returned

    def _call(self, solve: Callable[[], None], cold: bool) -> int:
        self._prepare(cold)
        started = time.perf_counter_ns()
        solve()
        self._gpu.synchronize()
        return time.perf_counter_ns() - started


def _repeat(sample: Callable[[], Any], samples: int, seconds: float) -> list[Any]:
    results = []
    deadline = time.monotonic() + seconds
    while len(results) < samples and (not results or time.monotonic() < deadline):
        results.append(sample())
    return results


def _contents(inputs: list[Any], outputs: list[Any]) -> list[tuple[Any, Any]]:
    """Each tensor with what it holds before a call: a copy of what an input holds now, poison for an output."""
    return [(tensor, tensor.clone()) for tensor in inputs] + [(tensor, _poison_like(tensor)) for tensor in outputs]


def _poison_like(tensor: Any) -> Any:
    """A tensor like `tensor` full of the first poison."""
    import numpy as np
    import torch

    size = tensor.numel() * tensor.element_size()
    contents = np.full(-(-size // 8), POISONS[0]).view(np.uint8)[:size]
    return torch.from_numpy(contents).view(tensor.dtype).to(tensor.device)


def _restore(contents: list[tuple[Any, Any]]) -> None:
    for tensor, before in contents:
        tensor.copy_(before)
