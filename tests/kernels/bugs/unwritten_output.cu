// problem: subtract_one
// bug: the output is taken for zero
// found: wrong-answer, reads 4 bytes that nobody has written, output in add at 6
__global__ void add(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] += input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    add<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
