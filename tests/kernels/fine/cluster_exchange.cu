// problem: subtract_one
// idiom: the two blocks of a cluster trade halves, through shared and through global memory
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) trade(const float* input, float* output, float* scratch, int N) {
    __shared__ float held[256];
    const cg::cluster_group cluster = cg::this_cluster();
    const int t = threadIdx.x, mine = blockIdx.x * 256 + t, other = (blockIdx.x ^ 1) * 256 + t;
    held[t] = mine < N ? input[mine] : 0.0f;
    scratch[mine] = held[t];
    cluster.sync();
    const float theirs = *cluster.map_shared_rank(&held[t], cluster.block_rank() ^ 1);
    if (other < N) output[other] = (theirs + scratch[other]) / 2 - 1.0f;
    cluster.sync();
}
extern "C" void solve(const float* input, float* output, int N) {
    const int blocks = (N + 511) / 512 * 2;
    float* scratch;
    cudaMalloc(&scratch, blocks * 256 * sizeof(float));
    trade<<<blocks, 256>>>(input, output, scratch, N);
    cudaDeviceSynchronize();
    cudaFree(scratch);
}
