// Clusters of blocks, and what an address in shared memory is to another block or to inline PTX.
#pragma once

#include <stdint.h>

#include "qualifiers.h"
#include "types.h"

namespace cudacpu {
dim3 cluster_shape();     // in blocks; of a launch without clusters one block
dim3 block_in_cluster();  // the running block's place
unsigned cluster_rank();
unsigned cluster_size();
// Waits until every thread of the cluster that has not ended is here.
void cluster_barrier();

// Where the same variable lies in the shared memory of another block of the cluster, and whose a pointer is.
void* map_shared(const void* own, unsigned rank);
unsigned rank_of_shared(const void* pointer);

// An address in the running block's shared memory as a number of 32 bits, and back.
uint32_t shared_address(const void* pointer);
void* shared_pointer(uint32_t address);
}  // namespace cudacpu

static inline size_t __cvta_generic_to_shared(const void* pointer) {
    return cudacpu::shared_address(pointer);
}
static inline void* __cvta_shared_to_generic(size_t address) {
    return cudacpu::shared_pointer(static_cast<uint32_t>(address));
}
static inline size_t __cvta_generic_to_global(const void* pointer) {
    return reinterpret_cast<size_t>(pointer);
}
static inline void* __cvta_global_to_generic(size_t address) { return reinterpret_cast<void*>(address); }

// Waiting is done where the others' work is needed.
CUDACPU_INLINE void __cluster_barrier_arrive() {}
CUDACPU_INLINE void __cluster_barrier_arrive_relaxed() {}
CUDACPU_INLINE void __cluster_barrier_wait() { cudacpu::cluster_barrier(); }
static inline bool __clusterDimIsSpecified() { return cudacpu::cluster_size() > 1; }
static inline dim3 __clusterDim() { return cudacpu::cluster_shape(); }
static inline unsigned __clusterSizeInBlocks() { return cudacpu::cluster_size(); }
static inline dim3 __clusterRelativeBlockIdx() { return cudacpu::block_in_cluster(); }
static inline unsigned __clusterRelativeBlockRank() { return cudacpu::cluster_rank(); }
static inline void* __cluster_map_shared_rank(const void* pointer, unsigned rank) {
    return cudacpu::map_shared(pointer, rank);
}
static inline unsigned __cluster_query_shared_rank(const void* pointer) {
    return cudacpu::rank_of_shared(pointer);
}
dim3 __clusterIdx();
dim3 __clusterGridDimInClusters();
