// Thread block clusters and launches with attributes: compute capability 9.0.
#include <cooperative_groups.h>

#include "conformance.h"

namespace cg = cooperative_groups;

// Each block tells its neighbour a number through the neighbour's shared memory, static and dynamic.
__global__ void ring(int* out) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[2];
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    if (threadIdx.x < 2) fixed[threadIdx.x] = 0;
    dynamic[threadIdx.x] = 0;
    cluster.sync();
    if (threadIdx.x < 2) cluster.map_shared_rank(fixed, next)[threadIdx.x] = 100 * blockIdx.x + threadIdx.x;
    cluster.map_shared_rank(dynamic, next)[threadIdx.x] = 1000 * blockIdx.x + threadIdx.x;
    cluster.sync();
    out[blockIdx.x * blockDim.x + threadIdx.x] = dynamic[threadIdx.x] + fixed[threadIdx.x % 2];
    cluster.sync();
}
static cudaLaunchConfig_t config_of(int blocks, int threads, cudaLaunchAttribute* attribute, int cluster) {
    *attribute = {};
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = cluster;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = threads * sizeof(int);
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}
FEATURE(shared_memory_of_other_blocks) {
    Output<int> out(8 * 64);
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = config_of(8, 64, &attribute, 4);
    EQUAL(cudaLaunchKernelEx(&config, ring, out.data), cudaSuccess);
    std::vector<int> expected;
    for (int i = 0; i < 8 * 64; ++i) {
        const int block = i / 64, thread = i % 64, before = block / 4 * 4 + (block + 3) % 4;
        expected.push_back(1000 * before + thread + 100 * before + thread % 2);
    }
    out.expect(expected);
}

__global__ void __cluster_dims__(2, 1, 1) counted(int* out) {
    __shared__ int total;
    const cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) total = 0;
    cluster.sync();
    atomicAdd(cluster.map_shared_rank(&total, 0), (int)cluster.thread_rank());
    cluster.sync();
    if (cluster.thread_rank() == 0) out[blockIdx.x / 2] = total;
}
FEATURE(cluster_dimensions_of_a_kernel) {
    Output<int> out(3);
    counted<<<6, 64>>>(out);
    out.expect_all(127 * 128 / 2);
}

__global__ void shape(int* out) {
    const cg::cluster_group cluster = cg::this_cluster();
    const dim3 at = cluster.block_index(), of = cluster.dim_blocks();
    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    out[4 * block] = 10 * at.x + at.y;
    out[4 * block + 1] = cluster.block_rank() * 10 + of.x * of.y;
    out[4 * block + 2] = cluster.num_threads();
    out[4 * block + 3] = cluster.query_shared_rank(out) * 0 + cluster.dim_threads().x;
}
FEATURE(clusters_of_two_dimensions) {
    Output<int> out(4 * 8);
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = config_of(4, 32, &attribute, 2);
    config.gridDim = dim3(4, 2);
    attribute.val.clusterDim.y = 2;
    EQUAL(cudaLaunchKernelEx(&config, shape, out.data), cudaSuccess);
    std::vector<int> expected;
    for (int y = 0; y < 2; ++y) {
        for (int x = 0; x < 4; ++x)
            expected.insert(expected.end(), {10 * (x % 2) + y, 10 * (y * 2 + x % 2) + 4, 128, 64});
    }
    out.expect(expected);
}

__global__ void without(int* out) {
    const cg::cluster_group cluster = cg::this_cluster();
    cluster.sync();
    out[blockIdx.x] = cluster.num_blocks() * 10 + cluster.block_rank();
}
FEATURE(no_cluster_is_one_block) {
    Output<int> out(3);
    without<<<3, 32>>>(out);
    out.expect_all(10);
}

FEATURE(refused_clusters) {
    Output<int> out(8 * 64);
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = config_of(7, 64, &attribute, 2);
    EQUAL(cudaLaunchKernelEx(&config, ring, out.data) != cudaSuccess, true);
    config = config_of(16, 64, &attribute, 16);
    EQUAL(cudaLaunchKernelEx(&config, ring, out.data) != cudaSuccess, true);
    cudaGetLastError();
    EQUAL(cudaFuncSetAttribute((const void*)ring, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          cudaSuccess);
    cudaGetLastError();
    int size = 0;
    EQUAL(cudaOccupancyMaxPotentialClusterSize(&size, ring, &config), cudaSuccess);
    EQUAL(size, 16);
}

__global__ void after(int* out) {
    cudaGridDependencySynchronize();
    out[threadIdx.x] = threadIdx.x;
    cudaTriggerProgrammaticLaunchCompletion();
}
FEATURE(programmatic_dependent_launch) {
    Output<int> out(32);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.attrs = &attribute;
    config.numAttrs = 1;
    EQUAL(cudaLaunchKernelEx(&config, after, out.data), cudaSuccess);
    std::vector<int> expected;
    for (int i = 0; i < 32; ++i) expected.push_back(i);
    out.expect(expected);
}
