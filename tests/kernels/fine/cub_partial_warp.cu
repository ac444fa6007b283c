// problem: subtract_one
// idiom: a warp that is not full reduces its valid lanes; a direct load where only some threads come
#include <cub/cub.cuh>
__global__ void sums(const float* input, float* output, int N) {
    using Reduce = cub::WarpReduce<float>;
    using Load = cub::BlockLoad<float, 40, 1>;
    __shared__ Reduce::TempStorage warps[2];
    __shared__ Load::TempStorage storage;
    const int first = blockIdx.x * 40, warp = threadIdx.x / 32;
    float value[1] = {0.0f};
    if (first + threadIdx.x < N) Load(storage).Load(input + first, value);
    const float sum = Reduce(warps[warp]).Sum(value[0], warp == 0 ? 32 : 8);
    if (first + threadIdx.x < N) output[first + threadIdx.x] = value[0] - 1.0f + 0.0f * sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    sums<<<(N + 39) / 40, 40>>>(input, output, N);
    cudaDeviceSynchronize();
}
