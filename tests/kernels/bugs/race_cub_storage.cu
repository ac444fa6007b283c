// problem: subtract_one
// bug: the temporary memory of a collective of CUB is used again without a barrier
// found: race in sums at 10 and 11
#include <cub/cub.cuh>
__global__ void sums(const float* input, float* output, int N) {
    using Reduce = cub::BlockReduce<float, 256>;
    __shared__ typename Reduce::TempStorage storage;
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float value = i < N ? input[i] : 0.0f;
    const float sum = Reduce(storage).Sum(value);
    const float most = Reduce(storage).Reduce(value, cub::Max());
    if (i < N) output[i] = value - 1.0f + (most > sum ? 0.0f : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    sums<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
