// problem: subtract_one
// idiom: a loop that all threads leave together, by a vote of the block
__global__ void rounds(const float* input, float* output, int N) {
    __shared__ int left[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    left[t] = t % 7;
    while (__syncthreads_or(left[t] > 0)) {
        if (left[t] > 0) --left[t];
    }
    if (i < N) output[i] = input[i] - (left[255 - t] == 0 ? 1.0f : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    rounds<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
