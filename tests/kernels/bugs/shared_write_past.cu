// problem: subtract_one
// bug: writes past the end of a __shared__ array
// found: out-of-bounds, wrote .* behind the end of .* bytes of the __shared__ variable tile in subtract at 9
__global__ void subtract(const float* input, float* output, int N) {
    __shared__ float tile[256];
    __shared__ float other[256];
    const int i = blockIdx.x * 256 + threadIdx.x, t = threadIdx.x;
    other[t] = 1.0f;
    tile[t + 1] = i < N ? input[i] : 0.0f;
    if (i < N) output[i] = tile[t + 1] - other[t];
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
