// expect: accepted
// kind: good
// One cooperative launch: the whole grid waits for itself between maximum, sum and output.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
namespace {
constexpr int kBlocks = 4, kThreads = 256;
__device__ float block_reduce(float value, bool to_sum) {
    __shared__ float shared[kThreads];
    shared[threadIdx.x] = value;
    for (int half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            const float other = shared[threadIdx.x + half];
            shared[threadIdx.x] = to_sum ? shared[threadIdx.x] + other : fmaxf(shared[threadIdx.x], other);
        }
    }
    __syncthreads();
    value = shared[0];
    __syncthreads();
    return value;
}
__global__ void softmax(const float* input, float* output, int N, float* partial) {
    cg::grid_group grid = cg::this_grid();
    float m = -INFINITY, sum = 0.0f;
    for (int i = grid.thread_rank(); i < N; i += grid.size()) m = fmaxf(m, input[i]);
    m = block_reduce(m, false);
    if (threadIdx.x == 0) partial[blockIdx.x] = m;
    grid.sync();
    for (int b = 0; b < kBlocks; ++b) m = fmaxf(m, partial[b]);
    for (int i = grid.thread_rank(); i < N; i += grid.size()) sum += expf(input[i] - m);
    sum = block_reduce(sum, true);
    if (threadIdx.x == 0) partial[kBlocks + blockIdx.x] = sum;
    grid.sync();
    sum = 0.0f;
    for (int b = 0; b < kBlocks; ++b) sum += partial[kBlocks + b];
    for (int i = grid.thread_rank(); i < N; i += grid.size()) output[i] = expf(input[i] - m) / sum;
}
}  // namespace
extern "C" void solve(const float* input, float* output, int N) {
    float* partial;
    cudaMalloc(&partial, 2 * kBlocks * sizeof(float));
    void* arguments[] = {&input, &output, &N, &partial};
    cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(softmax), kBlocks, kThreads, arguments);
    cudaDeviceSynchronize();
    cudaFree(partial);
}
