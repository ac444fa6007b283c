"""The clocks of a worker: how long one call took, on the device and on the host."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from harness.arena import POISONS


class CpuClock:
    """Host time of a call. It times an emulation and says nothing about a GPU."""

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        self._inputs = [(tensor, tensor.clone()) for tensor in inputs]
        self._outputs = [(tensor, _poison_like(tensor)) for tensor in outputs]

    def measure(self, solve: Callable[[], None], samples: int, seconds: float) -> dict:
        """{"calls": nanoseconds of each call}; at least one sample, then until `samples` or `seconds` are reached."""
        calls: list[int] = []
        deadline = time.monotonic() + seconds
        while len(calls) < samples and (not calls or time.monotonic() < deadline):
            _restore(self._inputs, self._outputs)
            started = time.perf_counter_ns()
            solve()
            calls.append(time.perf_counter_ns() - started)
        return {"calls": calls}


class GpuClock:
    """Device time of a call from CUPTI's activity records, and call time by the host's clock with a synchronise.

    Before each call, in this order: inputs refilled, outputs poisoned, persisting L2 lines reset, L2 flushed by writing
    twice its size, the device idle. What the device did between then and the synchronise after the call belongs to the
    call, on whatever stream and by whatever thread.
    """

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        import torch

        from harness import cupti, gpu

        self._cupti, self._gpu = cupti, gpu
        self._recorder = cupti.Recorder()
        self._inputs = [(tensor, tensor.clone()) for tensor in inputs]
        self._outputs = [(tensor, _poison_like(tensor)) for tensor in outputs]
        self._flush = torch.empty(2 * gpu.describe().l2_bytes, dtype=torch.uint8, device="cuda")

    def measure(self, solve: Callable[[], None], samples: int, seconds: float) -> dict:
        """{"calls": ..., "device": ...}: nanoseconds of each call; device time 0 where a call caused no activity."""
        calls: list[int] = []
        windows: list[tuple[int, int]] = []
        deadline = time.monotonic() + seconds
        while len(calls) < samples and (not calls or time.monotonic() < deadline):
            _restore(self._inputs, self._outputs)
            self._gpu.reset_persisting_l2()
            self._flush.fill_(len(calls) % 251)
            self._gpu.synchronize()
            opened = self._recorder.now()
            started = time.perf_counter_ns()
            solve()
            self._gpu.synchronize()
            calls.append(time.perf_counter_ns() - started)
            windows.append((opened, self._recorder.now()))
        spans = self._recorder.take()
        device = []
        for opened, closed in windows:
            device.append(self._cupti.union([span for span in spans if opened <= span[0] <= closed]))
        return {"calls": calls, "device": device}


def _poison_like(tensor: Any) -> Any:
    """A tensor like `tensor` full of the first poison."""
    import numpy as np
    import torch

    size = tensor.numel() * tensor.element_size()
    contents = np.full(-(-size // 8), POISONS[0]).view(np.uint8)[:size]
    return torch.from_numpy(contents).view(tensor.dtype).to(tensor.device)


def _restore(inputs: list[tuple[Any, Any]], outputs: list[tuple[Any, Any]]) -> None:
    for tensor, contents in [*inputs, *outputs]:
        tensor.copy_(contents)
