// problem: subtract_one
// bug: the last block reads what others wrote without a fence
// found: race in sums at 9 and 15
__global__ void sums(const float* input, float* output, int* partial, unsigned* done, int N) {
    __shared__ bool is_last;
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = blockIdx.x + 1;
        is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last) {
        int sum = 0;
        for (int b = threadIdx.x; b < gridDim.x; b += 256) sum += partial[b];
        if (sum < 0) output[0] = 0.0f;
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    int* partial;
    unsigned* done;
    const int blocks = (N + 255) / 256;
    cudaMalloc(&partial, blocks * sizeof(int));
    cudaMalloc(&done, sizeof(unsigned));
    cudaMemset(done, 0, sizeof(unsigned));
    sums<<<blocks, 256>>>(input, output, partial, done, N);
    cudaFree(partial);
    cudaFree(done);
}
