// expect: accepted
// kind: good
// The maximum by atomicMax on unsigned integers whose order is that of the floats.
__device__ __forceinline__ unsigned encode(float x) {
    unsigned bits = __float_as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ float decode(unsigned key) {
    return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}
__global__ void find(const float* x, unsigned* key, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicMax(key, encode(x[i]));
}
__global__ void accumulate(const float* x, const unsigned* key, double* total, int n) {
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += exp((double)x[i] - decode(*key));
    atomicAdd(total, sum);
}
__global__ void write(const float* x, float* y, const unsigned* key, const double* total, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = expf(x[i] - decode(*key)) / *total;
}
extern "C" void solve(const float* input, float* output, int N) {
    if (input == nullptr || output == nullptr || N <= 0) return;
    struct State {
        double total;
        unsigned key;
    }* state;
    cudaMalloc((void**)&state, sizeof(State));
    cudaMemset(state, 0, sizeof(State));
    find<<<8, 128>>>(input, &state->key, N);
    accumulate<<<8, 128>>>(input, &state->key, &state->total, N);
    write<<<8, 128>>>(input, output, &state->key, &state->total, N);
    cudaFree(state);
}
