// expect: wrong-answer
// kind: arithmetic
// Leaves out the maximum: exp overflows at large inputs.
__global__ void softmax(const float* input, float* output, int N) {
    float sum = 0.0f;
    for (int i = 0; i < N; ++i) sum += expf(input[i]);
    for (int i = threadIdx.x; i < N; i += blockDim.x) output[i] = expf(input[i]) / sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 32>>>(input, output, N);
    cudaDeviceSynchronize();
}
