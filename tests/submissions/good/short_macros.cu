// expect: accepted
// kind: good
// Macros with the names that templates like to give their parameters, and a template in a namespace named solve.
#include <cuda_runtime.h>
#define T 256
#define P (T / 32)
#define R reduced
#define E(x) expf(x)
#define N n
#define value s[0]
#define type float
#define count blockDim.x
__device__ type block_reduce(type mine, bool maximum) {
    __shared__ type s[P];
    for (int offset = 16; offset > 0; offset /= 2) {
        const type R = __shfl_down_sync(0xffffffff, mine, offset);
        mine = maximum ? fmaxf(mine, R) : mine + R;
    }
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int p = 1; p < P; ++p) value = maximum ? fmaxf(value, s[p]) : value + s[p];
    __syncthreads();
    mine = value;
    __syncthreads();
    return mine;
}
__global__ void softmax(const type* input, type* output, int N) {
    type m = -INFINITY, l = 0;
#pragma unroll
    for (int i = threadIdx.x; i < N; i += count) m = fmaxf(m, input[i]);
    m = block_reduce(m, true);
    for (int i = threadIdx.x; i < N; i += count) l += E(input[i] - m);
    l = block_reduce(l, false);
    for (int i = threadIdx.x; i < N; i += count) output[i] = E(input[i] - m) / l;
}
namespace other {
template <class Number>
Number solve(Number x) { return x; }
}  // namespace other
extern "C" void solve(const type* input, type* output, int N) {
    softmax<<<1, other::solve(T)>>>(input, output, N);
    cudaDeviceSynchronize();
}
