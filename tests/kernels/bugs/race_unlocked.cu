// problem: subtract_one
// bug: a lock that is given back without a fence
// found: race in add at 10
__global__ void add(const float* input, float* output, int* lock, float* total, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        *total += i;
        atomicExch(lock, 0);
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    int* lock;
    float* total;
    cudaMalloc(&lock, sizeof(int));
    cudaMalloc(&total, sizeof(float));
    cudaMemset(lock, 0, sizeof(int));
    cudaMemset(total, 0, sizeof(float));
    add<<<(N + 255) / 256, 256>>>(input, output, lock, total, N);
    cudaFree(lock);
    cudaFree(total);
}
