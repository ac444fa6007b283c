// expect: accepted
// kind: good
// __device__ variables, put back from the host before each call.
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
__device__ float total;
__device__ float maximum;
__global__ void find(const float* input, int N) {
    float m = -INFINITY;
    for (int i = threadIdx.x; i < N; i += 256) m = fmaxf(m, input[i]);
    m = block_reduce(m, true);
    if (threadIdx.x == 0) maximum = m;
}
__global__ void add(const float* input, int N) {
    float sum = 0.0f;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) sum += expf(input[i] - maximum);
    sum = block_reduce(sum, false);
    if (threadIdx.x == 0) atomicAdd(&total, sum);
}
__global__ void divide(const float* input, float* output, int N) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) output[i] = expf(input[i] - maximum) / total;
}
extern "C" void solve(const float* input, float* output, int N) {
    const float zero = 0.0f;
    cudaMemcpyToSymbol(total, &zero, sizeof zero);
    find<<<1, 256>>>(input, N);
    add<<<4, 256>>>(input, N);
    divide<<<4, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
