// expect: out-of-bounds
// kind: reads-outside
// says: read 16 bytes at input\[\d+\], 1 past the end
// backend: cpu
// flags: --case N=1025/uniform
// Loads the tail as a whole float4. The values are not used, so no output shows it and a GPU lets it pass.
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
    for (int i = threadIdx.x * 4; i < N; i += 1024) {
        float4 x = *reinterpret_cast<const float4*>(input + i);
        output[i] = expf(x.x - m) / sum;
        if (i + 1 < N) output[i + 1] = expf(x.y - m) / sum;
        if (i + 2 < N) output[i + 2] = expf(x.z - m) / sum;
        if (i + 3 < N) output[i + 3] = expf(x.w - m) / sum;
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
