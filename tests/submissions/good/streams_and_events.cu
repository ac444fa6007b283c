// expect: accepted
// kind: good
// Two streams that wait for each other by events, and a time that nobody looks at.
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
__global__ void find(const float* input, float* m, int N) {
    float value = -INFINITY;
    for (int i = threadIdx.x; i < N; i += 256) value = fmaxf(value, input[i]);
    value = block_reduce(value, true);
    if (threadIdx.x == 0) *m = value;
}
__global__ void add(const float* input, const float* m, float* l, int N) {
    float value = 0.0f;
    for (int i = threadIdx.x; i < N; i += 256) value += expf(input[i] - *m);
    value = block_reduce(value, false);
    if (threadIdx.x == 0) *l = value;
}
__global__ void write(const float* input, float* output, const float* m, const float* l, int from, int N) {
    for (int i = from + threadIdx.x; i < N; i += 256) output[i] = expf(input[i] - *m) / *l;
}
extern "C" void solve(const float* input, float* output, int N) {
    cudaStream_t a, b;
    cudaEvent_t start, ready, done;
    cudaStreamCreate(&a);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&start);
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    cudaEventCreate(&done);
    float* scratch;
    cudaMallocAsync(&scratch, 2 * sizeof(float), a);
    cudaEventRecord(start, a);
    find<<<1, 256, 0, a>>>(input, scratch, N);
    add<<<1, 256, 0, a>>>(input, scratch, scratch + 1, N);
    cudaEventRecord(ready, a);
    cudaStreamWaitEvent(b, ready, 0);
    write<<<1, 256, 0, b>>>(input, output, scratch, scratch + 1, N / 2, N);
    write<<<1, 256, 0, a>>>(input, output, scratch, scratch + 1, 0, N / 2);
    cudaStreamSynchronize(b);
    cudaEventRecord(done, a);
    cudaEventSynchronize(done);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, start, done);
    cudaFreeAsync(scratch, a);
    cudaStreamSynchronize(a);
    cudaEventDestroy(start);
    cudaEventDestroy(ready);
    cudaEventDestroy(done);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
}
