// expect: accepted
// kind: good
// One warp, butterflies of shuffles, no shared memory.
__global__ void softmax(const float* input, float* output, int N) {
    const int lane = threadIdx.x;
    float m = -INFINITY;
    for (int i = lane; i < N; i += warpSize) m = fmaxf(m, input[i]);
    for (int mask = 16; mask; mask >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, mask));
    float sum = 0;
    for (int i = lane; i < N; i += warpSize) sum += exp2f((input[i] - m) * 1.4426950408889634f);
    for (int mask = 1; mask < 32; mask <<= 1) sum += __shfl_xor_sync(~0u, sum, mask);
    for (int i = lane; i < N; i += warpSize) output[i] = exp2f((input[i] - m) * 1.4426950408889634f) / sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 32>>>(input, output, N);
    cudaDeviceSynchronize();
}
