// expect: wrong-answer
// kind: tail
// says: N=
// flags: --case N=1025/uniform
// Four elements at a time everywhere: right only where N is a multiple of 4.
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
__global__ void softmax(const float4* input, float4* output, int N) {
    float m = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < N / 4; i += 256) {
        float4 x = input[i];
        m = fmaxf(m, fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)));
    }
    m = block_reduce(m, true);
    for (int i = threadIdx.x; i < N / 4; i += 256) {
        float4 x = input[i];
        sum += expf(x.x - m) + expf(x.y - m) + expf(x.z - m) + expf(x.w - m);
    }
    sum = block_reduce(sum, false);
    for (int i = threadIdx.x; i < N / 4; i += 256) {
        float4 x = input[i];
        output[i] = make_float4(expf(x.x - m) / sum, expf(x.y - m) / sum, expf(x.z - m) / sum, expf(x.w - m) / sum);
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 256>>>(reinterpret_cast<const float4*>(input), reinterpret_cast<float4*>(output), N);
    cudaDeviceSynchronize();
}
