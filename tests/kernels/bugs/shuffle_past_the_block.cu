// problem: subtract_one
// bug: a last warp of half the lanes sums over all of them
// found: takes no part in sum at 8
__global__ void sum(const float* input, float* output, int N) {
    const int i = blockIdx.x * 48 + threadIdx.x;
    int all = 1;
    for (int o = 16; o > 0; o /= 2) {
        all += __shfl_down_sync(0xffffffff, all, o);
    }
    if (i < N) output[i] = input[i] - (all > 0 ? 1.0f : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    sum<<<(N + 47) / 48, 48>>>(input, output, N);
    cudaDeviceSynchronize();
}
