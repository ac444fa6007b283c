// expect: accepted
// kind: good
// Each block leaves its (maximum, sum); the block that finishes last merges them, told by a counter.
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
__device__ unsigned arrived = 0;
__device__ Pair partial[64], whole;

__device__ Pair block_merge(Pair p) {
    __shared__ Pair shared[128];
    shared[threadIdx.x] = p;
    for (int half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] = merge(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
    p = shared[0];
    __syncthreads();
    return p;
}

__global__ void reduce(const float* input, int N) {
    Pair p = {-INFINITY, 0.0f};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) p = merge(p, Pair{input[i], 1.0f});
    p = block_merge(p);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = p;
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;  // wraps to 0 for the next call
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    p = threadIdx.x < gridDim.x ? partial[threadIdx.x] : Pair{-INFINITY, 0.0f};
    p = block_merge(p);
    if (threadIdx.x == 0) whole = p;
}

__global__ void write(const float* input, float* output, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) output[i] = expf(input[i] - whole.m) / whole.l;
}

extern "C" void solve(const float* input, float* output, int N) {
    int blocks = N < 64 * 128 ? (N + 127) / 128 : 64;
    reduce<<<blocks, 128>>>(input, N);
    write<<<(N + 127) / 128, 128>>>(input, output, N);
    cudaDeviceSynchronize();
}
