// problem: softmax
//
// Softmax of one vector with one block: the three-pass textbook kernel.
//
// Idea     Pass 1 finds the maximum m. Pass 2 stores exp(x - m) in `output` and sums it. Pass 3 multiplies
//          `output` by 1 / sum. Subtracting m leaves the value unchanged and keeps every exponent <= 0, so
//          nothing overflows.
// Launch   <<<1, 256>>>: 8 warps; thread t handles elements t, t + 256, t + 512, ...
// Traffic  3 reads and 2 writes of N floats: `input` twice, `output` once; `output` twice. Storing the
//          exponentials saves a second expf per element and costs one more read and one more write.
// Limit    256 threads live on one SM. Beyond a few thousand elements one SM's share of the memory system is
//          the limit, and the rest of the GPU idles.
// Special  fmaxf ignores a NaN, but exp(NaN - m) puts it into the sum, so every output becomes NaN. If all is
//          -inf, m stays -FLT_MAX, the sum is 0 and 0 * (1 / 0) is NaN. As torch.softmax has it.
// Judge    python -m harness submit cuda/softmax.cu

#include <cuda_runtime.h>

#include <cfloat>

constexpr int BLOCK_SIZE = 256;
constexpr int WARP_SIZE = 32;
constexpr int WARPS_NUM = BLOCK_SIZE / WARP_SIZE;
constexpr unsigned FULL_WARP = 0xffffffff;

struct Max {
    static __device__ float identity() { return -FLT_MAX; }
    static __device__ float combine(float a, float b) { return fmaxf(a, b); }
};

struct Sum {
    static __device__ float identity() { return 0.0f; }
    static __device__ float combine(float a, float b) { return a + b; }
};

// Afterwards lane 0 holds the result of its warp.
template <typename Op>
__device__ float warp_reduce(float value) {
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
        value = Op::combine(value, __shfl_down_sync(FULL_WARP, value, offset));
    }
    return value;
}

// Two levels: every warp reduces its lanes, then warp 0 reduces the 8 partial results. All threads get it.
template <typename Op>
__device__ float block_reduce(float value, float* shared) {
    const int warp = threadIdx.x / WARP_SIZE;
    const int lane = threadIdx.x % WARP_SIZE;

    // `shared` serves two reductions, one after the other. Without this barrier a fast warp 0 could write its
    // partial sum to shared[0] while a slow warp has yet to read the maximum from it: a data race.
    __syncthreads();

    value = warp_reduce<Op>(value);
    if (lane == 0) shared[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < WARPS_NUM ? shared[lane] : Op::identity();
        value = warp_reduce<Op>(value);
        if (lane == 0) shared[0] = value;
    }
    __syncthreads();
    return shared[0];
}

__global__ void softmax_kernel(const float* __restrict__ input, float* __restrict__ output, int N) {
    __shared__ float shared[WARPS_NUM];

    // 64-bit indices: near N = 2^31 - 1 an int would wrap before it reached N.
    float local_max = Max::identity();
    for (long long i = threadIdx.x; i < N; i += BLOCK_SIZE) local_max = Max::combine(local_max, input[i]);
    const float max = block_reduce<Max>(local_max, shared);

    float local_sum = Sum::identity();
    for (long long i = threadIdx.x; i < N; i += BLOCK_SIZE) {
        const float e = expf(input[i] - max);
        output[i] = e;
        local_sum += e;
    }
    const float inverse = 1.0f / block_reduce<Sum>(local_sum, shared);

    for (long long i = threadIdx.x; i < N; i += BLOCK_SIZE) output[i] *= inverse;
}

extern "C" void solve(const float* input, float* output, int N) {
    if (input == nullptr || output == nullptr || N <= 0) return;
    softmax_kernel<<<1, BLOCK_SIZE>>>(input, output, N);
    cudaDeviceSynchronize();
}
