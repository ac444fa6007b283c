// expect: accepted
// kind: good
// The maximum and the sum in managed memory, a variable and an allocation, which the host reads in between.
__managed__ float maximum;
__global__ void reduce(const float* input, float* result, int N, bool to_sum) {
    __shared__ float shared[256];
    float mine = to_sum ? 0.0f : -INFINITY;
    for (int i = threadIdx.x; i < N; i += 256) {
        mine = to_sum ? mine + expf(input[i] - maximum) : fmaxf(mine, input[i]);
    }
    shared[threadIdx.x] = mine;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            const float other = shared[threadIdx.x + half];
            shared[threadIdx.x] = to_sum ? shared[threadIdx.x] + other : fmaxf(shared[threadIdx.x], other);
        }
    }
    if (threadIdx.x == 0) *result = shared[0];
}
__global__ void normalise(const float* input, float* output, int N, float m, float sum) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = expf(input[i] - m) / sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* results;
    cudaMallocManaged(&results, 2 * sizeof(float));
    reduce<<<1, 256>>>(input, results, N, false);
    cudaDeviceSynchronize();
    maximum = results[0];
    reduce<<<1, 256>>>(input, results + 1, N, true);
    cudaDeviceSynchronize();
    normalise<<<(N + 255) / 256, 256>>>(input, output, N, results[0], results[1]);
    cudaDeviceSynchronize();
    cudaFree(results);
}
