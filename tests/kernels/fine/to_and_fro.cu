// problem: subtract_one
// idiom: two blocks change one value in turns, 300 times; whose turn it is may change while the other looks
__global__ void turns(float* value, volatile int* turn) {
    for (int round = blockIdx.x; round < 300; round += 2) {
        while (*turn != round) {
        }
        __threadfence();
        *value += 1.0f;
        __threadfence();
        *turn = round + 1;
    }
}
__global__ void subtract(const float* input, float* output, const float* value, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - *value / 300.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* value;
    int* turn;
    cudaMalloc(&value, sizeof(float));
    cudaMalloc(&turn, sizeof(int));
    cudaMemset(value, 0, sizeof(float));
    cudaMemset(turn, 0, sizeof(int));
    turns<<<2, 1>>>(value, turn);
    subtract<<<(N + 255) / 256, 256>>>(input, output, value, N);
    cudaFree(value);
    cudaFree(turn);
}
