// problem: subtract_one
// bug: reads past the end of a __shared__ array
// found: out-of-bounds, read .* behind the end of 1024 bytes of the __shared__ variable tile in subtract at 9
__global__ void subtract(const float* input, float* output, int N) {
    __shared__ float tile[256];
    const int i = blockIdx.x * 256 + threadIdx.x, t = threadIdx.x;
    tile[t] = i < N ? input[i] : 0.0f;
    __syncthreads();
    const float right = tile[t + 1];
    if (i < N) output[i] = input[i] - (right == 0.123f ? 0.0f : 1.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
