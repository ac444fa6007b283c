// problem: subtract_one
// idiom: tree reduction in shared memory
__global__ void subtract(const float* input, float* output, int N) {
    __shared__ float sum[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    sum[t] = 1.0f / 256.0f;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) sum[t] += sum[t + half];
    }
    __syncthreads();
    if (i < N) output[i] = input[i] - sum[0];
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
