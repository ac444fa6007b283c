// problem: subtract_one
// bug: the same in memory of cudaMalloc
// found: out-of-bounds, wrote .*byte -\d+, \d+ bytes before the start of .* from cudaMalloc in subtract at 9
__global__ void subtract(const float* input, float* output, float* scratch, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= N) return;
    output[i] = input[i] - 1.0f;
    const int square = (i + 50000) * 50000;
    if (square < N) scratch[square] = 0.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* scratch;
    cudaMalloc(&scratch, N * sizeof(float));
    subtract<<<(N + 255) / 256, 256>>>(input, output, scratch, N);
    cudaFree(scratch);
}
