// problem: subtract_one
// idiom: volatile shared memory in one warp, with __syncwarp between read and write
__device__ void step(volatile float* sum, int t, int distance) {
    const float value = sum[t] + sum[t + distance];
    __syncwarp();
    sum[t] = value;
    __syncwarp();
}
__global__ void reduce(const float* input, float* output, int N) {
    __shared__ volatile float sum[64 + 16];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    sum[t] = 1.0f / 64.0f;
    if (t < 16) sum[64 + t] = 0.0f;
    __syncthreads();
    if (t < 32) {
        for (int distance = 32; distance > 0; distance /= 2) step(sum, t, distance);
    }
    __syncthreads();
    if (i < N) output[i] = input[i] - sum[0];
}
extern "C" void solve(const float* input, float* output, int N) {
    reduce<<<(N + 63) / 64, 64>>>(input, output, N);
    cudaDeviceSynchronize();
}
