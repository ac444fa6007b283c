// expect: out-of-bounds
// kind: writes-outside
// says: output\[\d+\], 1 past the end of its
// flags: --case N=1025/uniform
// Clears the output with one element too many. CUDA refuses that only where it leaves an allocation.
__global__ void softmax(const float* input, float* output, int N) {
    float m = -INFINITY, sum = 0.0f;
    for (int i = 0; i < N; ++i) m = fmaxf(m, input[i]);
    for (int i = 0; i < N; ++i) sum += expf(input[i] - m);
    for (int i = threadIdx.x; i < N; i += 256) output[i] = expf(input[i] - m) / sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    cudaMemset(output, 0, (N + 1) * sizeof(float));
    softmax<<<1, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
