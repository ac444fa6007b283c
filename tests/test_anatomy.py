"""What is said of a call, from records as CUPTI gives them."""

import pytest

from harness.anatomy import lines, take_apart


def kernel(start, end, name="k", grid=(500, 1, 1)):
    launch = {"grid": grid, "block": (256, 1, 1), "registers": 24, "shared_bytes": 32, "local_bytes": 0}
    return {"what": "kernel", "start": start, "end": end, "name": name, **launch}


def call(start, end, name):
    return {"what": "call", "start": start, "end": end, "name": name}


def test_time_in_gaps_is_told_from_time_busy():
    anatomy = take_apart([kernel(1000, 3000), kernel(2000, 4000), kernel(9000, 10_000)], 20.0, 0.1, 132)
    assert (anatomy.busy_us, anatomy.gap_us) == (4.0, 5.0)
    assert [(a["at_us"], a["us"]) for a in anatomy.activities] == [(0.0, 2.0), (1.0, 2.0), (8.0, 1.0)]


def test_driver_calls_inside_a_runtime_call_are_not_counted_again():
    records = [
        call(0, 10, "cudaLaunchKernel_v7000"),
        call(2, 8, "cuLaunchKernel"),
        call(20, 90, "cudaDeviceSynchronize_v3020"),
        call(21, 89, "cuCtxSynchronize"),
        call(100, 110, "cuLaunchKernelEx"),
        call(120, 125, "cudaMalloc_v3020"),
        call(126, 127, "cudaFree_v3020"),
        call(130, 131, "cudaGetLastError_v3020"),
        kernel(5000, 9000),
    ]
    anatomy = take_apart(records, 20.0, 0.1, 132)
    assert anatomy.calls == {"launches": 2, "synchronisations": 1, "allocations": 1, "frees": 1}


@pytest.mark.parametrize(
    ("records", "call_us", "of_ceiling", "words"),
    [
        ([], 5.0, 0.0, "nothing ran on the device"),
        ([kernel(0, 1000), kernel(4000, 5000)], 20.0, 0.2, "launch-bound: the device waits 3.0 us"),
        ([kernel(0, 9000), *[call(i, i + 1, "cudaStreamSynchronize") for i in range(2)]], 40.0, 0.9, "synchronisation"),
        ([kernel(0, 9000)], 20.0, 0.9, "bandwidth-bound at 90%"),
        ([kernel(0, 9000, grid=(1, 1, 1))], 20.0, 0.1, "too little parallelism: k has 1 blocks for 132"),
        ([kernel(0, 9000)], 20.0, 0.3, "latency-bound: 30%"),
    ],
)
def test_the_diagnosis_is_one_line(records, call_us, of_ceiling, words):
    assert words in take_apart(records, call_us, of_ceiling, 132).diagnosis


def test_every_activity_has_a_line_with_what_it_was():
    copy = {"what": "copy", "start": 20_000, "end": 21_000, "bytes": 4096, "direction": "device to host"}
    fill = {"what": "fill", "start": 30_000, "end": 31_000, "bytes": 8}
    head, *rest = lines(take_apart([kernel(0, 9000), copy, fill], 20.0, 0.1, 132))
    assert "device busy 11.00 us, gaps 20.00 us" in head
    assert "k <<<500x1x1, 256x1x1>>>, 24 registers, 32 B shared" in rest[0]
    assert "copy of 4,096 B device to host" in rest[1]
    assert "fill of 8 B" in rest[2]
