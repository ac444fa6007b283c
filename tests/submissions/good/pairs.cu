// expect: accepted
// kind: good
// A struct of maximum and sum goes through one reduction: the online softmax.
struct __align__(8) Pair {
    float m, l;
};
__device__ Pair merge(Pair a, Pair b) {
    if (b.m > a.m) {
        Pair t = a;
        a = b;
        b = t;
    }
    if (b.l > 0) a.l += b.l * expf(b.m - a.m);
    return a;
}
__global__ void softmax(const float* input, float* output, int N) {
    __shared__ Pair shared[256];
    Pair p = {-INFINITY, 0.0f};
    for (int i = threadIdx.x; i < N; i += blockDim.x) p = merge(p, Pair{input[i], 1.0f});
    shared[threadIdx.x] = p;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] = merge(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
    p = shared[0];
    for (int i = threadIdx.x; i < N; i += blockDim.x) output[i] = expf(input[i] - p.m) / p.l;
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
