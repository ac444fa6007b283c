// Runs the threads of one block on one OS thread: as plain calls until one waits, from then on as fibers.
#pragma once

#include <stdint.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "cudacpu/launch.h"
#include "cudacpu/thread.h"
#include "cudacpu/warp.h"
#include "fiber.h"
#include "memory.h"
#include "races.h"

#pragma GCC visibility push(hidden)
namespace cudacpu {
constexpr uint32_t kMostThreads = 1024;
constexpr uint32_t kWarpLanes = 32;

// One launch.
struct Job {
    const char* name;
    void (*thread)(void*);
    void* context;
    dim3 grid, block;
    size_t shared_bytes;
    uint64_t seed;
    uint64_t blocks;
    bool cooperative;
    dim3 cluster;       // blocks of one; nothing more than a block in most launches
    uint64_t together;  // how many blocks must run at once since they wait for each other; 0: any number
    std::atomic<uint64_t> next{0};  // the next block to hand out
    std::atomic<uint64_t> finished{0};
    std::atomic<cudaError_t> failure{cudaSuccess};  // why the grid was given up

    // Called by a block of a cooperative launch when all its threads wait for the grid, and when it has
    // ended.
    void grid_barrier();
    void end_block();
    void fail(cudaError_t error);

    // The same for a cluster. Clusters run one after another: a block of the next one begins when all of this
    // one have ended.
    bool is_clustered() const { return cluster.x * cluster.y * cluster.z > 1; }
    uint64_t block_at(uint64_t turn) const;
    bool begin_in_cluster(Worker* worker);
    void cluster_barrier();
    void end_in_cluster();
    Worker* member(uint32_t rank) const { return members_[rank]; }

  private:
    void complete_grid_barrier();
    void complete_cluster_barrier();
    std::mutex grid_mutex_;
    std::condition_variable grid_wake_;
    uint64_t grid_waiting_ = 0, grid_ended_ = 0, grid_generation_ = 0;
    uint64_t begun_ = 0, clusters_begun_ = 0, clusters_ended_ = 0;
    std::vector<Worker*> members_;
};

// The place of the running block in its cluster.
uint32_t rank_in_cluster(dim3 cluster);

// A library's thread-local variables, of which __shared__ ones are some, on one OS thread.
struct ThreadLocals {
    uintptr_t begin;
    size_t size;
};

enum class Wait : uint8_t { nothing, barrier, warp, active_mask };

struct Thread {
    uint3 index;
    uint32_t number;
    Fiber* fiber;
    Wait wait;
    // What it brought to a meeting of its warp, and what it takes away.
    WarpOp op;
    uint32_t mask, operand, width;
    uint64_t value;
    // What it brought to a barrier.
    bool predicate;
    BarrierResult barrier_result;
    const void* site;  // where in the program it waits

    uint32_t lane() const { return number % kWarpLanes; }
};

// Lanes that wait for each other under one mask.
struct Meeting {
    uint32_t mask, arrived;
};
struct Warp {
    uint32_t alive;  // lanes that exist and have not ended
    std::vector<Meeting> meetings;
};

// A barrier of a part of the block, by PTX: so many threads have come, and these of them wait.
constexpr uint32_t kNamedBarriers = 16;
struct NamedBarrier {
    uint32_t arrived = 0;
    std::vector<Thread*> waiting;
};

// The threads that could go on, in the order in which they may.
class ReadyQueue {
  public:
    uint32_t size() const { return size_; }
    void push(Thread* thread) { slots_[(head_ + size_++) % kMostThreads] = thread; }
    void clear() { size_ = 0; }
    Thread* pop() {
        Thread* thread = slots_[head_];
        head_ = (head_ + 1) % kMostThreads;
        --size_;
        return thread;
    }
    void bring_to_front(uint32_t position) {
        std::swap(slots_[head_], slots_[(head_ + position) % kMostThreads]);
    }

  private:
    Thread* slots_[kMostThreads];
    uint32_t head_ = 0, size_ = 0;
};

// An OS thread's own: the block that it runs, if any.
class Worker {
  public:
    Worker();
    ~Worker();

    void run(Job* job);  // blocks until none is left

    // For the running thread:
    BarrierResult barrier(bool predicate, const void* site);
    void named_barrier(uint32_t number, uint32_t count, bool waits, const void* site);
    uint64_t warp_meet(WarpOp op, uint32_t mask, uint64_t value, uint32_t operand, uint32_t width,
                       const void* site);
    uint32_t active_mask(const void* site);
    void in_step(unsigned number, const void* site);
    void yield();
    void grid_barrier(const void* site);
    void cluster_barrier(const void* site);
    // Gives up the whole grid, as a GPU does after an error; launches and copies fail from then on.
    [[noreturn]] void abandon(cudaError_t error);

    // Of the block that it runs; null while nobody looks for races.
    BlockClocks* clocks() const { return clocks_.get(); }

    Job* job = nullptr;
    Thread* current = nullptr;  // null outside kernels
    Fiber* running = nullptr;
    Range shared;  // dynamic shared memory
    // Looked up when first needed in a launch; in the same order on every OS thread.
    const std::vector<ThreadLocals>& thread_locals();

  private:
    void run_block(uint64_t number);
    void forget_block();
    void order_threads(uint64_t block_number);
    static void fiber_main();
    void run_threads();
    void end_thread();
    void park(Wait wait);
    Fiber* pick();
    void make_current(Thread* thread);
    void switch_to(Fiber* fiber);
    void release_barrier();
    void look_at_sites();
    std::string who_waits(const std::vector<const Thread*>& threads, const std::string& what) const;
    static bool complete(const Warp& warp, const Meeting& meeting);
    void finish_meeting(Warp& warp, size_t position);
    void answer(Thread* first, uint32_t arrived);
    bool release_active_mask();
    [[noreturn]] void deadlock();

    std::unique_ptr<BlockClocks> clocks_;
    FiberPool fibers_;
    Fiber home_;  // the OS thread's own stack
    std::vector<Thread> threads_;
    std::vector<Warp> warps_;
    std::vector<uint16_t> start_order_;
    ReadyQueue ready_;
    std::vector<Thread*> at_barrier_;
    NamedBarrier named_barriers_[kNamedBarriers];
    uint32_t count_ = 0, started_ = 0, alive_ = 0, asking_mask_ = 0;
    uint32_t idle_yields_ = 0;  // in a row, since a thread last waited or ended
    uint64_t grid_epoch_ = 0;   // how many barriers of a grid or a cluster this worker's blocks have passed
    std::vector<ThreadLocals> thread_locals_;
    bool step_recorded_ = false;  // in this launch
    bool shuffled_ = false, abandoned_ = false;
    std::minstd_rand random_;
    dim3 prepared_{0, 0, 0};      // the block size that threads_ is filled for
    uint64_t prepared_seed_ = 0;  // and start_order_
};

extern __thread Worker* this_worker __attribute__((tls_model("initial-exec")));

// This OS thread's worker, made when first asked for.
Worker* worker();

// For a fence of the running thread.
void watch_fence();

// Which block is the number-th to run under a seed.
uint64_t permuted(uint64_t number, uint64_t count, uint64_t seed);

const char* name_of(WarpOp op);
}  // namespace cudacpu
#pragma GCC visibility pop
