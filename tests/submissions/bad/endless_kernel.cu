// expect: time-limit-exceeded
// kind: endless
// flags: --timeout 1
// A kernel that never ends.
__global__ void spin(volatile float* output) {
    while (output[0] == output[0] || output[0] != output[0]) {
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    spin<<<1, 1>>>(output);
    cudaDeviceSynchronize();
}
