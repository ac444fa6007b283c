// problem: subtract_one
// idiom: a grid-stride loop with vector loads and a scalar tail, in place in scratch memory
__global__ void copy(const float* input, float* scratch, int N) {
    for (int i = blockIdx.x * 64 + threadIdx.x; i < N / 4; i += gridDim.x * 64) {
        reinterpret_cast<float4*>(scratch)[i] = reinterpret_cast<const float4*>(input)[i];
    }
    if (blockIdx.x == 0 && threadIdx.x < N % 4)
        scratch[N / 4 * 4 + threadIdx.x] = input[N / 4 * 4 + threadIdx.x];
}
__global__ void subtract(float* scratch, float* output, int N) {
    for (int i = blockIdx.x * 64 + threadIdx.x; i < N; i += gridDim.x * 64) {
        scratch[i] -= 1.0f;
        output[i] = scratch[i];
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    float* scratch;
    cudaMalloc(&scratch, N * sizeof(float));
    copy<<<7, 64>>>(input, scratch, N);
    subtract<<<5, 64>>>(scratch, output, N);
    cudaFree(scratch);
}
