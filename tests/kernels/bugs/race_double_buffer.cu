// problem: subtract_one
// bug: a double buffer whose halves are mixed up
// found: race in rotate at 10 and 12
__global__ void rotate(const float* input, float* output, int N) {
    __shared__ float buffer[2][256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float value = i < N ? input[i] : 0.0f;
    for (int round = 0; round < 4; ++round) {
        const int half = round / 2 % 2;
        buffer[half][t] = value;
        __syncthreads();
        value = buffer[half][t ^ 1];
    }
    if (i < N) output[i] = value - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    rotate<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
