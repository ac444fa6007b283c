// Atomics of every type and operation, from many blocks at once.
#include "conformance.h"

__global__ void integers(int* i, unsigned* u, unsigned long long* w) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(i, 2), atomicSub(i + 1, 3), atomicMin(i + 2, -id), atomicMax(i + 3, id),
        atomicAnd(i + 4, ~(1 << id % 8));
    atomicOr(i + 5, 1 << id % 16), atomicXor(i + 6, id);
    atomicAdd(u, 1u), atomicSub(u + 1, 1u), atomicMin(u + 2, 5u + id), atomicMax(u + 3, (unsigned)id),
        atomicInc(u + 4, 6u), atomicDec(u + 5, 6u);
    atomicOr(u + 6, 1u << id % 32);
    atomicAdd(w, 1ull << 32), atomicMin(w + 1, (unsigned long long)id),
        atomicMax(w + 2, (unsigned long long)id << 32);
    atomicAnd(w + 3, ~(1ull << id % 64)), atomicOr(w + 4, 1ull << id % 64),
        atomicXor(w + 5, (unsigned long long)id);
    atomicMax(reinterpret_cast<long long*>(w + 6), (long long)-1 - id),
        atomicMin(reinterpret_cast<long long*>(w + 7), (long long)-id);
}
FEATURE(atomics_on_integers) {
    Input<int> i({0, 0, 0, 0, 255, 0, 0});
    Input<unsigned> u({0, 0, 1000, 0, 0, 0, 0});
    Input<unsigned long long> w({0, 100, 0, ~0ull, 0, 0, (unsigned long long)-1000000ll, 0});
    integers<<<40, 64>>>(i, u, w);
    int gi[7];
    unsigned gu[7];
    unsigned long long gw[8];
    cudaMemcpy(gi, i, sizeof gi, cudaMemcpyDeviceToHost),
        cudaMemcpy(gu, u, sizeof gu, cudaMemcpyDeviceToHost),
        cudaMemcpy(gw, w, sizeof gw, cudaMemcpyDeviceToHost);
    const int n = 2560;
    EQUAL(gi[0], 2 * n), EQUAL(gi[1], -3 * n), EQUAL(gi[2], -(n - 1)), EQUAL(gi[3], n - 1), EQUAL(gi[4], 0),
        EQUAL(gi[5], 65535), EQUAL(gi[6], 0);
    EQUAL(gu[0], n), EQUAL(gu[1], 4294967296.0 - n), EQUAL(gu[2], 5), EQUAL(gu[3], n - 1),
        EQUAL(gu[4], n % 7), EQUAL(gu[5], (7 - n % 7) % 7), EQUAL(gu[6], 4294967295.0);
    EQUAL(gw[0] >> 32, n), EQUAL(gw[1], 0), EQUAL(gw[2] >> 32, n - 1), EQUAL(gw[3], 0),
        EQUAL(gw[4] == ~0ull, 1), EQUAL(gw[5], 0);
    EQUAL((long long)gw[6], -1), EQUAL((long long)gw[7], -(n - 1));
}

__global__ void floats(float* f, double* d) {
    atomicAdd(f, 0.5f), atomicAdd(d, 0.25), atomicAdd_block(f + 1, 1.f), atomicAdd_system(d + 1, 1.0);
}
FEATURE(atomics_on_floats) {
    Input<float> f({0, 0});
    Input<double> d({0, 0});
    floats<<<1, 256>>>(f, d);
    float gf[2];
    double gd[2];
    cudaMemcpy(gf, f, sizeof gf, cudaMemcpyDeviceToHost),
        cudaMemcpy(gd, d, sizeof gd, cudaMemcpyDeviceToHost);
    EQUAL(gf[0], 128), EQUAL(gd[0], 64), EQUAL(gf[1], 256), EQUAL(gd[1], 256);
}

__device__ void max_of_floats(float* address, float value) {
    int* word = reinterpret_cast<int*>(address);
    int old = *word, seen;
    do {
        seen = old;
        old = atomicCAS(word, seen, __float_as_int(fmaxf(value, __int_as_float(seen))));
    } while (old != seen);
}
__global__ void compare_and_swap(float* f, unsigned long long* w, unsigned short* s, int* lock,
                                 int* guarded) {
    max_of_floats(f, (float)((blockIdx.x * 37 + threadIdx.x * 11) % 1009));
    unsigned long long old = *w, seen;
    do {
        seen = old;
        old = atomicCAS(w, seen, seen + 3);
    } while (old != seen);
    unsigned short s_old = *s, s_seen;
    do {
        s_seen = s_old;
        s_old = atomicCAS(s, s_seen, (unsigned short)(s_seen + 1));
    } while (s_old != s_seen);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *(volatile int*)guarded = *(volatile int*)guarded + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}
FEATURE(compare_and_swap_loops) {
    Input<float> f({-1});
    Input<unsigned long long> w({0});
    Input<unsigned short> s({0, 0});
    Input<int> lock({0, 0});
    compare_and_swap<<<30, 64>>>(f, w, s, lock, lock.data + 1);
    float gf;
    unsigned long long gw;
    unsigned short gs[2];
    int gl[2];
    cudaMemcpy(&gf, f, 4, cudaMemcpyDeviceToHost), cudaMemcpy(&gw, w, 8, cudaMemcpyDeviceToHost),
        cudaMemcpy(gs, s, 4, cudaMemcpyDeviceToHost), cudaMemcpy(gl, lock, 8, cudaMemcpyDeviceToHost);
    float most = -1;
    for (int b = 0; b < 30; ++b)
        for (int t = 0; t < 64; ++t) most = fmaxf(most, (float)((b * 37 + t * 11) % 1009));
    EQUAL(gf, most), EQUAL(gw, 3 * 1920), EQUAL(gs[0], 1920), EQUAL(gs[1], 0), EQUAL(gl[0], 0),
        EQUAL(gl[1], 30);
}

__device__ unsigned finished;
__global__ void last_block(const float* in, float* partial, float* out) {
    __shared__ bool last;
    atomicAdd(partial + blockIdx.x, in[threadIdx.x]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; ++i) sum += ((volatile float*)partial)[i];
        *out = sum;
    }
}
FEATURE(last_block_sums_up) {
    Input<float> in(std::vector<float>(64, 0.5f));
    Input<float> partial(std::vector<float>(20, 0.f));
    Output<float> out(1);
    last_block<<<20, 64>>>(in, partial, out);
    out.expect({640});
}

__global__ void old_values(int* counter, int* out, float* f) {
    out[atomicAdd(counter, 1)] = 1;
    if (threadIdx.x == 0) out[256] = (int)atomicExch(f, 2.5f);
}
FEATURE(atomics_return_the_old_value) {
    Input<int> counter({0});
    Input<float> f({7.f});
    Output<int> out(257);
    old_values<<<1, 256>>>(counter, out, f);
    std::vector<int> expected(256, 1);
    expected.push_back(7);
    out.expect(expected);
}

__global__ void histogram(const int* in, int n, int* out) {
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i] % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(out + threadIdx.x, bins[threadIdx.x]);
}
FEATURE(atomics_on_shared_memory) {
    std::vector<int> values(10000), expected(16, 0);
    for (int i = 0; i < 10000; ++i) ++expected[(values[i] = i * 7 + i / 3) % 16];
    Input<int> in(values);
    Output<int> out(16);
    cudaMemset(out, 0, 64);
    histogram<<<6, 128>>>(in, 10000, out);
    out.expect(expected);
}

#if defined(CUDACPU) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__global__ void add_vectors(float2* two, float4* four) {
    atomicAdd(two, make_float2(1, -1));
    atomicAdd(four, make_float4(1, 2, 3, 4));
}
#else
__global__ void add_vectors(float2*, float4*) {}
#endif
FEATURE(atomics_on_vectors_of_floats) {
    Output<float> out(8);
    cudaMemset(out, 0, 32);
    add_vectors<<<4, 64>>>(reinterpret_cast<float2*>(out.data), reinterpret_cast<float4*>(out.data + 4));
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (major >= 9) out.expect({256, -256, 0, 0, 256, 512, 768, 1024});
}
