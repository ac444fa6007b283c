// problem: subtract_one
// bug: threads beyond N return before a barrier
// found: ended before a __syncthreads in subtract at 9
__global__ void subtract(const float* input, float* output, int N) {
    __shared__ float tile[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= N) return;
    tile[threadIdx.x] = input[i];
    __syncthreads();
    output[i] = tile[threadIdx.x] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
