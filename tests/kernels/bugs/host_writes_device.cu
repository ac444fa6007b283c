// problem: subtract_one
// bug: the host clears the output with memset, and not with cudaMemset
// found: runtime-error, host code writes output at 11
#include <cstring>

__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    memset(output, 0, N * sizeof(float));
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
