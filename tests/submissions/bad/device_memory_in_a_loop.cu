// expect: out-of-memory
// kind: memory
// flags: --case N=1/uniform --timeout 60
// Device memory until there is none.
__device__ float block_reduce(float value, bool maximum) {
    __shared__ float shared[256];
    shared[threadIdx.x] = value;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            float other = shared[threadIdx.x + half];
            shared[threadIdx.x] = maximum ? fmaxf(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
        }
    }
    __syncthreads();
    value = shared[0];
    __syncthreads();
    return value;
}
__global__ void softmax(const float* input, float* output, int N) {
    float m = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += 256) m = fmaxf(m, input[i]);
    m = block_reduce(m, true);
    for (int i = threadIdx.x; i < N; i += 256) sum += expf(input[i] - m);
    sum = block_reduce(sum, false);
    for (int i = threadIdx.x; i < N; i += 256) output[i] = expf(input[i] - m) / sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    void* kept;
    while (cudaMalloc(&kept, 1 << 28) == cudaSuccess) cudaMemset(kept, 1, 1 << 28);
    softmax<<<1, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
