// expect: runtime-error
// kind: device-fault
// says: host code reads input\[0\] at host_reads_the_device.cu:\d+|SIGSEGV
// Looks for the maximum on the host, through a pointer to the device's memory.
#include <cmath>
__global__ void softmax(const float* input, float* output, int N, float m) {
    double sum = 0;  // in float so long a sum would be off, too
    for (int i = 0; i < N; ++i) sum += expf(input[i] - m);
    for (int i = threadIdx.x; i < N; i += 256) output[i] = float(expf(input[i] - m) / sum);
}
extern "C" void solve(const float* input, float* output, int N) {
    float m = -INFINITY;
    for (int i = 0; i < N; ++i) if (input[i] > m) m = input[i];
    softmax<<<1, 256>>>(input, output, N, m);
    cudaDeviceSynchronize();
}
