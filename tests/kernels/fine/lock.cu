// problem: subtract_one
// idiom: a lock by compare-and-swap around a plain sum
__device__ int lock, total;
__global__ void add(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        __threadfence();
        total += 1;
        __threadfence();
        atomicExch(&lock, 0);
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    add<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
