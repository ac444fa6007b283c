// problem: subtract_one
// bug: a reduction that counts on lanes in step, right all the same
// found: accepted, count on running in step, without __syncwarp in reduce at 6
__device__ void last_warp(volatile float* sum, unsigned t) {
#pragma unroll
    for (unsigned s = 32; s > 0; s >>= 1) sum[t] += sum[t + s];
}
__global__ void reduce(const float* input, float* output, int N) {
    __shared__ float sum[64 + 32];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    sum[t] = 1.0f / 64.0f;
    if (t < 32) sum[64 + t] = 0.0f;
    __syncthreads();
    if (t < 32) last_warp(sum, t);
    __syncthreads();
    if (i < N) output[i] = input[i] - sum[0];
}
extern "C" void solve(const float* input, float* output, int N) {
    reduce<<<(N + 63) / 64, 64>>>(input, output, N);
    cudaDeviceSynchronize();
}
