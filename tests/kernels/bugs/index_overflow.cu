// problem: subtract_one
// bug: an int index that overflows to a far negative one
// found: out-of-bounds, read 4 bytes at input.* before the start in subtract at 9
__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= N) return;
    output[i] = input[i] - 1.0f;
    const int square = (i + 50000) * 50000;
    if (square < N && input[square] == 0.123f) output[i] = 0.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
