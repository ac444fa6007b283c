// problem: subtract_one
// bug: a pointer into an allocation is freed
// found: cudaFree of byte 4 of 16 bytes from cudaMalloc at 12
__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* scratch;
    cudaMalloc(&scratch, 16);
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaFree(scratch + 1);
    cudaFree(scratch);
}
