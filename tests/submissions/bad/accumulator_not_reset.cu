// expect: wrong-answer
// kind: remembers
// A __device__ sum that only the first call finds at 0.
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
__device__ float total = 0.0f;
__global__ void add(const float* input, float m, int N) {
    float sum = 0.0f;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) sum += expf(input[i] - m);
    sum = block_reduce(sum, false);
    if (threadIdx.x == 0) atomicAdd(&total, sum);
}
__global__ void maximum(const float* input, float* result, int N) {
    float m = -INFINITY;
    for (int i = threadIdx.x; i < N; i += 256) m = fmaxf(m, input[i]);
    m = block_reduce(m, true);
    if (threadIdx.x == 0) *result = m;
}
__global__ void divide(const float* input, float* output, float m, int N) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) output[i] = expf(input[i] - m) / total;
}
extern "C" void solve(const float* input, float* output, int N) {
    float m;
    maximum<<<1, 256>>>(input, output, N);
    cudaMemcpy(&m, output, sizeof(float), cudaMemcpyDeviceToHost);
    add<<<4, 256>>>(input, m, N);
    divide<<<4, 256>>>(input, output, m, N);
    cudaDeviceSynchronize();
}
