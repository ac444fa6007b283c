// expect: wrong-answer
// kind: undefined
// backend: cpu
// Half of the threads pass one barrier, half two, so that they do not meet where the sum is ready.
__global__ void softmax(const float* input, float* output, int N) {
    __shared__ float m, sum;
    if (threadIdx.x >= 64) {
        __syncthreads();
    } else {
        float value = -INFINITY;
        for (int i = 0; i < N; ++i) value = fmaxf(value, input[i]);
        if (threadIdx.x == 0) m = value;
        __syncthreads();
        double total = 0.0;
        for (int i = 0; i < N; ++i) total += expf(input[i] - value);
        if (threadIdx.x == 0) sum = total;
        __syncthreads();
    }
    for (int i = threadIdx.x; i < N; i += 128) output[i] = expf(input[i] - m) / sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 128>>>(input, output, N);
    cudaDeviceSynchronize();
}
