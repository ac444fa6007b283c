// problem: subtract_one
// bug: writes one element too many
// found: out-of-bounds, wrote .* at output.* 1 past the end in subtract at 6
__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i <= N) output[i] = (i < N ? input[i] : 0.0f) - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
