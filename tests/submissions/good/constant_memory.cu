// expect: accepted
// kind: good
// Maximum and sum go to the last kernel through __constant__ memory.
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
struct Scale {
    float m, l;
};
__constant__ Scale scale;
__device__ Scale found;
__global__ void reduce(const float* input, int N) {
    float m = -INFINITY, l = 0.0f;
    for (int i = threadIdx.x; i < N; i += 256) m = fmaxf(m, input[i]);
    m = block_reduce(m, true);
    for (int i = threadIdx.x; i < N; i += 256) l += expf(input[i] - m);
    l = block_reduce(l, false);
    if (threadIdx.x == 0) found = Scale{m, l};
}
__global__ void write(const float* input, float* output, int N) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) output[i] = __fdividef(expf(input[i] - scale.m), scale.l);
}
extern "C" void solve(const float* input, float* output, int N) {
    Scale mine;
    reduce<<<1, 256>>>(input, N);
    cudaMemcpyFromSymbol(&mine, found, sizeof mine);
    cudaMemcpyToSymbol(scale, &mine, sizeof mine);
    write<<<(N + 127) / 128, 128>>>(input, output, N);
    cudaDeviceSynchronize();
}
