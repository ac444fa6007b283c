// problem: subtract_one
// bug: one array for two reductions, without a barrier before it is used again
// found: race in subtract at 6 and 8
__device__ float block_max(float value, float* shared) {
    for (int o = 16; o > 0; o /= 2) value = fmaxf(value, __shfl_down_sync(0xffffffff, value, o));
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    for (int w = 0; w < 8; ++w) value = fmaxf(value, shared[w]);
    return value;
}
__global__ void subtract(const float* input, float* output, int N) {
    __shared__ float shared[8];
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float one = block_max(threadIdx.x / 255.0f, shared);
    const float two = block_max(threadIdx.x / 127.5f, shared);
    if (i < N) output[i] = input[i] - (two - one);
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
