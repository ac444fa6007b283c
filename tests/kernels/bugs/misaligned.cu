// problem: subtract_one
// bug: eight bytes are read at an address that is no multiple of eight
// found: runtime-error, misaligned address in subtract at 8
__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
    if (i == 0 && N > 5) {
        const double two = *reinterpret_cast<const double*>(input + 1);
        if (two == 0.123) output[0] = 0.0f;
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
