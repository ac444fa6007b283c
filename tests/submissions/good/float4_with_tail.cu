// expect: accepted
// kind: good
// Four elements a load, the rest one by one.
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
    const float4* input4 = reinterpret_cast<const float4*>(input);
    float4* output4 = reinterpret_cast<float4*>(output);
    int fours = N / 4;
    float m = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < fours; i += 256) {
        float4 x = input4[i];
        m = fmaxf(m, fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)));
    }
    for (int i = 4 * fours + threadIdx.x; i < N; i += 256) m = fmaxf(m, input[i]);
    m = block_reduce(m, true);
    for (int i = threadIdx.x; i < fours; i += 256) {
        float4 x = __ldg(input4 + i);
        sum += expf(x.x - m) + expf(x.y - m) + expf(x.z - m) + expf(x.w - m);
    }
    for (int i = 4 * fours + threadIdx.x; i < N; i += 256) sum += expf(input[i] - m);
    sum = block_reduce(sum, false);
    for (int i = threadIdx.x; i < fours; i += 256) {
        float4 x = input4[i];
        output4[i] = make_float4(expf(x.x - m) / sum, expf(x.y - m) / sum, expf(x.z - m) / sum, expf(x.w - m) / sum);
    }
    for (int i = 4 * fours + threadIdx.x; i < N; i += 256) output[i] = expf(input[i] - m) / sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
