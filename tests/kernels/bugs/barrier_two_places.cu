// problem: subtract_one
// bug: one barrier, reached in both branches of an if
// found: in different places in subtract at 9 and 11
__global__ void subtract(const float* input, float* output, int N) {
    __shared__ float tile[256];
    const int i = blockIdx.x * 256 + threadIdx.x, t = threadIdx.x;
    tile[t] = i < N ? input[i] : 0.0f;
    if (t < 128) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    if ((i ^ 1) < N) output[i ^ 1] = tile[t ^ 1] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
