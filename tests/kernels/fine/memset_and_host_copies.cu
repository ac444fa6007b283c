// problem: subtract_one
// idiom: memory that cudaMemset, cudaMemcpy and cudaMemcpyToSymbol have filled
#include <cstring>
#include <vector>
__constant__ float one[2];
__global__ void subtract(const float* input, float* output, const float* zeros, const float* ones, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float local[4];
    if (i < N) memcpy(local, &ones[i], sizeof(float));
    if (i < N) output[i] = input[i] - local[0] * one[1] + zeros[i];
}
extern "C" void solve(const float* input, float* output, int N) {
    float *zeros, *ones;
    const float host[2] = {0.0f, 1.0f};
    const std::vector<float> many(N, 1.0f);
    cudaMalloc(&zeros, N * sizeof(float));
    cudaMalloc(&ones, N * sizeof(float));
    cudaMemset(zeros, 0, N * sizeof(float));
    cudaMemcpy(ones, many.data(), N * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(one, host, sizeof host);
    subtract<<<(N + 255) / 256, 256>>>(input, output, zeros, ones, N);
    cudaFree(zeros);
    cudaFree(ones);
}
