// problem: subtract_one
// idiom: an inclusive scan of a block over two buffers, and one of each warp by shuffles
__global__ void scan(const float* input, float* output, int N) {
    __shared__ int sums[2][256], warps[8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t, lane = t % 32;
    int half = 0;
    sums[half][t] = 1;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        sums[1 - half][t] = sums[half][t] + (t >= distance ? sums[half][t - distance] : 0);
        half = 1 - half;
        __syncthreads();
    }
    int sum = 1;
    for (int distance = 1; distance < 32; distance *= 2) {
        const int left = __shfl_up_sync(0xffffffff, sum, distance);
        if (lane >= distance) sum += left;
    }
    if (lane == 31) warps[t / 32] = sum;
    __syncthreads();
    for (int w = 0; w < t / 32; ++w) sum += warps[w];
    if (i < N) output[i] = input[i] - float(sum) / float(sums[half][t]);
}
extern "C" void solve(const float* input, float* output, int N) {
    scan<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
