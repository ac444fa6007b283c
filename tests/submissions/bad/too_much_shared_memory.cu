// expect: runtime-error
// kind: launch-error
// says: a CUDA call failed and the output is wrong: invalid argument
// flags: --case N=1025/uniform
// 100 KB of dynamic shared memory need cudaFuncSetAttribute; the refusal is never asked for.
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
    extern __shared__ float kept[];
    float m = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += 256) m = fmaxf(m, input[i]);
    m = block_reduce(m, true);
    for (int i = threadIdx.x; i < N; i += 256) sum += expf(input[i] - m);
    sum = block_reduce(sum, false);
    for (int i = threadIdx.x; i < N; i += 256) {
        kept[threadIdx.x] = expf(input[i] - m) / sum;
        output[i] = kept[threadIdx.x];
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 256, 100 << 10>>>(input, output, N);
    cudaDeviceSynchronize();
}
