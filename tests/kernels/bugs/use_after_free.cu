// problem: subtract_one
// bug: device memory is read after cudaFree
// found: out-of-bounds, read .* memory that was freed in subtract at 10
__global__ void copy(const float* input, float* scratch, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) scratch[i] = input[i];
}
__global__ void subtract(const float* scratch, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = scratch[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* scratch;
    const int blocks = (N + 255) / 256;
    cudaMalloc(&scratch, N * sizeof(float));
    copy<<<blocks, 256>>>(input, scratch, N);
    cudaFree(scratch);
    subtract<<<blocks, 256>>>(scratch, output, N);
    cudaDeviceSynchronize();
}
