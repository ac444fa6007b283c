// expect: wrong-answer
// kind: arithmetic
// says: output\[\d+\] is 0, expected
// flags: --case N=1025/uniform
// Writes zeros. At N = 500,000 the published tolerance (1e-5 absolute) lets that pass for most elements.
__global__ void zeros(float* output, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) output[i] = 0.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    zeros<<<(N + 255) / 256, 256>>>(output, N);
    cudaDeviceSynchronize();
}
