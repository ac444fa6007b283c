// problem: subtract_one
// bug: a grid of zero blocks below 4096 elements
// found: invalid argument
__global__ void body(const float* input, float* output) {
    const int i = blockIdx.x * 1024 + threadIdx.x;
    output[i] = input[i] - 1.0f;
}
__global__ void rest(const float* input, float* output, int N) {
    for (int i = N / 4096 * 4096 + threadIdx.x; i < N; i += 1024) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    body<<<N / 4096 * 4, 1024>>>(input, output);
    rest<<<1, 1024>>>(input, output, N);
    cudaDeviceSynchronize();
}
