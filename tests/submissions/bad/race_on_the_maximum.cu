// expect: accepted
// kind: undefined
// flag: undefined-behaviour
// warns: race on byte 0 of 32 bytes of the __shared__ variable shared: (write|read) .* at race_on_the_maximum.cu:(24|28), (write|read) .* at race_on_the_maximum.cu:(24|28)
// backend: cpu
// flags: --races
// The published kernel: after the maximum is known, a fast warp 0 may write its partial sum to shared[0] while a slow
// warp has yet to read the maximum from it. Right in nearly every run, here and on a GPU.
#include <cfloat>
__global__ void softmax(const float* input, float* output, int N) {
    __shared__ float shared[8];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float m = -FLT_MAX;
    for (long long i = threadIdx.x; i < N; i += 256) m = fmaxf(m, input[i]);
    for (int o = 16; o > 0; o /= 2) m = fmaxf(m, __shfl_down_sync(0xffffffff, m, o));
    if (lane == 0) shared[warp] = m;
    __syncthreads();
    if (warp == 0) {
        m = lane < 8 ? shared[lane] : -FLT_MAX;
        for (int o = 16; o > 0; o /= 2) m = fmaxf(m, __shfl_down_sync(0xffffffff, m, o));
        if (lane == 0) shared[0] = m;
    }
    __syncthreads();
    m = shared[0];
    float s = 0;
    for (long long i = threadIdx.x; i < N; i += 256) { float e = expf(input[i] - m); output[i] = e; s += e; }
    for (int o = 16; o > 0; o /= 2) s += __shfl_down_sync(0xffffffff, s, o);
    if (lane == 0) shared[warp] = s;
    __syncthreads();
    if (warp == 0) {
        s = lane < 8 ? shared[lane] : 0;
        for (int o = 16; o > 0; o /= 2) s += __shfl_down_sync(0xffffffff, s, o);
        if (lane == 0) shared[0] = s;
    }
    __syncthreads();
    s = shared[0];
    for (long long i = threadIdx.x; i < N; i += 256) output[i] *= 1 / s;
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
