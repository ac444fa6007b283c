"""CUDA on the CPU: each test would fail with its feature removed."""

import ctypes
import mmap
import os
import re
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from harness.build import BuildError, build_file, toolchain
from harness.facts import MAPPED, Facts, sentences
from harness.signature import VECTOR
from harness.worker import take_control

LAYER = Path(__file__).resolve().parent.parent / "harness" / "cudacpu"
PAGE = mmap.PAGESIZE


# ---- building and calling ----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """build(source, checked=False, headers={}) -> path of the library that exports `solve`, built as the judge does."""
    tools = toolchain(None)

    def compile_and_load(source, checked=False, headers=()):
        folder = tmp_path_factory.mktemp("solve")
        for name, text in {"x.cu": source, **dict(headers)}.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        return build_file(folder / "x.cu", "checked" if checked else "cpu", VECTOR, tools).shared_object

    return compile_and_load


class Buffer:
    """A payload with a page before it and a page that cannot be touched behind it, shared with child processes."""

    def __init__(self, values):
        values = np.ascontiguousarray(values, dtype=np.float32)
        pages = -(-values.nbytes // PAGE) + 3
        self.memory = mmap.mmap(-1, pages * PAGE)
        self.lo = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.begin, self.end, self.hi = self.lo + PAGE, self.lo + PAGE + values.nbytes, self.lo + pages * PAGE
        self.values = np.frombuffer(self.memory, np.float32, values.size, PAGE)
        self.values[:] = values
        libc = ctypes.CDLL(None)
        assert libc.mprotect(ctypes.c_void_p(self.hi - PAGE), ctypes.c_size_t(PAGE), 0) == 0


def call(library, values=(0.0,), outputs=1, n=None, seed=0, poison=0xA5, threads=2, races=False):
    """Calls solve in a child process; its output, facts, status and standard error.

    `races` may be several values: then it is called so many times, and the facts are those of the last call.
    """
    values = np.asarray(values, dtype=np.float32)
    buffers = [Buffer(values), Buffer(np.full(outputs, -1))]
    shared = mmap.mmap(-1, MAPPED)
    facts = Facts.from_buffer(shared)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(write_end, 2)
            os.environ["CUDACPU_THREADS"] = str(threads)
            control = take_control(ctypes.CDLL(str(toolchain(None).runtime)))
            control.attach(ctypes.addressof(facts))
            solve = ctypes.CDLL(str(library))
            for i, buffer in enumerate(buffers):
                control.set_buffer(i, buffer.lo, buffer.begin, buffer.end, buffer.hi, i == 1)
            for look in np.atleast_1d(races):
                control.begin_call(seed, poison, int(look))
                solve.solve(*(ctypes.c_void_p(buffer.begin) for buffer in buffers), len(values) if n is None else n)
                control.end_call()
            os._exit(0)
        except BaseException:  # the child must not go on as a second pytest
            traceback.print_exc()
            os._exit(99)
    os.close(write_end)
    with os.fdopen(read_end, errors="replace") as stream:
        errors = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return SimpleNamespace(output=buffers[1].values, facts=facts, status=status, errors=errors)


def line_of(facts):
    """The source line that facts.where stands for."""
    module, offset = facts.where.decode().rsplit("+", 1)
    found = subprocess.run(["addr2line", "-i", "-e", module, offset], capture_output=True, text=True)
    return int(re.search(r"x\.cu:(\d+)", found.stdout).group(1))


# ---- the rewriter ------------------------------------------------------------------------------------------

LAUNCHES = r"""
#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>
#include "sub/common.cuh"
#include "sub/common.cuh"
template <class T, int K> __global__ void store(T* out, T v) { out[K] = v; }
template <class T> __global__ void deduced(T* out, const float* mask, int n) { if (!mask) out[0] = T(n); }
template <int A> struct Box { static constexpr int value = A; };
namespace ns { namespace inner {
__global__ void add(float* out, int n = 5) { atomicAdd(out, float(n)); }
struct Holder { void (*kernel)(float*, int); static __global__ void member(float* out) { out[0] = 6; } };
} }
__global__ void over(float* out, int v) { out[0] = v; }
__global__ void over(float* out, float v) { out[0] = v + 1; }
__global__ void nothing(float* out, const float* p) { out[0] = p == nullptr ? 3 : 4; }
__global__ void braces(float* out, float2 v) { out[0] = v.x + v.y; }
__global__ void __launch_bounds__(128, 2) shape(float* out) {
    out[0] = blockDim.x * 100 + blockDim.y * 10 + gridDim.x;
}
__device__ __noinline__ float apart(float x) { return x * 2; }
template <class F> __global__ void apply(float* out, F f) { out[0] = f(20.f); }
#define LAUNCH(kernel, blocks, ...) \
    kernel<<<blocks, 1>>>(__VA_ARGS__)
template <class T> void host(T* out) { store<T, Box<0>::value><<<1, 1>>>(out, T(7)); deduced<<<1, 1>>>(out, NULL, 8); }
extern "C" void solve(const float* in, float* out, int n) {
    const char* text = "store<<<1, 1>>>(out)"; /* store<<<1, 1 */  // add<<<
    const char* raw = R"(x<<<y>>>(z) ")";
    std::vector<void (*)(float*, int)> table = {ns::inner::add};
    ns::inner::Holder holder = {ns::inner::add};
    dim3 blockDim(16, 2), gridDim((31 + 15) / 16);
    int calls = 0;
    auto next = [&] { return ++calls; };
    switch (n) {
        case 0: store<float, Box<(3 > 2 ? 0 : 1)>::value><<<1, 1>>>(out, 1.5f); break;
        case 1: deduced<<<dim3{1, 1}, dim3(1, 1, 1), 0, NULL>>>(out, NULL, 2); break;
        case 2: *out = 0; ns::inner::add<<<
            std::max<int>({1, 2, 3}), // a comment >>>(
            1 >> 0, 0>>>(out, next()); *out = *out * 10 + calls; break;
        case 3: *out = 0; ns::inner::add<<<2, 1>>>(out); break;
        case 4: *out = 0; table[0]<<<1, 1>>>(out, 4); break;
        case 5: *out = 0; (n > 3 ? table.at(0) : nullptr)<<<1, 1>>>(out, 5); break;
        case 6: ::ns::inner::Holder::member<<<1, 1>>>(out); break;
        case 7: host<float>(out); break;
        case 8: over<<<1, 1>>>(out, 1.5f); break;
        case 9: nothing<<<1, 1>>>(out, 0); break;
        case 10: LAUNCH(braces, 1, out, {1, 2}); break;
        case 11: shape<<<gridDim, blockDim, 0, 0>>>(out); break;
        case 12: *out = 0; holder.kernel<<<1, 1>>>(out, 12); break;
        case 13: apply<<<1, 1>>>(out, [=] __device__(float x) { return apart(x) + 2; }); break;
        case 14: from_header(out); break;
        case 15: *out = std::string(text).size() + std::string(raw).size(); break;
        case 17: *out = -1; if (n > 3) (*table[0])<<<1, 1>>>(out, 18); break;
        case 16: *out = 1 << 2 << 1; std::cout << 1 << std::endl; break;
        case 18: *out = 0; ns::inner::add << <1, 1
            >> > (out, __LINE__); break;
        default: *out = __LINE__;
    }
}
"""
COMMON = r"""#pragma once
#include "deep.h"
static void from_header(float* out) { deep<<<1, 1>>>(out); }
"""
DEEP = "__global__ void deep(float* out) { extern __shared__ float one[]; *out = 14 + sizeof(one[0]); }\n"


def test_launches(build):
    library = build(LAUNCHES, headers={"sub/common.cuh": COMMON, "sub/deep.h": DEEP})
    spaced = LAUNCHES.split(">> > (out")[0].count("\n") + 1
    expected = [1.5, 2, 31, 10, 4, 5, 6, 8, 2.5, 3, 3, 1622, 12, 42, 18, 33, 8, 17, spaced]
    assert [call(library, n=n).output[0] for n in range(len(expected))] == expected
    assert call(library, n=99).output[0] == LAUNCHES.split("default")[0].count("\n") + 1
    included = (library.parent / "included.json").read_text()
    assert all(name in included for name in ("/x.cu", "sub/common.cuh", "sub/deep.h"))


def test_odd_files(tmp_path):
    """A byte order mark, carriage returns, a continued string, a path and a comment that are not UTF-8."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b'/a "b\\ \xff $'))
    folder.mkdir()
    text = (
        b"\xef\xbb\xbf// \xff\r\n__global__ void k() {}\r\n"
        + b'const char* s = "a\\\r\n<<<";\r\nint f() { k<<<1, 1>>>(); return __LINE__; }\r\n'
    )
    (folder / "x.cu").write_bytes(text)
    run = [sys.executable, LAYER / "rewrite.py", folder / "x.cu", "-o", folder / "y.cpp", "-MF", folder / "y.d"]
    assert subprocess.run(run).returncode == 0
    first, rest = (folder / "y.cpp").read_bytes().split(b"\n", 1)
    quoted = os.fsencode(folder / "x.cu").replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    assert first == b'#line 1 "' + quoted + b'"'
    assert rest == text[3:].replace(b"k<<<1, 1>>>", b"CUDACPU_LAUNCH((k), 1, 1)")
    assert b'/a\\ "b\\\\\\ \xff\\ $$/x.cu' in (folder / "y.d").read_bytes()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("    int x = undeclared;", "x.cu:4:13: error"),
        ("    k<<<1, 1>>>;", r"x.cu:4:\d+: error: '<<<' without a matching"),
        ("    k<<<>>>(out);", r"x.cu:4:\d+: error: a launch needs a grid"),
        ("    <<<1, 1>>>(out);", r"x.cu:4:\d+: error: '<<<' without a kernel"),
        ("    k<<<1, 1>>>(out, 2);", "x.cu:4:"),
        (
            '    asm volatile("wgmma.fence.sync.aligned;"); int x;',
            "x.cu:4:.*cudacpu: unsupported: inline PTX: wgmma.fence.sync.aligned",
        ),
        ("#define CONFIG <<<1, 1>>>\n    k CONFIG (out);", "x.cu:[45]:.*cudacpu: unsupported: a launch split"),
        ("#include <cublas_v2.h>", r"x.cu:4:.*cudacpu: unsupported: cublas_v2.h \(cuBLAS\)"),
        ("#include <cuda/ptx>", "x.cu:4:.*cudacpu: unsupported: cuda/ptx"),
        ("    struct __cluster_dims__(2, 1, 1) C {};", "x.cu:4:.*cudacpu: unsupported: __cluster_dims__ in this"),
    ],
)
def test_errors_keep_their_line(build, line, found):
    source = '__global__ void k(float* out) {}\nextern "C" void solve(const float* in, float* out,\n int n) {\n'
    with pytest.raises(BuildError) as error:
        build(f"{source}{line}\n}}\n")
    assert re.search(found, error.value.output)


def test_unsupported_counts_only_where_it_is_reached(build):
    library = build(
        r"""
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 900
#include <cublas_v2.h>
__device__ void fence() { asm("wgmma.fence.sync.aligned;"); }
#endif
#if 0
k<<<1, isn't a launch >>>
#endif
#ifndef CUDACPU
#include <thrust/sort.h>
#endif
#define CONFIG <<<1, 1>>>
#define COPY(a, b) \
    asm volatile("cp.async [%0], [%1], 16;" \
                 :: "r"(a), "l"(b))
extern "C" void solve(const float* in, float* out, int n) {
    asm volatile("" ::: "memory");
#if defined(__CUDACC__) && CUDACPU == 1
    *out = __LINE__;
#endif
}
"""
    )
    assert call(library).output[0] == 19


# PTX that is not translated, or not in this form, and the name by which it is refused.
REFUSED_PTX = {
    "cp.async.bulk.commit_group;": "cp.async.bulk.commit_group",
    "mbarrier.init.shared.b64 [%1], 1;": "mbarrier.init.shared.b64",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0}, {%0}, {%0}, {%0};": "mma.sync.aligned.m16n8k32",
    "bar.red.popc.u32 %0, 0, p;": "bar.red.popc.u32",
    "add.rz.f32 %0, %0, %0;": "add.rz.f32",
    "add.s32.sat %0, %0, %0;": "add.s32.sat",
    "ld.shared::cluster.u32 %0, [%1];": "ld.shared::cluster.u32",
    "ld.param.u32 %0, [%1];": "ld.param.u32",
    "mov.u32 %0, %gridid;": "operand %gridid",
    "mov.u32 %0, %7;": "operand %7",
    "AGAIN: bra AGAIN;": "AGAIN:",
    "cvt.rn.satfinite.e4m3x2.f32 %0, %0, %0;": "cvt.rn.satfinite.e4m3x2.f32",
    "{ add.s32 %0, %0, 1;": "{ without }",
}


@pytest.mark.parametrize(("text", "name"), REFUSED_PTX.items(), ids=REFUSED_PTX.values())
def test_refused_ptx(build, text, name):
    source = f"""
__global__ void k(int* out) {{
    int value = 1;
    asm volatile("{text}" : "+r"(value) : "l"(out));
    *out = value;
}}
extern "C" void solve(const float* in, float* out, int n) {{ k<<<1, 1>>>((int*)out); }}
"""
    with pytest.raises(BuildError) as error:
        build(source)
    assert error.value.verdict == "unsupported"
    assert re.match(f"line 4: inline PTX: {name}", str(error.value)), error.value


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("    cub::DeviceMergeSort::SortKeys(nullptr, bytes, out, n, 0);", "DeviceMergeSort"),
        ("    cuda::device::cp_async_bulk_global_to_shared();", "device"),
        ("    cudaLaunchKernelEx(&config, k, out);", "cudaLaunchKernelEx of a kernel with __cluster_dims__"),
    ],
)
def test_refused_library_calls(build, line, name):
    source = "#include <cub/cub.cuh>\n#include <cuda/barrier>\n__global__ void __cluster_dims__(2) k(float* out) {}\n"
    source += 'extern "C" void solve(const float* in, float* out, int n) { size_t bytes; cudaLaunchConfig_t config;\n'
    with pytest.raises(BuildError) as error:
        build(f"{source}{line}\n}}\n")
    assert error.value.verdict == "unsupported"
    assert re.match(f"line 5: .*{name}", str(error.value)), error.value


def test_what_the_layer_asserts_is_named_at_the_files_line(build):
    """Of a template of the layer's own the compiler names the header first."""
    source = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__global__ void k(float* out) {\n"
    tile = "    cg::tiled_partition<64>(cg::this_thread_block()).sync();\n}\n"
    with pytest.raises(BuildError) as error:
        build(source + tile)
    assert (error.value.verdict, str(error.value)) == ("unsupported", "line 4: tiles of more than 32 threads")


def test_thrust_without_its_headers(tmp_path):
    """Named as unsupported, with what to install; where the file does not reach it, nothing is said."""
    (tmp_path / "x.cu").write_text("#ifdef WITH\n#include <thrust/sort.h>\n#endif\nstatic_assert(__LINE__ == 4);\n")
    command = [sys.executable, "-I", LAYER / "rewrite.py", tmp_path / "x.cu", "-o", tmp_path / "y.cpp"]
    assert subprocess.run(command).returncode == 0
    compiler = ["c++", "-std=c++17", "-I", LAYER / "include", "-include", "cuda_runtime.h", "-fsyntax-only"]
    without, refused = (
        subprocess.run([*compiler, *more, tmp_path / "y.cpp"], capture_output=True, text=True)
        for more in ([], ["-DWITH"])
    )
    assert without.returncode == 0, without.stderr
    assert re.search(r"x\.cu:2:.*cudacpu: unsupported: <thrust/sort.h>: not in the CCCL that is here", refused.stderr)


NO_RETURN = r"""
__device__ float atomicMax(float* place, float value) {
    atomicMax(reinterpret_cast<int*>(place), __float_as_int(value));
}
__host__ __device__ unsigned int nothing() {
}
__global__ void k(float* out) {
    if (threadIdx.x < 3) atomicMax(out, 1.0f + threadIdx.x);
    __syncthreads();
    out[1] = nothing() == ~0u ? 5 : 6;
}
extern "C" void solve(const float* in, float* out, int n) { cudaMemset(out, 0, 4); k<<<1, 64>>>(out); }
"""


@pytest.mark.parametrize("checked", [False, True])
def test_a_function_without_its_return_comes_back(build, checked):
    """As on a GPU, with garbage; optimised code would run on into whatever lies behind the function."""
    result = call(build(NO_RETURN, checked), outputs=2)
    assert (result.status, *result.output) == (0, 3, 5)


KERNELS = r"""
template <int K> __global__ void store(float* out, int v) { out[K] = v; }
__global__ void plain(float* out, int v) { out[0] = v; }
extern "C" void solve(const float* in, float* out, int n) {
    void* arguments[] = {&out, &n};
    const void* later = (const void*)store<(3 > 2 ? 0 : 1)>;
    void* ready = reinterpret_cast<void*>(&plain);
    switch (n) {
        case 1: cudaLaunchKernel((void*)plain, 1, 1, arguments); break;
        case 2: cudaLaunchKernel((const void*)store<0>, dim3(1), dim3(1), arguments, 0, 0); break;
        case 3: cudaLaunchKernel(later, dim3(1), dim3(1), arguments, 0, nullptr); break;
        case 4: cudaLaunchKernel(ready, dim3(1), dim3(1), arguments); break;
        case 5: cudaLaunchCooperativeKernel(plain, dim3(1), dim3(1), arguments); break;
        case 6: *out = cudaLaunchKernel((void*)out, dim3(1), dim3(1), arguments); break;
    }
}
"""


def test_kernels_whose_type_is_lost(build):
    library = build(KERNELS)
    assert [call(library, n=n).output[0] for n in range(1, 7)] == [1, 2, 3, 4, 5, 98]


@pytest.mark.parametrize(
    "text", ["namespace a { namespace b {", "namespace a::b { {", "namespace a::b { inline namespace c {"]
)
def test_solve_in_a_namespace(build, text):
    text = text.replace("{ {", '{ extern "C" {')
    solve = 'extern "C" void solve(const float* in, float* out, int n) { k<<<1, 1>>>(out); }'
    if 'extern "C" {' in text:
        solve = solve.replace('extern "C" ', "")
    library = build(f"{text} static __global__ void k(float* out) {{ *out = 6; }}\n{solve} }} }}")
    assert call(library).output[0] == 6


# ---- shared memory and barriers ----------------------------------------------------------------------------

SHARED = r"""
#include <cfloat>
struct Pair { float a; int b; };
extern __shared__ __align__(16) unsigned char everywhere[];
template <class T> __global__ void reverse(const T* in, T* out, int n) {
    extern __shared__ T buffer[];
    T* second = reinterpret_cast<T*>(everywhere) + n;
    buffer[threadIdx.x] = in[threadIdx.x];
    second[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = buffer[n - 1 - threadIdx.x] + second[n - 1 - threadIdx.x];
}
template <int K> __global__ void tiles(float* out) {
    __shared__ alignas(16) float tile[K][K + 1];
    static __shared__ volatile Pair pairs[K];
    __shared__ float total, *where;
    tile[threadIdx.y][threadIdx.x] = threadIdx.y * K + threadIdx.x;
    if (threadIdx.y == 0) pairs[threadIdx.x].b = threadIdx.x;
    if (threadIdx.x == 0 && threadIdx.y == 0) { total = blockIdx.x; where = &tile[0][0]; }
    __syncthreads();
    out[(blockIdx.x * K + threadIdx.y) * K + threadIdx.x] =
        tile[threadIdx.x][threadIdx.y] + 1000 * pairs[threadIdx.x].b + 100000 * total + (where != &tile[0][0]);
}
// The sum of all, many times over one array: a lost or doubled barrier changes it.
__global__ void again(float* out) {
    __shared__ float values[256];
    float mine = threadIdx.x;
    for (int round = 0; round < 20; ++round) {
        values[threadIdx.x] = mine;
        __syncthreads();
        mine = values[(threadIdx.x + 1) % 256];
        __syncthreads();
    }
    int count = __syncthreads_count(threadIdx.x < 100), both = __syncthreads_and(threadIdx.x < 255);
    int either = __syncthreads_or(threadIdx.x == 3), all = __syncthreads_and(1), none = __syncthreads_or(0);
    out[threadIdx.x] = mine + 1000 * count + 1e6f * (either + 2 * both + 4 * (all == 0) + 8 * none);
}
__global__ void early(float* out) {
    if (threadIdx.x >= 40) return;
    __syncthreads();
    out[threadIdx.x] = 1;
}
template <int A, int B> struct Grid { float v[A][B]; };
__global__ void poisoned(float* out) {
    extern __shared__ float none[];
    __shared__ Grid<2, 3> first, second[2], *third; __shared__ float fourth;
    if (threadIdx.x == 0) {
        out[blockIdx.x * 3] = none[3];
        out[blockIdx.x * 3 + 1] = second[1].v[1][2];
        out[blockIdx.x * 3 + 2] = fourth;
    }
    __syncthreads();
    fourth = second[1].v[1][2] = none[3] = 0;
}
extern "C" void solve(const float* in, float* out, int n) {
    switch (n) {
        case 1: reverse<float><<<1, 64, 128 * sizeof(float)>>>(in, out, 64); break;
        case 2: tiles<16><<<3, dim3(16, 16)>>>(out); break;
        case 3: again<<<1, 256>>>(out); break;
        case 4: early<<<1, 64>>>(out); break;
        case 5: poisoned<<<4, 32, 64>>>(out); break;
    }
}
"""


@pytest.fixture(scope="session")
def shared(build):
    return build(SHARED)


def test_dynamic_shared_memory(shared):
    assert np.array_equal(call(shared, np.arange(64), 64, n=1).output, 2 * np.arange(63, -1, -1))


def test_static_shared_memory(shared):
    block, row, column = np.indices((3, 16, 16))
    expected = column * 16 + row + 1000 * column + 100000 * block
    assert np.array_equal(call(shared, outputs=768, n=2).output, expected.ravel())


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_barriers_in_every_order(shared, seed):
    result = call(shared, outputs=256, n=3, seed=seed)
    assert np.array_equal(result.output, (np.arange(256) + 20) % 256 + 1000 * 100 + 1e6)
    assert result.facts.undefined_count == 0


def test_threads_that_left_before_a_barrier(shared):
    result = call(shared, outputs=64, n=4)
    assert result.output.tolist() == [1] * 40 + [-1] * 24
    assert result.facts.undefined_count == 1
    assert "'early', block (0, 0, 0): 24 of 64 threads ended before a __syncthreads" in sentences(result.facts)[0]


def test_shared_memory_is_poisoned_for_each_block(shared):
    output = call(shared, outputs=12, n=5, poison=0x3C, threads=1).output
    assert output.view(np.uint32).tolist() == [0x3C3C3C3C] * 12


# ---- warps -------------------------------------------------------------------------------------------------

WARPS = r"""
__global__ void shuffles(int kind, float* out) {
    unsigned lane = threadIdx.x, full = 0xffffffff;
    switch (kind) {
        case 0: out[lane] = __shfl_sync(full, lane * 10, lane + 1, 8); break;
        case 1: out[lane] = __shfl_up_sync(full, float(lane), 3, 16); break;
        case 2: out[lane] = __shfl_down_sync(full, double(lane), 5); break;
        case 3: out[lane] = __shfl_xor_sync(full, (long long)lane << 33, 9, 8) / 4294967296.0; break;
        case 4:
            if (lane % 2) out[lane] = __shfl_xor_sync(0xaaaaaaaa, lane, 2);
            else out[lane] = __shfl_down_sync(0x55555555, lane, 2) + 100;
            break;
        case 5: {
            unsigned b = __ballot_sync(full, lane % 3 == 0);
            out[lane] = (b == 0x49249249) + 2 * __all_sync(full, lane < 31) + 4 * __any_sync(full, lane == 31);
            break;
        }
        case 6:
            out[lane] = __reduce_add_sync(full, int(lane)) + 1000 * __reduce_min_sync(full, -int(lane));
            out[lane] += 1e6f * __reduce_max_sync(full, lane) + __reduce_xor_sync(full, lane == 0 ? 5u : 0u);
            break;
        case 7: if (lane < 10) out[lane] = __activemask(); else out[lane] = __activemask() + 1.0; break;
        case 8: if (lane >= 4) return; __syncwarp(); out[lane] = __shfl_sync(full, lane, 3 - lane); break;
        case 9: out[lane] = __shfl_down_sync(lane < 16 ? 0xffff : 0xffff0000, lane, 8); break;
        case 10: if (lane < 16) out[lane] = __shfl_sync(0x0000ffff, lane, 20); break;
        case 12: {
            __shared__ volatile int turn;
            if (lane == 0) turn = 31;
            while (turn != int(lane)) __nanosleep(100);
            out[lane] = 1;
            turn = turn - 1;
            break;
        }
        case 11: if (lane == 0) __syncwarp(); else __syncthreads(); break;
    }
}
__global__ void half_a_warp(float* out) {
    float v = threadIdx.x;
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v;
}
extern "C" void solve(const float* in, float* out, int n) {
    if (n == 20) half_a_warp<<<1, 48>>>(out);
    else if (n == 21) half_a_warp<<<1, 1024>>>(out);
    else shuffles<<<1, 32>>>(n, out);
}
"""


@pytest.fixture(scope="session", params=[False, True], ids=["fast", "checked"])
def warps(build, request):
    return build(WARPS, checked=request.param)


LANES = np.arange(32)


@pytest.mark.parametrize("seed", [0, 1, 5])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (0, 10 * (LANES // 8 * 8 + (LANES + 1) % 8)),
        (1, np.where(LANES % 16 >= 3, LANES - 3, LANES)),
        (2, np.where(LANES + 5 < 32, LANES + 5, LANES)),
        # From one group of eight only earlier groups can be read.
        (3, 2 * np.where((LANES ^ 9) // 8 <= LANES // 8, LANES ^ 9, LANES)),
        (4, np.where(LANES % 2, LANES ^ 2, np.where(LANES < 30, LANES + 2, LANES) + 100)),
        (5, [5] * 32),
        (6, np.float32([496 - 31000 + 31e6 + 5] * 32)),
        (7, np.where(LANES < 10, 0x3FF, np.float32(0xFFFFFC01))),
        (8, [3, 2, 1, 0] + [-1] * 28),
        (9, np.where(LANES % 16 < 8, LANES + 8, LANES + 8)),
    ],
)
def test_warp_operations(warps, kind, expected, seed):
    result = call(warps, outputs=32, n=kind, seed=seed)
    if kind == 9:  # the upper lanes of each half read lanes that are not in their mask, or themselves
        lanes = LANES % 16 < 8
        assert np.array_equal(result.output[lanes], np.asarray(expected)[lanes])
        return
    assert np.array_equal(result.output, np.float32(expected))
    assert result.facts.undefined_count == 0


def test_shuffle_from_an_absent_lane(warps):
    result = call(warps, outputs=32, n=10)
    assert result.output[:16].tolist() == [0] * 16  # undefined in CUDA; 0 on an H200
    assert result.facts.undefined_count == 16
    assert "lane 0 of warp 0 reads lane 20 by __shfl_sync (mask 0x0000ffff)" in sentences(result.facts)[0]


def test_warps_of_all_sizes(warps):
    assert call(warps, outputs=32, n=21).output.tolist() == [496 + 1024 * i for i in range(32)]
    result = call(warps, outputs=2, n=20)
    assert result.output[0] == 496
    assert result.facts.undefined_count > 0


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_waiting_for_another_thread_of_the_block(warps, seed):
    assert call(warps, outputs=32, n=12, seed=seed).output.tolist() == [1] * 32


def test_deadlock_is_named(warps):
    result = call(warps, outputs=32, n=11)
    assert result.status == -signal.SIGABRT
    fatal = result.facts.fatal.decode()
    assert fatal.startswith("deadlock in kernel 'shuffles', block (0, 0, 0)")
    assert "31 threads wait in __syncthreads" in fatal
    assert "1 thread waits in __syncwarp (warp 0, mask 0xffffffff)" in fatal
    assert fatal in result.errors


# ---- atomics, mathematics, the runtime API -----------------------------------------------------------------

ATOMICS = r"""
__device__ unsigned ticket;
__constant__ float table[4];
__global__ void count(float* out, unsigned long long* wide, unsigned* words, unsigned short* narrow) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[0], 1.0f);
    atomicAdd(wide, 1ull);
    atomicAdd(reinterpret_cast<double*>(wide + 1), 0.5);
    atomicSub(&words[0], 1u);
    atomicMin(reinterpret_cast<int*>(&words[1]), -int(i));
    atomicMax(&words[2], i);
    atomicOr(&words[3], 1u << i % 32);
    atomicXor_block(&words[4], i);
    atomicInc(&words[5], 6u);
    atomicDec(&words[6], 6u);
    atomicAnd_system(&words[7], ~(1u << i % 8));
    unsigned old = words[8], seen;
    do { seen = old; old = atomicCAS(&words[8], seen, seen + 3); } while (old != seen);
    unsigned short s = *narrow, was;
    do { was = s; s = atomicCAS(narrow, was, (unsigned short)(was + 1)); } while (s != was);
    __threadfence();
    if (threadIdx.x == 0 && atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1) out[1] = atomicExch(&out[2], 9.f);
}
__global__ void lookup(float* out) { out[threadIdx.x] = table[threadIdx.x]; }
extern "C" void solve(const float* in, float* out, int n) {
    if (n == 1) {
        unsigned long long* wide; unsigned* words;
        cudaMalloc(&wide, 24); cudaMalloc((void**)&words, 36);
        cudaMemset(wide, 0, 24); cudaMemset(words, 0, 36);
        cudaMemset(words + 7, 255, 4);
        for (int i = 0; i < 3; ++i) out[i] = i * 4;
        count<<<500, 64>>>(out, wide, words, reinterpret_cast<unsigned short*>(wide + 2));
        unsigned long long w[3]; unsigned h[9];
        cudaMemcpy(w, wide, 24, cudaMemcpyDeviceToHost); cudaMemcpy(h, words, 36, cudaMemcpyDeviceToHost);
        out[3] = w[0]; double d; memcpy(&d, &w[1], 8); out[4] = d; out[5] = w[2] & 0xffff;
        out[6] = int(h[0]); out[7] = int(h[1]);
        for (int i = 2; i < 9; ++i) out[6 + i] = h[i];
        cudaFree(wide); cudaFree(words);
    } else {
        float host[4] = {1, 2, 3, 4}, back[2];
        cudaMemcpyToSymbol(table, host, sizeof host);
        cudaMemcpyToSymbol(table, host, 4, 12);
        lookup<<<1, 4>>>(out);
        cudaMemcpyFromSymbol(back, table, 8, 4);
        out[4] = back[1];
        out[5] = cudaMemcpyToSymbol(table, host, 20);
    }
}
"""


def test_atomics_of_many_blocks(build):
    library = build(ATOMICS)
    for seed in (0, 1, 9):
        result = call(library, outputs=15, n=1, seed=seed)
        expected = [
            32000,
            8,
            9,
            32000,
            16000,
            32000,
            -32000,
            -31999,
            31999,
            2**32 - 1,
            0,
            32000 % 7,
            4,
            2**32 - 256,
            96000,
        ]
        assert np.array_equal(result.output, np.float32(expected))
        assert result.facts.live_bytes == 0
    assert call(library, outputs=6, n=2).output.tolist() == [1, 2, 3, 1, 3, 1]


MATH = r"""
#include <math_constants.h>
#include <cfloat>
#include <cmath>
#include <algorithm>
using namespace std;
__global__ void k(const float* in, float* out) {
    int i = 0;
    size_t size = 7; unsigned u = 5; double d = 2.5; float f = 1.5f; long long ll = -3; short s = 2;
    out[i++] = min(size, 3) + max(3, u) * 10 + min(d, f) + max(ll, 4) + min(s, s) + max(f, 2) + min(1, 2);
    out[i++] = fmaxf(-FLT_MAX, CUDART_INF_F) == INFINITY;
    out[i++] = __expf(1.f) + __logf(2.f) + rsqrtf(4.f) + __fdividef(1.f, 4.f) + exp2f(3.f) + __exp10f(1.f) + exp(in[0]);
    out[i++] = __frcp_rn(8.f) + __fmaf_rn(2.f, 3.f, 4.f) + __saturatef(2.f) + __saturatef(CUDART_NAN_F) + rsqrt(0.25);
    out[i++] = __popc(255u) + 100 * __clz(1) + 10000 * __ffs(8) + 100000 * (__brev(1u) == 0x80000000u);
    out[i++] = __int_as_float(__float_as_int(3.5f)) + (__float_as_uint(-0.0f) == 0x80000000u);
    out[i++] = __float2int_rn(2.5f) + 10 * __float2int_rz(-2.7f) + 100 * (__float2int_rn(1e20f) == 2147483647);
    out[i++] = __ldg(in) + __ldcs(in + 1);
    __stcs(&out[i++], 4);
    float4 v = reinterpret_cast<const float4*>(in)[1];
    out[i++] = v.x + 10 * v.w + sizeof(float3) + sizeof(double4) + alignof(short4);
    out[i++] = __umulhi(0x80000000u, 6) + __mulhi(-1, 1) + isinf(__fdividef(1, 0.f)) + warpSize;
}
extern "C" void solve(const float* in, float* out, int n) { k<<<1, 1>>>(in, out); }
"""


def test_mathematics(build):
    output = call(build(MATH), np.arange(8), 11).output
    e = np.exp(1.0)
    expected = [
        3 + 50 + 1.5 + 4 + 2 + 2 + 1,
        1,
        e + np.log(2) + 0.5 + 0.25 + 8 + 10 + 1,
        0.125 + 10 + 1 + 0 + 2,
    ]
    expected += [8 + 3100 + 40000 + 100000, 4.5, 2 - 20 + 100, 1, 4, 4 + 70 + 12 + 32 + 8, 3 - 1 + 1 + 32]
    assert output.tolist() == pytest.approx(expected, rel=1e-6)


API = r"""
__global__ void ok(float* out) { out[0] = 42; }
__global__ void big(float* out) { extern __shared__ float s[]; s[threadIdx.x] = 1; out[0] = 43; }
static float error_of(float* out, dim3 grid, dim3 block, size_t shared = 0) {
    ok<<<grid, block, shared>>>(out);
    float peeked = cudaPeekAtLastError(), got = cudaGetLastError();
    return peeked == got && cudaGetLastError() == cudaSuccess ? got : -5;
}
extern "C" void solve(const float* in, float* out, int n) {
    char *a, *b;
    cudaDeviceProp p;
    cudaEvent_t start, stop;
    cudaStream_t stream;
    switch (n) {
        case 1:
            out[1] = error_of(out, 0, 1); out[2] = error_of(out, 1, 1025); out[3] = error_of(out, dim3(1, 65536), 1);
            out[4] = error_of(out, 1, dim3(1, 1, 65)); out[5] = error_of(out, 1, dim3(32, 64));
            out[6] = error_of(out, 1, 1, 48 * 1024 + 1); out[7] = error_of(out, 1, 0);
            out[8] = out[0]; out[9] = error_of(out, 1, 1); out[10] = out[0];
            break;
        case 2:
            out[1] = cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024);
            big<<<1, 1, 100 * 1024>>>(out); out[2] = cudaGetLastError(); out[3] = out[0];
            big<<<1, 1, 100 * 1024 + 1>>>(out); out[4] = cudaGetLastError();
            out[5] = cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20);
            cudaGetLastError();
            break;
        case 3:
            cudaMalloc(&a, 100); cudaMalloc(&b, 50);
            out[0] = (size_t)a % 256 + (size_t)b % 256; out[1] = (unsigned char)a[99];
            out[2] = cudaFree(a); out[3] = cudaFree(a); out[4] = cudaFree(b + 1); out[5] = cudaFree(nullptr);
            out[6] = cudaMemcpy(b, in, 51, cudaMemcpyHostToDevice); out[7] = cudaMemcpy(b, in, 4, (cudaMemcpyKind)9);
            out[8] = cudaMalloc(&a, (size_t)1 << 62);
            break;
        case 4: cudaMalloc(&b, 50); b[50] = 1; cudaFree(b); break;
        case 5: cudaMalloc(&b, 50); b[-1] = 1; break;
        case 6:
            out[0] = !strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument") +
                     !strcmp(cudaGetErrorName((cudaError_t)1), "cudaErrorInvalidValue") +
                     !strcmp(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered") +
                     !strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code");
            cudaGetDeviceProperties(&p, 0); out[1] = p.multiProcessorCount; out[2] = p.major;
            cudaGetDeviceCount(&n); out[3] = n;
            cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0); out[4] = n;
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, ok, 256, 0); out[5] = n;
            cudaEventCreate(&start); cudaEventCreate(&stop); cudaStreamCreate(&stream);
            cudaEventRecord(start, stream); ok<<<1, 1, 0, stream>>>(out + 6); cudaEventRecord(stop, stream);
            cudaEventSynchronize(stop); out[7] = -1; cudaEventElapsedTime(out + 7, start, stop); out[7] = out[7] >= 0;
            out[8] = cudaStreamDestroy(stream) + cudaEventDestroy(start) + cudaEventDestroy(stop) + cudaSetDevice(0);
            out[9] = cudaSetDevice(1);
            break;
    }
}
"""


@pytest.fixture(scope="session")
def api(build):
    return build(API)


def test_launch_errors(api):
    words = ctypes.CDLL(str(toolchain(None).runtime)).cudacpu_error_string
    words.restype = ctypes.c_char_p
    assert words(9) == b"invalid configuration argument"
    result = call(api, outputs=11, n=1)
    assert result.output[1:].tolist() == [1, 1, 1, 1, 1, 1, 1, -1, 0, 42]
    assert call(api, outputs=6, n=2).output[1:].tolist() == [0, 0, 43, 1, 1]


def test_device_memory(api):
    result = call(api, np.zeros(20), 9, n=3)
    assert result.output.tolist() == [0, 0xA5, 0, 1, 1, 0, 1, 21, 2]
    assert result.facts.live_bytes == 50
    assert result.facts.last_error == 2
    assert call(api, np.zeros(20), 9, n=3, poison=0x77).output[1] == 0x77


@pytest.mark.parametrize(("n", "offset"), [(4, 50), (5, -1)])
def test_guards_around_device_memory(api, n, offset):
    facts = call(api, n=n).facts
    assert (facts.violation_kind, facts.violation_buffer) == (2, -1)
    assert (facts.violation_offset, facts.violation_extent, facts.in_kernel) == (offset, 50, 0)


def test_device_and_error_texts(api):
    assert call(api, outputs=10, n=6).output.tolist() == [4, 132, 9, 1, 132, 8, 42, 1, 0, 101]


# ---- what the judge learns ---------------------------------------------------------------------------------

BUGS = r"""
#include <cassert>
__global__ void vectors(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i < n) {
        float4 v = reinterpret_cast<const float4*>(in)[i];  // LINE vector
        out[i] = v.x;
    }
}
__global__ void past(float* out, int n) {
    if (blockIdx.y == 1 && threadIdx.x <= n) out[threadIdx.x] = 1;  // LINE past
}
__global__ void before(const float* in, float* out) {
    out[0] = in[int(threadIdx.x) - 2];
}
__global__ void allocated(float* p) { atomicAdd(&p[3], 1.0f); }  // LINE atomic
__global__ void dynamic() {
    extern __shared__ float buffer[];
    buffer[threadIdx.x] = 1;
}
__global__ void stray(float* out, size_t distance) {
    if (threadIdx.x == 5) out[distance] = 1;  // LINE stray
}
__global__ void waits(float* out, size_t distance) {
    __syncthreads();
    if (threadIdx.x == 5) out[distance] = 1;
}
__device__ float deep(volatile float* p, int n) {
    volatile float frame[1000];
    frame[n % 1000] = p[0];
    return n == 0 ? frame[0] : deep(frame, n - 1) + frame[1];
}
__global__ void recursion(float* out) {
    __syncthreads();
    out[threadIdx.x] = deep(out, threadIdx.x == 3 ? 70 : 0);
    __syncthreads();
}
__global__ void large_frame(float* out, int n) {
    __syncthreads();
    volatile float frame[100000];
    frame[n] = 1;
    out[0] = frame[n] + frame[99999];
}
__global__ void traps() { __trap(); }
__global__ void asserts() { assert(threadIdx.x > 3); }
__global__ void fine(float* out, const float* in, int n) {
    float outside = 3;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { outside = in[i]; __syncwarp(); out[i] = outside; }
}
extern "C" void solve(const float* in, float* out, int n) {
    float* p;
    switch (n) {
        case 0: fine<<<1, 32>>>(out, in, 32); break;
        case 1: vectors<<<2, 4>>>(in, out, 30); break;
        case 2: past<<<dim3(1, 2), 64>>>(out, 30); break;
        case 3: before<<<1, 4>>>(in, out); break;
        case 4: cudaMalloc(&p, 12); allocated<<<1, 1>>>(p); break;
        case 5: dynamic<<<1, 32, 124>>>(); break;
        case 6: stray<<<1, 32>>>(out, 2048); break;
        case 7: waits<<<1, 32>>>(out, (size_t)1 << 44); break;
        case 8: recursion<<<1, 8>>>(out); break;
        case 9: traps<<<1, 1>>>(); break;
        case 10: asserts<<<1, 32>>>(); break;
        case 11: cudaMemset(out, 0, 31 * 4); break;
        case 14: stray<<<1000, 32>>>(out, (size_t)1 << 44); break;
        case 13: large_frame<<<1, 8>>>(out, 5); break;
        case 12: *(volatile int*)16 = 0; break;
    }
}
"""


def line(mark):
    return BUGS.split(mark if mark in BUGS and "(" in mark else "LINE " + mark)[0].count("\n") + 1


@pytest.fixture(scope="session")
def checked(build):
    return build(BUGS, checked=True)


def violation(facts):
    return (
        *(facts.violation_kind, facts.violation_buffer, facts.violation_offset),
        *(
            facts.violation_size,
            facts.violation_extent,
            tuple(facts.thread),
            tuple(facts.block),
            facts.kernel,
        ),
    )


def test_no_violation_in_a_good_kernel(checked):
    result = call(checked, np.arange(32), 32, n=0)
    assert result.status == 0
    assert result.output.tolist() == list(range(32))
    assert (result.facts.version, result.facts.violation_kind, result.facts.undefined_count) == (2, 0, 0)
    assert (result.facts.kernel, result.facts.where, result.facts.fatal) == (b"", b"", b"")


def test_vector_read_past_the_end(checked):
    result = call(checked, np.zeros(30), 8, n=1)
    assert violation(result.facts) == (1, 0, 112, 16, 120, (3, 0, 0), (1, 0, 0), b"vectors")
    assert (result.status, result.facts.in_kernel, line_of(result.facts)) == (0, 1, line("vector"))


def test_write_one_past_the_end(checked):
    result = call(checked, outputs=30, n=2)
    assert violation(result.facts) == (2, 1, 120, 4, 120, (30, 0, 0), (0, 1, 0), b"past")
    assert line_of(result.facts) == line("past")


@pytest.mark.parametrize(("seed", "thread"), [(0, 0), (1, 1)])
def test_read_before_the_start_in_both_orders(checked, seed, thread):
    facts = call(checked, np.zeros(4), n=3, seed=seed).facts
    assert violation(facts)[:6] == (1, 0, 4 * (thread - 2), 4, 16, (thread, 0, 0))


def test_atomic_outside_device_memory(checked):
    facts = call(checked, n=4).facts
    assert violation(facts)[:5] == (2, -1, 12, 4, 12)
    assert line_of(facts) == line("atomic")


def test_dynamic_shared_memory_overflow(checked):
    assert violation(call(checked, n=5).facts)[:6] == (2, -2, 124, 4, 124, (31, 0, 0))


def test_fill_past_the_end(checked):
    facts = call(checked, outputs=30, n=11).facts
    assert violation(facts)[:5] == (2, 1, 0, 124, 120)
    assert facts.in_kernel == 0


@pytest.fixture(scope="session")
def faulty(build):
    return build(BUGS)


def test_fault_inside_a_reserved_range(faulty):
    result = call(faulty, outputs=100, n=6)
    facts = result.facts
    assert (result.status, facts.signal, facts.in_kernel) == (-signal.SIGSEGV, signal.SIGSEGV, 1)
    assert (facts.fault_buffer, facts.fault_offset, facts.fault_extent) == (1, 4 * 2048, 400)
    assert (facts.kernel, tuple(facts.thread), line_of(facts)) == (b"stray", (5, 0, 0), line("stray"))


def test_fault_elsewhere_on_a_fiber(faulty):
    result = call(faulty, n=7)
    assert (result.status, result.facts.signal) == (-signal.SIGSEGV, signal.SIGSEGV)
    assert (result.facts.fault_buffer, result.facts.kernel) == (-1, b"waits")
    assert tuple(result.facts.thread) == (5, 0, 0)


def test_faults_of_many_threads_at_once(faulty):
    for _ in range(10):
        facts = call(faulty, n=14, threads=4).facts
        assert (facts.signal, facts.kernel, facts.thread[0]) == (signal.SIGSEGV, b"stray", 5)
        assert line_of(facts) == line("stray")


def test_fault_in_host_code(faulty):
    result = call(faulty, n=12)
    assert (result.status, result.facts.signal) == (-signal.SIGSEGV, signal.SIGSEGV)
    assert (result.facts.in_kernel, result.facts.fault_address, result.facts.fault_buffer) == (0, 16, -1)


def test_stack_overflow(faulty):
    result = call(faulty, outputs=8, n=8)
    assert (result.status, result.facts.fatal) == (-signal.SIGSEGV, b"stack overflow in a kernel")
    assert (result.facts.kernel, tuple(result.facts.thread)) == (b"recursion", (3, 0, 0))
    assert call(faulty, outputs=8, n=13).facts.fatal == b"stack overflow in a kernel"


def test_trap_and_assert(faulty):
    result = call(faulty, n=9)
    assert (result.status, result.facts.fatal) == (-signal.SIGABRT, b"kernel 'traps': __trap() was called")
    result = call(faulty, n=10)
    assert result.status == -signal.SIGABRT
    where = f"x.cu:{line('asserts() { assert')}: void asserts(): block: [0,0,0], thread: [0,0,0] Assertion"
    assert f"{where} `threadIdx.x > 3` failed." in result.errors
    assert result.facts.fatal.startswith(b"device-side assert triggered: ")
    assert where in result.facts.fatal.decode()


MISALIGNED = r"""
__global__ void reads(const float* in, float* out, int shift) {
    float4 v = *reinterpret_cast<const float4*>(in + shift + 4 * threadIdx.x);
    float local[4] = {v.x, v.y, v.z, v.w};
    out[threadIdx.x] = reinterpret_cast<float2*>(local)[1].y;
}
__global__ void writes(float* out) { reinterpret_cast<double*>(out + 1)[0] = 1; }
extern "C" void solve(const float* in, float* out, int n) {
    if (n < 8) reads<<<2, 4>>>(in, out, n); else writes<<<1, 1>>>(out);
    printf("%d %d %d", cudaDeviceSynchronize(), cudaMemset(out, 0, 4), cudaPeekAtLastError());
    fflush(stdout);
}
"""


def test_misaligned_accesses(build):
    library = build(MISALIGNED, checked=True)
    fine = call(library, np.arange(16), 4, n=0)
    assert (fine.status, fine.facts.fatal) == (0, b"")
    assert call(library, np.arange(20), 4, n=4).status == 0
    for n, kind, multiple, line_number in ((1, "float4", 16, 3), (8, "double", 8, 7)):
        result = call(library, np.arange(32), 4, n=n)
        fatal = result.facts.fatal.decode()
        assert result.status == -signal.SIGABRT
        assert fatal.startswith("misaligned address: kernel '")
        assert f"multiple of {multiple}, this one is 4 bytes past one" in fatal
        assert kind in fatal
        assert fatal.endswith(f"x.cu:{line_number}")


COOPERATIVE = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void leaves(float* out) { if (blockIdx.x == 2) return; cg::this_grid().sync(); out[blockIdx.x] = 1; }
__global__ void asserts(float* out) {
    cg::this_grid().sync();
    assert(blockIdx.x != 1 || threadIdx.x != 3);
    cg::this_grid().sync();
    out[0] = 1;
}
__global__ void fine(float* out) {
    __shared__ float mine;
    if (threadIdx.x == 0) mine = blockIdx.x;
    cg::this_grid().sync();
    if (threadIdx.x == 5) atomicAdd(out, mine);
}
extern "C" void solve(const float* in, float* out, int n) {
    void* arguments[] = {&out};
    if (n == 1) cudaLaunchCooperativeKernel(leaves, 4, 32, arguments);
    if (n == 2) {
        cudaLaunchCooperativeKernel(asserts, 4, 32, arguments);
        out[1] = cudaDeviceSynchronize(), out[2] = cudaGetLastError(), out[3] = cudaGetLastError();
        fine<<<1, 1>>>(out); out[4] = cudaPeekAtLastError();
    }
    if (n == 3) { *out = 0; cudaLaunchCooperativeKernel(fine, 100, 64, arguments); }
    if (n == 4) fine<<<2, 32>>>(out);
}
"""


def test_grids_that_wait_for_themselves(build):
    library = build(COOPERATIVE)
    result = call(library, outputs=4, n=1)
    assert result.status == -signal.SIGABRT
    assert b"deadlock in kernel 'leaves': 3 blocks wait for the grid, 1 ended without that" in result.facts.fatal
    result = call(library, outputs=5, n=2)
    assert result.output.tolist() == [-1, 710, 710, 0, 710]
    assert b"block: [1,0,0], thread: [3,0,0] Assertion" in result.facts.fatal
    for seed in (0, 1, 7):
        assert call(library, n=3, seed=seed).output[0] == 99 * 50
    assert b"only after cudaLaunchCooperativeKernel" in call(library, n=4).facts.fatal


SPINNING = r"""
__device__ int arrived;
__global__ void meet(float* out) {
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&arrived, 1);
        while (*(volatile int*)&arrived < gridDim.x) { }
    }
    __syncthreads();
    if (threadIdx.x == 1) atomicAdd(out, 1.0f);
}
extern "C" void solve(const float* in, float* out, int n) {
    *out = 0;
    for (int i = 0; i < 2; ++i) { arrived = 0; meet<<<n, 32>>>(out); }
}
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_that_spin_for_each_other(build, threads):
    """Each waits on memory for blocks that have no OS thread yet."""
    for seed in (0, 1):
        assert call(build(SPINNING), n=8, seed=seed, threads=threads).output[0] == 16


BARRIERED = r"""
__global__ void both(float* out) {
    __shared__ float tile[64];
    const int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    const float other = tile[63 - t];
    __syncthreads();
    tile[63 - t] = other;
    __syncthreads();
    out[t] = tile[t];
}
extern "C" void solve(const float*, float* out, int) { both<<<1, 64>>>(out); }
"""


def test_what_was_seen_in_an_earlier_call_is_no_race(build):
    """Shared memory keeps its address from call to call, also over one in which nobody looked."""
    done = call(build(BARRIERED, checked=True), outputs=64, races=(True, False, True))
    assert done.output.tolist() == list(range(64))
    assert sentences(done.facts) == []


# ---- orders and plain programs -----------------------------------------------------------------------------

ORDER = r"""
__device__ int place;
__global__ void threads(float* out) { out[threadIdx.x] = place++; }
__global__ void blocks(float* out) { out[blockIdx.x] = place++; }
extern "C" void solve(const float* in, float* out, int n) {
    threads<<<1, 100>>>(out);
    place = 0;
    blocks<<<100, 1>>>(out + 100);
}
"""


CLUSTERS = r"""
#include <assert.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(4) k(float* out, int n) {
    const cg::cluster_group cluster = cg::this_cluster();
    if (n == 1 && blockIdx.x == 5) assert(threadIdx.x != 3);
    if (n == 2 && cluster.block_rank() == 2) return;
    cluster.sync();
    if (threadIdx.x == 0) atomicAdd(out, 1.0f);
    cluster.sync();
}
extern "C" void solve(const float* in, float* out, int n) {
    out[0] = 0;
    k<<<12, 32>>>(out, n);
    out[1] = cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_clusters_that_end_early(build, threads):
    """A failed assertion ends the grid while others wait; a block that has ended is not waited for."""
    library = build(CLUSTERS)
    assert call(library, outputs=2, n=0, threads=threads).output.tolist() == [12, 0]
    assert call(library, outputs=2, n=1, threads=threads).output[1] == 710
    assert call(library, outputs=2, n=2, threads=threads).output.tolist() == [9, 0]


FORK = r"""
__global__ void k(float* out) {
    __shared__ float v;
    if (threadIdx.x == 0) v = blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 31) out[blockIdx.x] += v + 1;
    __syncthreads();
}
extern "C" void solve(const float* in, float* out, int n) { k<<<32, 32>>>(out); }
"""


def test_orders(build):
    library = build(ORDER)
    orders = {seed: call(library, outputs=200, seed=seed, threads=1).output.reshape(2, 100) for seed in (0, 1, 2, 2, 3)}
    assert (orders[0] == np.arange(100)).all()
    assert (orders[1] == np.arange(99, -1, -1)).all()
    for order in orders[2]:
        assert sorted(order) == list(range(100))
        assert sum(order == np.arange(100)) < 20
    assert not np.array_equal(orders[2], orders[3])
    assert np.array_equal(orders[2], call(library, outputs=200, seed=2, threads=1).output.reshape(2, 100))


def test_fork_after_use(build):
    """A child of a process that ran kernels has neither its threads nor its stacks."""
    library = build(FORK)
    child = os.fork()
    if child == 0:
        os.environ["CUDACPU_THREADS"] = "2"
        solve = ctypes.CDLL(str(library)).solve
        out = Buffer(np.zeros(32))
        for _ in range(3):
            solve(None, ctypes.c_void_p(out.begin), 1)
            grandchild = os.fork()
            if grandchild != 0:
                os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) & 0xFF)
        os._exit(7 if out.values.tolist() == [3 * i for i in range(1, 33)] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_plain_program(build, tmp_path):
    library = build(ATOMICS, checked=True)
    program = tmp_path / "main.c"
    program.write_text(
        "void solve(const float*, float*, int);\n"
        "int main() { float out[15]; solve(out, out, 1); return out[0] == 32000 ? 7 : 1; }\n"
    )
    paths = [f"-Wl,-rpath,{library.parent}", "-Wl,--allow-shlib-undefined"]
    subprocess.run(["gcc", program, library, *paths, "-o", tmp_path / "main"], check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 7
