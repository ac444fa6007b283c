// problem: subtract_one
// bug: what others have read is overwritten by a vector, in order by luck only: nobody fences
// found: accepted, race in reuse at 13 and 17
#include <cuda_runtime.h>
__global__ void reuse(const float* input, float* output, int N) {
    __shared__ float4 tile[32];
    __shared__ int readers;
    const int i = blockIdx.x * 32 + threadIdx.x, t = threadIdx.x;
    if (t == 0) readers = 0;
    if (t < 32) tile[t] = make_float4(t, 0.0f, 0.0f, i < N ? input[i] : 0.0f);
    __syncthreads();
    if (t < 32) {
        if (i < N) output[i] = tile[t].w - 1.0f;
        atomicAdd(&readers, 1);
    } else {
        while (atomicAdd(&readers, 0) < 32) __nanosleep(20);
        tile[t - 32] = make_float4(1.0f, 2.0f, 3.0f, 4.0f);
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    reuse<<<(N + 31) / 32, 64>>>(input, output, N);
    cudaDeviceSynchronize();
}
