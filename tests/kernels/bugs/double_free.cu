// problem: subtract_one
// bug: device memory is freed twice
// found: cudaFree of memory that was freed before at 13
__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    void* scratch;
    cudaMalloc(&scratch, 16);
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaFree(scratch);
    cudaFree(scratch);
}
