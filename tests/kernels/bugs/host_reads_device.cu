// problem: subtract_one
// bug: the host looks at the input where it lies on the device
// found: runtime-error, host code reads input at 12
#include <cmath>

__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    if (N <= 0) return;
    if (std::isnan(input[0])) return;
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
