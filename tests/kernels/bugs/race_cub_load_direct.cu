// problem: subtract_one
// bug: a direct load of CUB's is taken for a barrier
// found: race in reverse at 10 and 13
#include <cub/cub.cuh>
__global__ void reverse(const float* input, float* output, int N) {
    using Load = cub::BlockLoad<float, 256, 1>;
    __shared__ float others[256];
    __shared__ Load::TempStorage storage;
    const int first = blockIdx.x * 256, t = threadIdx.x;
    others[t] = first + t < N ? input[first + t] : 0.0f;
    float value[1];
    Load(storage).Load(input + first, value, N - first, 0.0f);
    const float other = others[255 - t];
    if (first + t < N) output[first + t] = value[0] - 1.0f + 0.0f * other;
}
extern "C" void solve(const float* input, float* output, int N) {
    reverse<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
