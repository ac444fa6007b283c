// problem: subtract_one
// bug: bytes of one word are fine, but each is read by the neighbour with no barrier
// found: race in bytes at 7 and 8
__global__ void bytes(const float* input, float* output, int N) {
    __shared__ unsigned char one[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    one[t] = 1;
    if (i < N) output[i] = input[i] - (one[(t + 1) % 256] ? 1.0f : 0.5f);
}
extern "C" void solve(const float* input, float* output, int N) {
    bytes<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
