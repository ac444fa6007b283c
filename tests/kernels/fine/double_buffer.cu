// problem: subtract_one
// idiom: a double buffer with one barrier a round
__global__ void rotate(const float* input, float* output, int N) {
    __shared__ float buffer[2][256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float value = i < N ? input[i] : 0.0f;
    for (int round = 0; round < 4; ++round) {
        buffer[round % 2][t] = value;
        __syncthreads();
        value = buffer[round % 2][t ^ 1];
    }
    if (i < N) output[i] = value - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    rotate<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
