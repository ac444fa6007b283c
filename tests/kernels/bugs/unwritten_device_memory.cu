// problem: subtract_one
// bug: memory from cudaMalloc is taken for zero
// found: nobody has written in histogram at 6
__global__ void histogram(const float* input, float* output, int* bins, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) atomicAdd(&bins[i % 16], 1);
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    int* bins;
    cudaMalloc(&bins, 16 * sizeof(int));
    histogram<<<(N + 255) / 256, 256>>>(input, output, bins, N);
    cudaFree(bins);
}
