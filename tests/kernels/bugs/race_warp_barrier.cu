// problem: subtract_one
// bug: __syncwarp where the whole block has to wait
// found: race in shift at 7 and 10
__global__ void shift(const float* input, float* output, int N) {
    __shared__ float tile[256];
    const int first = blockIdx.x * 256, count = min(256, N - first), t = threadIdx.x;
    if (t < count) tile[t] = input[first + t];
    __syncwarp();
    const int next = (t + 1) % count;
    if (t < count) output[first + next] = tile[next] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    shift<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
