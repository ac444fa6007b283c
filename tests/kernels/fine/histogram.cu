// problem: subtract_one
// idiom: atomics on shared, then on global memory
__global__ void histogram(const float* input, float* output, int* bins, int N) {
    __shared__ int own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) {
        atomicAdd(&own[i % 64], 1);
        output[i] = input[i] - 1.0f;
    }
    __syncthreads();
    if (threadIdx.x < 64 && own[threadIdx.x] > 0) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
extern "C" void solve(const float* input, float* output, int N) {
    int* bins;
    cudaMalloc(&bins, 64 * sizeof(int));
    cudaMemset(bins, 0, 64 * sizeof(int));
    histogram<<<4, 256>>>(input, output, bins, N);
    int counts[64];
    cudaMemcpy(counts, bins, sizeof counts, cudaMemcpyDeviceToHost);
    cudaFree(bins);
}
