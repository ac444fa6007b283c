// expect: out-of-bounds
// kind: reads-outside
// says: read \d+ bytes at input\[\d+\], 1 past the end
// backend: cpu
// flags: --case N=1025/uniform
// Takes a copy of the input with one element too many, which nobody looks at: a GPU lets it pass.
__global__ void softmax(const float* input, float* output, int N) {
    float m = -INFINITY, sum = 0.0f;
    for (int i = 0; i < N; ++i) m = fmaxf(m, input[i]);
    for (int i = 0; i < N; ++i) sum += expf(input[i] - m);
    for (int i = threadIdx.x; i < N; i += 256) output[i] = expf(input[i] - m) / sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* copy;
    cudaMalloc(&copy, (N + 1) * sizeof(float));
    cudaMemcpy(copy, input, (N + 1) * sizeof(float), cudaMemcpyDeviceToDevice);
    softmax<<<1, 256>>>(copy, output, N);
    cudaFree(copy);
}
