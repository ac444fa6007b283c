// problem: subtract_one
// idiom: shuffles under masks of half a warp, and votes
__global__ void halves(const float* input, float* output, int N) {
    const int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32;
    const unsigned mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    float one = 1.0f / 16.0f;
    if (lane < 16) {
        for (int o = 8; o > 0; o /= 2) one += __shfl_xor_sync(mask, one, o);
    } else {
        for (int o = 8; o > 0; o /= 2) one += __shfl_xor_sync(mask, one, o, 16);
    }
    const unsigned inside = __ballot_sync(0xffffffff, i < N);
    if (i < N) output[i] = input[i] - (inside >> lane & 1 ? one : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    halves<<<(N + 127) / 128, 128>>>(input, output, N);
    cudaDeviceSynchronize();
}
