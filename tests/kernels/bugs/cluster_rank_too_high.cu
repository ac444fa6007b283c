// problem: subtract_one
// bug: the shared memory of a block that the cluster does not have
// found: runtime-error, a cluster of 2 blocks has no rank 2 in next
#include <cooperative_groups.h>
__global__ void __cluster_dims__(2, 1, 1) next(const float* input, float* output, int N) {
    __shared__ float held;
    const auto cluster = cooperative_groups::this_cluster();
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (threadIdx.x == 0) *cluster.map_shared_rank(&held, cluster.block_rank() + 1) = 1.0f;
    cluster.sync();
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    next<<<(N + 511) / 512 * 2, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
