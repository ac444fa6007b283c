// problem: subtract_one
// idiom: one warp spins, with __nanosleep, until the active lanes of another have raised a flag
#include <cooperative_groups.h>
__global__ void wait_for_lanes(const float* input, float* output, int N) {
    __shared__ int raised;
    if (threadIdx.x == 0) raised = 0;
    __syncthreads();
    if (threadIdx.x >= 32) {
        while (atomicAdd(&raised, 0) == 0) __nanosleep(20);
    } else if (threadIdx.x % 2 == 0) {
        const auto lanes = cooperative_groups::coalesced_threads();
        if (lanes.thread_rank() == 0) atomicAdd(&raised, 1);
    }
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    wait_for_lanes<<<(N + 63) / 64, 64>>>(input, output, N);
    cudaDeviceSynchronize();
}
