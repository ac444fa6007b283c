// problem: subtract_one
// idiom: a warp waits for another one by a volatile flag in shared memory
__global__ void relay(const float* input, float* output, int N) {
    __shared__ float tile[32];
    __shared__ volatile int ready;
    const int i = blockIdx.x * 32 + threadIdx.x % 32;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        tile[threadIdx.x] = i < N ? input[i] : 0.0f;
        __syncwarp();
        if (threadIdx.x == 0) {
            __threadfence_block();
            ready = 1;
        }
    } else {
        while (ready == 0) __nanosleep(20);
        __threadfence_block();
        if (i < N) output[i] = tile[threadIdx.x % 32] - 1.0f;
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    relay<<<(N + 31) / 32, 64>>>(input, output, N);
    cudaDeviceSynchronize();
}
