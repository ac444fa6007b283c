// problem: subtract_one
// bug: dynamic shared memory of one element too few
// found: out-of-bounds, wrote .* 0 bytes behind the end of 1020 bytes of dynamic shared in subtract at 7
__global__ void subtract(const float* input, float* output, int N) {
    extern __shared__ float tile[];
    const int i = blockIdx.x * 256 + threadIdx.x;
    tile[threadIdx.x] = i < N ? input[i] : 0.0f;
    if (i < N) output[i] = tile[threadIdx.x] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256, 255 * sizeof(float)>>>(input, output, N);
    cudaDeviceSynchronize();
}
