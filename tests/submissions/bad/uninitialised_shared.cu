// expect: wrong-answer
// kind: undefined
// backend: cpu
// Adds to shared memory that nobody has set to 0.
__global__ void softmax(const float* input, float* output, int N) {
    __shared__ float total;
    float m = -INFINITY, sum = 0.0f;
    for (int i = 0; i < N; ++i) m = fmaxf(m, input[i]);
    for (int i = threadIdx.x; i < N; i += 32) sum += expf(input[i] - m);
    atomicAdd(&total, sum);
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += 32) output[i] = expf(input[i] - m) / total;
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 32>>>(input, output, N);
    cudaDeviceSynchronize();
}
