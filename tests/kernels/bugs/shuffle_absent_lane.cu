// problem: subtract_one
// bug: a shuffle under an if reads lanes that skip it
// found: takes no part in half at 8
__global__ void half(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32;
    if (i < N) output[i] = input[i] - 1.0f;
    if (lane < 16) {
        const int other = __shfl_down_sync(0xffff, i, 16);
        if (other < -1) output[0] = other;
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    half<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
