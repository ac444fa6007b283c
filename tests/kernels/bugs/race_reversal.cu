// problem: subtract_one
// bug: no barrier between the store to shared memory and the read by another thread
// found: race in reverse at 8 and 9
__global__ void reverse(const float* input, float* output, int N) {
    __shared__ float tile[256];
    const int first = blockIdx.x * 256, count = min(256, N - first);
    const int t = threadIdx.x, from = count - 1 - t;
    if (t < count) tile[t] = input[first + t];
    if (t < count) output[first + from] = tile[from] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    reverse<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
