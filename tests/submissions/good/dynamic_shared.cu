// expect: accepted
// kind: good
// Two arrays in one piece of dynamic shared memory.
__global__ void softmax_kernel(const float* __restrict__ input, float* __restrict__ output, int N) {
    extern __shared__ float memory[];
    float* maxima = memory;
    float* sums = memory + blockDim.x;
    const int t = threadIdx.x;
    float m = -INFINITY;
    for (int i = t; i < N; i += blockDim.x) m = max(m, input[i]);
    maxima[t] = m;
    __syncthreads();
    for (int s = blockDim.x >> 1; s; s >>= 1) {
        if (t < s) maxima[t] = max(maxima[t], maxima[t + s]);
        __syncthreads();
    }
    float sum = 0.f;
    for (int i = t; i < N; i += blockDim.x) sum += __expf(input[i] - maxima[0]);
    sums[t] = sum;
    __syncthreads();
    for (int s = blockDim.x >> 1; s; s >>= 1) {
        if (t < s) sums[t] += sums[t + s];
        __syncthreads();
    }
    const float scale = 1.f / sums[0];
    for (int i = t; i < N; i += blockDim.x) output[i] = __expf(input[i] - maxima[0]) * scale;
}
extern "C" void solve(const float* input, float* output, int N) {
    const int threads = 512;
    softmax_kernel<<<1, threads, 2 * threads * sizeof(float)>>>(input, output, N);
    cudaDeviceSynchronize();
}
