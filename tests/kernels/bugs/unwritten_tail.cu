// problem: subtract_one
// bug: the tail of a tile is read but was not filled
// found: nobody has written in tail at 11
__global__ void tail(const float* input, float* output, int N) {
    extern __shared__ float tile[];
    const int i = blockIdx.x * 256 + threadIdx.x, t = threadIdx.x;
    if (i < N) tile[t] = input[i];
    __syncthreads();
    float largest = 0.0f;
    for (int j = 0; j < 256; ++j) {
        largest = fmaxf(largest, tile[j]);
    }
    if (i < N) output[i] = tile[t] - (largest < 0.0f ? 0.0f : 1.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    tail<<<(N + 255) / 256, 256, 256 * sizeof(float)>>>(input, output, N);
    cudaDeviceSynchronize();
}
