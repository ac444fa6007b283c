// problem: subtract_one
// bug: a flag in device memory that nobody has set
// found: nobody has written in subtract at 7
__global__ void subtract(const float* input, float* output, const int* flag, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - 1.0f;
    if (i < N && *flag == 1) output[i] = 0.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    int* flag;
    cudaMalloc(&flag, sizeof(int));
    subtract<<<(N + 255) / 256, 256>>>(input, output, flag, N);
    cudaFree(flag);
}
