// problem: subtract_one
// bug: two loads of CUB go through the same temporary memory without a barrier between them
// found: race in carry at 10 and 11
#include <cub/cub.cuh>
__global__ void carry(const float* input, float* output, int N) {
    using Load = cub::BlockLoad<float, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    __shared__ Load::TempStorage storage;
    const int first = blockIdx.x * 256, t = threadIdx.x * 4;
    float values[4], again[4];
    Load(storage).Load(input + first, values, N - first, 0.0f);
    Load(storage).Load(input + first, again, N - first, 0.0f);
    for (int i = 0; i < 4 && first + t + i < N; ++i)
        output[first + t + i] = values[i] - 1.0f + 0.0f * again[i];
}
extern "C" void solve(const float* input, float* output, int N) {
    carry<<<(N + 255) / 256, 64>>>(input, output, N);
    cudaDeviceSynchronize();
}
