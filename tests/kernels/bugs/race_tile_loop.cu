// problem: subtract_one
// bug: a tile is overwritten while others still read the one before
// found: race in tiles at 8 and 11
__global__ void tiles(const float* input, float* output, int N) {
    __shared__ float tile[256];
    const int t = threadIdx.x;
    for (int first = 0; first < N; first += 256) {
        if (first + t < N) tile[t] = input[first + t];
        __syncthreads();
        const int other = 255 - t;
        if (first + other < N) output[first + other] = tile[other] - 1.0f;
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    tiles<<<1, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
