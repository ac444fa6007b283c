// problem: subtract_one
// bug: the box is filled again while the other warp may still be reading it
// found: race in hand_over at 9 and 13
__global__ void hand_over(const float* input, float* output, int N) {
    __shared__ float box[32];
    const int lane = threadIdx.x % 32;
    for (int i = lane; i - lane < N; i += 32) {
        if (threadIdx.x < 32) {
            if (i < N) box[lane] = input[i] - 1.0f;
            asm volatile("bar.sync 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            if (i < N) output[i] = box[lane];
        }
    }
}
extern "C" void solve(const float* input, float* output, int N) {
    hand_over<<<1, 64>>>(input, output, N);
    cudaDeviceSynchronize();
}
