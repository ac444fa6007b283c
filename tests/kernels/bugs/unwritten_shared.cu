// problem: subtract_one
// bug: shared memory is added to before anybody has set it
// found: wrong-answer, nobody has written in sums at 7
__global__ void sums(const float* input, float* output, int N) {
    __shared__ float sum[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    sum[threadIdx.x] += 1.0f;
    if (i < N) output[i] = input[i] - sum[threadIdx.x];
}
extern "C" void solve(const float* input, float* output, int N) {
    sums<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
