// problem: subtract_one
// bug: reads the left neighbour of the first element
// found: out-of-bounds, read .* at input.* 1 before the start in subtract at 7
__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= N) return;
    const float left = input[i - 1];
    output[i] = left == 0.123f ? 0.0f : input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
