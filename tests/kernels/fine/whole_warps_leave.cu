// problem: subtract_one
// idiom: warps that have nothing to do leave; those that stay meet only among themselves
__global__ void warps(const float* input, float* output, int N) {
    __shared__ float tile[8][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = blockIdx.x * 256 + warp * 32;
    if (first >= N) return;
    tile[warp][lane] = first + lane < N ? input[first + lane] : 0.0f;
    __syncwarp();
    const int other = 31 - lane;
    if (first + other < N) output[first + other] = tile[warp][other] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    warps<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
