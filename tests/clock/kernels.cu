// Kernels of adjustable duration for the self-test of the clocks, each on a given stream or as a solve.

#include <cuda_runtime.h>

namespace {

enum Kind { kWalk = 0, kStream = 1, kTwoKernels = 2 };

constexpr int kWalkThreads = 1024;
constexpr int kStreamThreads = 256;

// One block, bound by arithmetic and not by memory: its duration grows with n * repeats, and neither the
// state of the caches nor the multiprocessor that it lands on matters much. With n = 0 it is an empty kernel.
__global__ void walk(float* out, const float* in, long long n, int repeats) {
    float sum = threadIdx.x;
    for (int pass = 0; pass < repeats; ++pass) {
        for (long long i = threadIdx.x; i < n; i += kWalkThreads) {
            const float x = in[i];
#pragma unroll
            for (int step = 0; step < 16; ++step) sum = fmaf(sum, 0.5f, x);
        }
    }
    out[threadIdx.x] = sum;
}

// The whole grid, bound by memory. `out` and `in` may be the same.
__global__ void stream(float4* out, const float4* in, long long quads) {
    const long long i = blockIdx.x * static_cast<long long>(kStreamThreads) + threadIdx.x;
    if (i >= quads) return;
    float4 x = in[i];
    x.x = fmaf(x.x, 0.5f, 1.0f);
    x.y = fmaf(x.y, 0.5f, 1.0f);
    x.z = fmaf(x.z, 0.5f, 1.0f);
    x.w = fmaf(x.w, 0.5f, 1.0f);
    out[i] = x;
}

void stream_floats(float* out, const float* in, long long n, cudaStream_t on) {
    const long long quads = n / 4;
    const auto blocks = static_cast<unsigned>((quads + kStreamThreads - 1) / kStreamThreads);
    stream<<<blocks, kStreamThreads, 0, on>>>(reinterpret_cast<float4*>(out),
                                              reinterpret_cast<const float4*>(in), quads);
}

}  // namespace

// All three return a cudaError_t. `out` holds at least 1024 floats; n is a multiple of 4.

extern "C" int launch_stream(int kind, float* out, const float* in, long long n, int repeats,
                             cudaStream_t on) {
    switch (kind) {
        case kWalk:
            walk<<<1, kWalkThreads, 0, on>>>(out, in, n, repeats);
            break;
        case kStream:
            stream_floats(out, in, n, on);
            break;
        case kTwoKernels:
            stream_floats(out, in, n, on);
            stream_floats(out, out, n, on);
            break;
        default:
            return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

extern "C" int solve_async(int kind, float* out, const float* in, long long n, int repeats) {
    return launch_stream(kind, out, in, n, repeats, nullptr);
}

extern "C" int solve_sync(int kind, float* out, const float* in, long long n, int repeats) {
    const int status = launch_stream(kind, out, in, n, repeats, nullptr);
    return status != cudaSuccess ? status : cudaDeviceSynchronize();
}
