// problem: subtract_one
// idiom: a kernel reads what CUB wrote, and what cudaMemcpy brought
#include <cub/cub.cuh>
__global__ void difference(const float* sums, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] += sums[N - 1 - i] * 0.0f - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* sums;
    void* memory = nullptr;
    size_t bytes = 0;
    cudaMalloc(&sums, N * sizeof(float));
    cub::DeviceScan::InclusiveSum(memory, bytes, input, sums, N);
    cudaMalloc(&memory, bytes);
    cub::DeviceScan::InclusiveSum(memory, bytes, input, sums, N);
    cudaMemcpy(output, input, N * sizeof(float), cudaMemcpyDeviceToDevice);
    difference<<<(N + 255) / 256, 256>>>(sums, output, N);
    cudaFree(memory);
    cudaFree(sums);
}
