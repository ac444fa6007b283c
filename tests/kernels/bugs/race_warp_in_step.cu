// problem: subtract_one
// bug: warp-synchronous code that counts on lanes in step
// found: race in reduce at 10 and 11 and 12 and 13 and 14 and 15
__global__ void reduce(const float* input, float* output, int N) {
    __shared__ volatile float sum[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    sum[t] = 1.0f / 64.0f;
    __syncthreads();
    if (t < 32) {
        sum[t] += sum[t + 32];
        if (t < 16) sum[t] += sum[t + 16];
        if (t < 8) sum[t] += sum[t + 8];
        if (t < 4) sum[t] += sum[t + 4];
        if (t < 2) sum[t] += sum[t + 2];
        if (t < 1) sum[t] += sum[t + 1];
    }
    __syncthreads();
    if (i < N) output[i] = input[i] - sum[0];
}
extern "C" void solve(const float* input, float* output, int N) {
    reduce<<<(N + 63) / 64, 64>>>(input, output, N);
    cudaDeviceSynchronize();
}
