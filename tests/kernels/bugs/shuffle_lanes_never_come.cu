// problem: subtract_one
// bug: a full mask in a branch that only some lanes take
// found: runtime-error, deadlock in sum at 8 and 11
__global__ void sum(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
    if (threadIdx.x % 32 < 8) {
        const int other = __shfl_xor_sync(0xffffffff, i, 1);
        if (other < 0) output[0] = other;
    }
    __syncthreads();
}
extern "C" void solve(const float* input, float* output, int N) {
    sum<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
