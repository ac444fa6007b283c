// problem: subtract_one
// bug: a counter in global memory without atomics
// found: race in count at 6
__global__ void count(const float* input, float* output, int* calls, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    *calls += 1;
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    int* calls;
    cudaMalloc(&calls, sizeof(int));
    cudaMemset(calls, 0, sizeof(int));
    count<<<(N + 255) / 256, 256>>>(input, output, calls, N);
    cudaFree(calls);
}
