// expect: out-of-bounds
// kind: writes-outside
// says: output
// flags: --case N=1025/uniform
// Writes a million elements past the end.
__global__ void softmax(const float* input, float* output, int N) {
    __shared__ float shared[256];
    float m = -INFINITY;
    for (int i = threadIdx.x; i < N; i += 256) m = fmaxf(m, input[i]);
    shared[threadIdx.x] = m;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
    m = shared[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += 256) sum += expf(input[i] - m);
    shared[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    __syncthreads();
    sum = shared[0];
    for (int i = threadIdx.x; i < N; i += 256) output[i] = expf(input[i] - m) / sum;
    if (threadIdx.x == 0) output[N + 1000000] = 0.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
