// problem: subtract_one
// idiom: one warp fills a box for another, a barrier of two warps for each direction
__global__ void hand_over(const float* input, float* output, int N) {
    __shared__ float box[2][32];
    const int pair = threadIdx.x / 64, lane = threadIdx.x % 32;
    const int full = 1 + 2 * pair, empty = 2 + 2 * pair;
    for (int i = 32 * pair + lane; i - lane < N; i += 64) {
        if (threadIdx.x % 64 < 32) {
            if (i < N) box[pair][lane] = input[i] - 1.0f;
            asm volatile("bar.arrive %0, 64;" ::"r"(full) : "memory");
            asm volatile("bar.sync %0, 64;" ::"r"(empty) : "memory");
        } else {
            asm volatile("bar.sync %0, 64;" ::"r"(full) : "memory");
            if (i < N) output[i] = box[pair][lane];
            asm volatile("bar.arrive %0, 64;" ::"r"(empty) : "memory");
        }
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    hand_over<<<1, 128>>>(input, output, N);
    cudaDeviceSynchronize();
}
