// problem: subtract_one
// bug: a block reads what another block writes in the same launch
// found: race in shift at 6 and 9
__global__ void shift(const float* input, float* output, float* scratch, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) scratch[i] = input[i];
    __syncthreads();
    const int other = N - 1 - i;
    if (i < N) output[other] = scratch[other] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* scratch;
    cudaMalloc(&scratch, N * sizeof(float));
    shift<<<(N + 255) / 256, 256>>>(input, output, scratch, N);
    cudaFree(scratch);
}
