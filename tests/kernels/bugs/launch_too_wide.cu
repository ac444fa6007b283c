// problem: subtract_one
// bug: more threads than a block may have
// found: runtime-error, invalid argument
__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 2048 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 2047) / 2048, 2048>>>(input, output, N);
    cudaDeviceSynchronize();
}
