// Clusters: blocks that run at the same time, each on an OS thread of its own, and reach each other's shared
// memory.
#include "cudacpu/cluster.h"

#include <link.h>

#include "facts.h"
#include "scheduler.h"

// The C library's: where a library's thread-local variables lie on the calling thread.
struct TlsIndex {
    unsigned long module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex*);

namespace cudacpu {
namespace {
// What an address in shared memory is in 32 bits: dynamic memory first, then each library's variables.
constexpr uint32_t kDynamicAt = 0x400, kLibraryBits = 24;

Worker& in_kernel(const char* what) {
    Worker* self = this_worker;
    if (self == nullptr || self->current == nullptr) fatal("%s called outside a kernel", what);
    return *self;
}

int add_thread_locals(dl_phdr_info* library, size_t, void* data) {
    for (int i = 0; i < library->dlpi_phnum; ++i) {
        if (library->dlpi_phdr[i].p_type != PT_TLS || library->dlpi_tls_modid == 0) continue;
        TlsIndex index = {library->dlpi_tls_modid, 0};
        static_cast<std::vector<ThreadLocals>*>(data)->push_back(
            {reinterpret_cast<uintptr_t>(__tls_get_addr(&index)), library->dlpi_phdr[i].p_memsz});
    }
    return 0;
}

bool holds(const Range& range, uintptr_t address) { return address - range.lo < range.hi - range.lo; }
bool holds(const ThreadLocals& range, uintptr_t address) { return address - range.begin < range.size; }
}  // namespace

const std::vector<ThreadLocals>& Worker::thread_locals() {
    if (thread_locals_.empty()) dl_iterate_phdr(add_thread_locals, &thread_locals_);
    return thread_locals_;
}

// ---- who runs when ----------------------------------------------------------------------------------------

uint32_t rank_in_cluster(dim3 cluster) {
    return (blockIdx.z % cluster.z * cluster.y + blockIdx.y % cluster.y) * cluster.x + blockIdx.x % cluster.x;
}

// The number of the block that comes in this turn.
uint64_t Job::block_at(uint64_t turn) const {
    if (!is_clustered()) return permuted(turn, blocks, seed);
    const uint64_t size = together, number = permuted(turn / size, blocks / size, seed), rank = turn % size;
    const uint64_t width = grid.x / cluster.x, height = grid.y / cluster.y;
    const uint64_t x = number % width * cluster.x + rank % cluster.x;
    const uint64_t y = number / width % height * cluster.y + rank / cluster.x % cluster.y;
    const uint64_t z = number / width / height * cluster.z + rank / cluster.x / cluster.y;
    return (z * grid.y + y) * grid.x + x;
}

// Waits for the rest of the cluster. False: the grid has been given up.
bool Job::begin_in_cluster(Worker* worker) {
    worker->thread_locals();
    std::unique_lock<std::mutex> lock(grid_mutex_);
    members_.resize(together);
    members_[rank_in_cluster(cluster)] = worker;
    const uint64_t mine = clusters_begun_;
    if (++begun_ == together) {
        begun_ = 0;
        ++clusters_begun_;
        grid_wake_.notify_all();
    }
    grid_wake_.wait(lock, [&] { return clusters_begun_ != mine || failure != cudaSuccess; });
    return failure == cudaSuccess;
}

void Job::cluster_barrier() {
    std::unique_lock<std::mutex> lock(grid_mutex_);
    ++grid_waiting_;
    const uint64_t mine = grid_generation_;
    complete_cluster_barrier();
    grid_wake_.wait(lock, [&] { return grid_generation_ != mine || failure != cudaSuccess; });
}

void Job::complete_cluster_barrier() {
    if (grid_waiting_ == 0 || grid_waiting_ + grid_ended_ != together) return;
    // Whatever runs belongs to this cluster, so what holds for a grid holds here.
    if (instrumented && races_on()) grid_barrier_clocks();
    grid_waiting_ = 0;
    ++grid_generation_;
    grid_wake_.notify_all();
}

void Job::end_in_cluster() {
    std::unique_lock<std::mutex> lock(grid_mutex_);
    const uint64_t mine = clusters_ended_;
    if (++grid_ended_ == together) {
        grid_ended_ = 0;
        ++clusters_ended_;
        grid_wake_.notify_all();
    } else {
        complete_cluster_barrier();
    }
    grid_wake_.wait(lock, [&] { return clusters_ended_ != mine || failure != cudaSuccess; });
}

void Worker::cluster_barrier(const void* site) {
    if (!job->is_clustered()) {
        barrier(false, site);
        return;
    }
    const uint64_t before = grid_epoch_;
    barrier(false, site);
    if (grid_epoch_ != before) return;  // another thread of this block has waited
    ++grid_epoch_;
    job->cluster_barrier();
    if (job->failure != cudaSuccess) abandon(job->failure);
}

dim3 cluster_shape() { return in_kernel("a cluster's shape").job->cluster; }
dim3 block_in_cluster() {
    const dim3 shape = cluster_shape();
    return {blockIdx.x % shape.x, blockIdx.y % shape.y, blockIdx.z % shape.z};
}
unsigned cluster_rank() { return rank_in_cluster(cluster_shape()); }
unsigned cluster_size() {
    const dim3 shape = cluster_shape();
    return shape.x * shape.y * shape.z;
}
void cluster_barrier() { in_kernel("cluster.sync()").cluster_barrier(__builtin_return_address(0)); }

// ---- addresses --------------------------------------------------------------------------------------------

void* map_shared(const void* own, unsigned rank) {
    Worker& self = in_kernel("cluster.map_shared_rank()");
    if (rank >= cluster_size()) {
        fatal("kernel '%s': a cluster of %u blocks has no rank %u", self.job->name, cluster_size(), rank);
    }
    if (!self.job->is_clustered()) return const_cast<void*>(own);
    const auto address = reinterpret_cast<uintptr_t>(own);
    Worker& other = *self.job->member(rank);
    if (holds(self.shared, address))
        return reinterpret_cast<void*>(other.shared.begin + (address - self.shared.begin));
    for (size_t i = 0; i < self.thread_locals().size(); ++i) {
        const ThreadLocals& mine = self.thread_locals()[i];
        if (holds(mine, address))
            return reinterpret_cast<void*>(other.thread_locals()[i].begin + (address - mine.begin));
    }
    fatal("kernel '%s': cluster.map_shared_rank() of something that is not in shared memory", self.job->name);
}

unsigned rank_of_shared(const void* pointer) {
    Worker& self = in_kernel("cluster.query_shared_rank()");
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    for (unsigned rank = 0; self.job->is_clustered() && rank < cluster_size(); ++rank) {
        Worker& other = *self.job->member(rank);
        if (holds(other.shared, address)) return rank;
        for (const ThreadLocals& variables : other.thread_locals()) {
            if (holds(variables, address)) return rank;
        }
    }
    return cluster_rank();
}

uint32_t shared_address(const void* pointer) {
    Worker& self = in_kernel("an address in shared memory");
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    if (holds(self.shared, address)) return kDynamicAt + static_cast<uint32_t>(address - self.shared.begin);
    for (size_t i = 0; i < self.thread_locals().size(); ++i) {
        const ThreadLocals& mine = self.thread_locals()[i];
        if (holds(mine, address))
            return (static_cast<uint32_t>(i) + 1) << kLibraryBits |
                   static_cast<uint32_t>(address - mine.begin);
    }
    fatal("kernel '%s': something outside shared memory is taken for an address in it", self.job->name);
}

void* shared_pointer(uint32_t address) {
    Worker& self = in_kernel("an address in shared memory");
    const uint32_t library = address >> kLibraryBits, offset = address & ((1u << kLibraryBits) - 1);
    if (library == 0) return reinterpret_cast<void*>(self.shared.begin + offset - kDynamicAt);
    if (library > self.thread_locals().size()) {
        fatal("kernel '%s': 0x%x is no address in shared memory", self.job->name, address);
    }
    return reinterpret_cast<void*>(self.thread_locals()[library - 1].begin + offset);
}

void unsupported(const char* what) { fatal("cudacpu: unsupported: %s", what); }
}  // namespace cudacpu

using namespace cudacpu;

dim3 __clusterIdx() {
    const dim3 shape = cluster_shape();
    return {blockIdx.x / shape.x, blockIdx.y / shape.y, blockIdx.z / shape.z};
}
dim3 __clusterGridDimInClusters() {
    const dim3 shape = cluster_shape();
    return {gridDim.x / shape.x, gridDim.y / shape.y, gridDim.z / shape.z};
}
