// problem: subtract_one
// bug: scratch memory of N elements, used up to N
// found: out-of-bounds, wrote .* behind the end of .* from cudaMalloc in scan at 6
__global__ void scan(const float* input, float* output, float* scratch, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) scratch[i + 1] = input[i];
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* scratch;
    cudaMalloc(&scratch, N * sizeof(float));
    scan<<<(N + 255) / 256, 256>>>(input, output, scratch, N);
    cudaFree(scratch);
}
