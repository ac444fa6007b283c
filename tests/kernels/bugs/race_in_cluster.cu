// problem: subtract_one
// bug: a block reads what the other block of its cluster writes, without a barrier of the cluster
// found: race in trade at 7 and 9
__global__ void __cluster_dims__(2, 1, 1) trade(const float* input, float* output, float* scratch, int N) {
    const int t = threadIdx.x, mine = blockIdx.x * 256 + t, other = (blockIdx.x ^ 1) * 256 + t;
    const float value = mine < N ? input[mine] : 0.0f;
    scratch[mine] = value;
    __syncthreads();
    const float theirs = scratch[other];
    if (other < N) output[other] = theirs - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    const int blocks = (N + 511) / 512 * 2;
    float* scratch;
    cudaMalloc(&scratch, blocks * 256 * sizeof(float));
    trade<<<blocks, 256>>>(input, output, scratch, N);
    cudaFree(scratch);
}
