// problem: subtract_one
// idiom: the same with a fence by every thread before a barrier, and the ticket set back
__global__ void sums(const float* input, float* output, float* scratch, unsigned* done, int N) {
    __shared__ bool is_last;
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) scratch[i] = input[i] - 1.0f;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(done, 1) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    for (int j = threadIdx.x; j < N; j += 256) output[j] = scratch[j];
    if (threadIdx.x == 0) *done = 0;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* scratch;
    unsigned* done;
    cudaMalloc(&scratch, N * sizeof(float));
    cudaMalloc(&done, sizeof(unsigned));
    cudaMemset(done, 0, sizeof(unsigned));
    sums<<<(N + 255) / 256, 256>>>(input, output, scratch, done, N);
    sums<<<(N + 255) / 256, 256>>>(input, output, scratch, done, N);
    cudaFree(scratch);
    cudaFree(done);
}
