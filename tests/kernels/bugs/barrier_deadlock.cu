// problem: subtract_one
// bug: half of a warp waits for the block, the other half for the warp
// found: runtime-error, deadlock in subtract at 8 and 10
__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
    if (threadIdx.x % 32 < 16) {
        __syncthreads();
    } else {
        __syncwarp();
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
