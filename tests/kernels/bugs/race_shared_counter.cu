// problem: subtract_one
// bug: a counter in shared memory without atomics
// found: race in count at 9
__global__ void count(const float* input, float* output, int N) {
    __shared__ int threads;
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (threadIdx.x == 0) threads = 0;
    __syncthreads();
    threads++;
    __syncthreads();
    if (i < N) output[i] = input[i] - (threads > 0 ? 1.0f : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    count<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
