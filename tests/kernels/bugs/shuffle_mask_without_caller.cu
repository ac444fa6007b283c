// problem: subtract_one
// bug: a mask that leaves out lanes that call
// found: leaves it out in sum at 6
__global__ void sum(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float one = __shfl_sync(0x0000ffff, 1.0f, 0);
    if (i < N) output[i] = input[i] - one;
}
extern "C" void solve(const float* input, float* output, int N) {
    sum<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
