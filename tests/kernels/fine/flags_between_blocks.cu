// problem: subtract_one
// idiom: blocks hand on a sum, in the order of their tickets
__device__ unsigned tickets;
__global__ void chain(const float* input, float* output, float* carry, volatile int* ready, int N) {
    __shared__ int block;
    __shared__ float before;
    if (threadIdx.x == 0) {
        block = atomicAdd(&tickets, 1);
        if (block > 0) {
            while (ready[block - 1] == 0) {
            }
            __threadfence();
        }
        before = block > 0 ? carry[block - 1] : 0.0f;
        carry[block] = before + 1.0f;
        __threadfence();
        ready[block] = 1;
    }
    __syncthreads();
    const int i = block * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - (before == block ? 1.0f : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    float* carry;
    int* ready;
    const int blocks = (N + 255) / 256;
    cudaMalloc(&carry, blocks * sizeof(float));
    cudaMalloc(&ready, blocks * sizeof(int));
    cudaMemset(ready, 0, blocks * sizeof(int));
    const unsigned none = 0;
    cudaMemcpyToSymbol(tickets, &none, sizeof none);
    chain<<<blocks, 256>>>(input, output, carry, ready, N);
    cudaFree(carry);
    cudaFree(ready);
}
