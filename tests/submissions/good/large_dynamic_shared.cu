// expect: accepted
// kind: good
// More shared memory than a launch gets unasked: the attribute is set first. The vector stays there if it fits.
#include <cuda_runtime.h>

template <int THREADS>
__global__ void __launch_bounds__(THREADS) softmax(const float* input, float* output, int n, int kept) {
    extern __shared__ char raw[];
    float* x = reinterpret_cast<float*>(raw);
    __shared__ float partial[THREADS];
    for (int i = threadIdx.x; i < min(n, kept); i += THREADS) x[i] = input[i];
    auto value = [&](int i) { return i < kept ? x[i] : input[i]; };
    float m = -INFINITY;
    for (int i = threadIdx.x; i < n; i += THREADS) m = fmaxf(m, value(i));
    partial[threadIdx.x] = m;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + s]);
        __syncthreads();
    }
    m = partial[0];
    __syncthreads();
    float l = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) l += expf(value(i) - m);
    partial[threadIdx.x] = l;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += THREADS) output[i] = expf(value(i) - m) / partial[0];
}

extern "C" void solve(const float* input, float* output, int N) {
    constexpr int bytes = 60 * 1024;
    cudaFuncSetAttribute(softmax<256>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    softmax<256><<<1, 256, bytes>>>(input, output, N, bytes / sizeof(float));
    cudaDeviceSynchronize();
}
