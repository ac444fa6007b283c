// expect: accepted
// kind: undefined
// backend: cpu
// flag: undefined-behaviour
// warns: ended before a __syncthreads
// Right, yet a quarter of the block has left before the barrier.
__global__ void softmax(const float* input, float* output, int N) {
    __shared__ float shared;
    if (threadIdx.x >= 96) return;
    float m = -INFINITY;
    double sum = 0.0;
    for (int i = 0; i < N; ++i) m = fmaxf(m, input[i]);
    for (int i = 0; i < N; ++i) sum += expf(input[i] - m);
    if (threadIdx.x == 0) shared = sum;
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += 96) output[i] = expf(input[i] - m) / shared;
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 128>>>(input, output, N);
    cudaDeviceSynchronize();
}
