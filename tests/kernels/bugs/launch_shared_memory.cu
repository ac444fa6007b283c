// problem: subtract_one
// bug: more dynamic shared memory than was asked for
// found: runtime-error, invalid argument
__global__ void subtract(const float* input, float* output, int N) {
    extern __shared__ float tile[];
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256, 64 * 1024>>>(input, output, N);
    cudaDeviceSynchronize();
}
