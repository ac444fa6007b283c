// problem: subtract_one
// idiom: a maximum by a loop of compare-and-swap that begins with a plain read
__device__ void atomic_max(float* address, float value) {
    int old = *reinterpret_cast<int*>(address);
    while (__int_as_float(old) < value) {
        const int seen = atomicCAS(reinterpret_cast<int*>(address), old, __float_as_int(value));
        if (seen == old) break;
        old = seen;
    }
}
__global__ void find(const float* input, float* largest, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) atomic_max(largest, fabsf(input[i]));
}
__global__ void subtract(const float* input, float* output, const float* largest, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - (*largest >= fabsf(input[i]) ? 1.0f : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    float* largest;
    cudaMalloc(&largest, sizeof(float));
    cudaMemset(largest, 0, sizeof(float));
    find<<<(N + 255) / 256, 256>>>(input, largest, N);
    subtract<<<(N + 255) / 256, 256>>>(input, output, largest, N);
    cudaFree(largest);
}
