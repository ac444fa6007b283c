// problem: subtract_one
// idiom: half of the block fills a buffer for the other half, with two of libcu++'s barriers
#include <cuda/barrier>
__global__ void hand_over(const float* input, float* output, int N) {
    __shared__ float buffer[128];
    __shared__ cuda::barrier<cuda::thread_scope_block> filled, emptied;
    if (threadIdx.x == 0) {
        init(&filled, 256);
        init(&emptied, 256);
    }
    __syncthreads();
    const int t = threadIdx.x % 128;
    for (int first = 0; first < N; first += 128) {
        if (threadIdx.x < 128) {
            if (first > 0) emptied.arrive_and_wait();
            buffer[t] = first + t < N ? input[first + t] : 0.0f;
            (void)filled.arrive();
        } else {
            filled.arrive_and_wait();
            if (first + 127 - t < N) output[first + 127 - t] = buffer[127 - t] - 1.0f;
            if (first + 128 < N) (void)emptied.arrive();
        }
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    hand_over<<<1, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
