// problem: subtract_one
// idiom: two kernels on a stream, the second reads other elements than it wrote
__global__ void copy(const float* input, float* scratch, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) scratch[N - 1 - i] = input[i];
}
__global__ void subtract(const float* scratch, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = scratch[N - 1 - i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* scratch;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&scratch, N * sizeof(float));
    copy<<<(N + 255) / 256, 256, 0, stream>>>(input, scratch, N);
    subtract<<<(N + 255) / 256, 256, 0, stream>>>(scratch, output, N);
    cudaStreamSynchronize(stream);
    cudaFree(scratch);
    cudaStreamDestroy(stream);
}
