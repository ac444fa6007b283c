// problem: subtract_one
// bug: lanes of one warp meet in different operations
// found: different operations in vote at 7 and 9
__global__ void vote(const float* input, float* output, int N) {
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.x < 16) {
        __syncwarp();
    } else {
        __any_sync(0xffffffff, i);
    }
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    vote<<<(N + 31) / 32, 32>>>(input, output, N);
    cudaDeviceSynchronize();
}
