// expect: accepted
// kind: good
// Keeps scratch from call to call and grows it when a larger N comes: no leak.
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
__global__ void exponentials(const float* input, float* scratch, float* total, int N) {
    float m = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += 256) m = fmaxf(m, input[i]);
    m = block_reduce(m, true);
    for (int i = threadIdx.x; i < N; i += 256) sum += scratch[i] = expf(input[i] - m);
    sum = block_reduce(sum, false);
    if (threadIdx.x == 0) *total = sum;
}
__global__ void divide(const float* scratch, float* output, const float* total, int N) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = scratch[i] / *total;
}
extern "C" void solve(const float* input, float* output, int N) {
    static float* scratch = nullptr;
    static int capacity = 0;
    if (N > capacity) {
        cudaFree(scratch);
        cudaMalloc(&scratch, (N + 1) * sizeof(float));
        capacity = N;
    }
    exponentials<<<1, 256>>>(input, scratch, scratch + capacity, N);
    divide<<<(N + 255) / 256, 256>>>(scratch, output, scratch + capacity, N);
    cudaDeviceSynchronize();
}
