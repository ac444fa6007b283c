// problem: subtract_one
// bug: global memory between threads of a block without a barrier
// found: race in swap at 6 and 7
__global__ void swap(const float* input, float* output, float* scratch, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x, other = i ^ 1;
    scratch[i] = i < N ? input[i] : 0.0f;
    if (other < N) output[other] = scratch[other] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* scratch;
    const int blocks = (N + 255) / 256;
    cudaMalloc(&scratch, blocks * 256 * sizeof(float));
    swap<<<blocks, 256>>>(input, output, scratch, N);
    cudaFree(scratch);
}
