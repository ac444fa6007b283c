// The threads of a block: which one runs next, and the block-wide barrier.
#include "scheduler.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>

#include "api_state.h"
#include "facts.h"

__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread dim3 blockDim;
__thread dim3 gridDim;

namespace cudacpu {
void grid_barrier();
bool grid_is_cooperative();

__thread unsigned char* dynamic_shared;
__thread unsigned long long block_count;
__thread Worker* this_worker;

namespace {
constexpr size_t kPage = 4096;
// The buffer and an inaccessible page behind it.
constexpr size_t kSharedMapping = (kSharedMost + kPage - 1) / kPage * kPage + 16 * kPage;

// Deletes the worker when its OS thread ends.
struct WorkerOwner {
    ~WorkerOwner() {
        delete this_worker;
        this_worker = nullptr;
    }
};
}  // namespace

Worker* worker() {
    if (this_worker == nullptr) {
        static thread_local WorkerOwner owner;
        (void)owner;
        this_worker = new Worker;
    }
    return this_worker;
}

Worker::Worker() : fibers_(&Worker::fiber_main), threads_(kMostThreads), warps_(kMostThreads / kWarpLanes) {
    // Page-aligned, which is more than the 1024 bytes that a GPU promises.
    void* memory = mmap(nullptr, kSharedMapping, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) fatal("no memory for a block's shared memory");
    mprotect(static_cast<char*>(memory) + kSharedMapping - kPage, kPage, PROT_NONE);
    const uintptr_t lo = reinterpret_cast<uintptr_t>(memory);
    shared = {kDynamicShared, lo, lo, lo, lo + kSharedMapping};
    at_barrier_.reserve(kMostThreads);
    start_order_.resize(kMostThreads);
    use_alternate_stack();
}

Worker::~Worker() {
    munmap(reinterpret_cast<void*>(shared.lo), kSharedMapping);
    delete_shadow(shared.shadow);
}

// ---- blocks ---------------------------------------------------------------------------------------------

void Worker::run(Job* new_job) {
    job = new_job;
    dynamic_shared = reinterpret_cast<unsigned char*>(shared.begin);
    shared.end = shared.begin + job->shared_bytes;
    if (instrumented && shared.shadow == nullptr) {
        shared.shadow = new_shadow(shared.begin, kSharedMapping, false, 0);
        shared.shadow->is_shared_memory = true;
    }
    if (!(instrumented && races_on())) {
        clocks_.reset();
    } else if (clocks_ == nullptr) {
        clocks_.reset(new BlockClocks);
    }
    blockDim = job->block;
    gridDim = job->grid;
    count_ = job->block.x * job->block.y * job->block.z;
    thread_locals_.clear();
    step_recorded_ = false;
    for (uint64_t turn; (turn = job->next.fetch_add(1, std::memory_order_relaxed)) < job->blocks;) {
        run_block(job->block_at(turn));
    }
    if (clocks_ != nullptr) clocks_->settle();
    job = nullptr;
}

void Worker::run_block(uint64_t number) {
    const uint64_t plane = static_cast<uint64_t>(job->grid.x) * job->grid.y;
    blockIdx = {static_cast<unsigned>(number % job->grid.x),
                static_cast<unsigned>(number % plane / job->grid.x), static_cast<unsigned>(number / plane)};
    if (job->is_clustered() && !job->begin_in_cluster(this)) return;
    ++block_count;
    if (clocks_ != nullptr) clocks_->begin_block(number, count_);
    if (orders().poison >= 0) memset(dynamic_shared, orders().poison, job->shared_bytes);
    if (shared.shadow != nullptr) {
        shared.shadow->pattern = repeated(orders().poison);
        mark_unwritten(shared.shadow, job->shared_bytes);
    }
    order_threads(number);
    for (NamedBarrier& barrier : named_barriers_) barrier.arrived = 0;
    started_ = 0;
    alive_ = count_;
    for (uint32_t first = 0, i = 0; first < count_; first += kWarpLanes, ++i) {
        const uint32_t lanes = std::min(kWarpLanes, count_ - first);
        warps_[i].alive = lanes == kWarpLanes ? ~0u : (1u << lanes) - 1;
    }
    running = &home_;
    switch_to(fibers_.take());
    current = nullptr;
    job->finished.fetch_add(1, std::memory_order_relaxed);
    if (abandoned_) forget_block();
    if (job->cooperative) job->end_block();
    if (job->is_clustered()) job->end_in_cluster();
}

// After an error threads still wait in the middle of the kernel: their stacks start anew.
void Worker::forget_block() {
    abandoned_ = false;
    fibers_.reset();
    ready_.clear();
    at_barrier_.clear();
    for (NamedBarrier& barrier : named_barriers_) barrier.waiting.clear();
    asking_mask_ = 0;
    for (Warp& warp : warps_) warp.meetings.clear();
    for (Thread& thread : threads_) thread.wait = Wait::nothing;
}

void Worker::abandon(cudaError_t error) {
    job->fail(error);
    abandoned_ = true;
    switch_to(&home_);
    __builtin_unreachable();
}

void Worker::order_threads(uint64_t block_number) {
    const dim3 block = job->block;
    const bool resized = prepared_.x != block.x || prepared_.y != block.y || prepared_.z != block.z;
    if (resized) {
        prepared_ = block;
        for (uint32_t i = 0; i < count_; ++i) {
            threads_[i].index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
            threads_[i].number = i;
            threads_[i].wait = Wait::nothing;
        }
    }
    if (resized || shuffled_ || job->seed != prepared_seed_) {
        std::iota(start_order_.begin(), start_order_.begin() + count_, 0);
        if (job->seed == 1) std::reverse(start_order_.begin(), start_order_.begin() + count_);
        prepared_seed_ = job->seed;
    }
    shuffled_ = job->seed > 1;
    if (shuffled_) {
        // Depends on the block's number, so that the order does not depend on which OS thread took the block.
        random_.seed(static_cast<uint32_t>((job->seed ^ block_number * 0x9e3779b97f4a7c15u) >> 7));
        std::shuffle(start_order_.begin(), start_order_.begin() + count_, random_);
    }
}

uint64_t permuted(uint64_t number, uint64_t count, uint64_t seed) {
    if (seed == 0) return number;
    if (seed == 1) return count - 1 - number;
    // A bijection on the next power of two, walked until it lands inside.
    unsigned bits = 1;
    while (uint64_t(1) << bits < count) ++bits;
    const uint64_t mask = (uint64_t(1) << bits) - 1;
    do {
        for (int round = 0; round < 3; ++round) {
            number = (number * (seed << 1 | 1) + (seed >> 17) + static_cast<uint64_t>(round)) & mask;
            number ^= number >> (bits + 1) / 2;
        }
    } while (number >= count);
    return number;
}

// ---- threads --------------------------------------------------------------------------------------------

void Worker::fiber_main() {
    for (;;) this_worker->run_threads();
}

// Runs threads that have not started, one after another. When one of them waits, its fiber stays with it and
// another fiber goes on here.
void Worker::run_threads() {
    while (started_ < count_) {
        Thread* thread = &threads_[start_order_[started_++]];
        thread->fiber = running;
        make_current(thread);
        job->thread(job->context);
        end_thread();
        if (overflowed(running)) fatal("stack overflow in kernel '%s'", job->name);
        if (ready_.size() != 0) break;
    }
    current = nullptr;
    Fiber* self = running;
    fibers_.give_back(self);
    Fiber* next = pick();
    if (next != self) switch_to(next);
}

inline void Worker::make_current(Thread* thread) {
    current = thread;
    threadIdx = thread->index;
}

inline void Worker::switch_to(Fiber* fiber) {
    Fiber* from = running;
    if (overflowed(from)) fatal("stack overflow in kernel '%s'", job->name);
    running = fiber;
    switch_fiber(from, fiber);
}

void Worker::end_thread() {
    Thread* thread = current;
    Warp& warp = warps_[thread->number / kWarpLanes];
    warp.alive &= ~(1u << thread->lane());
    --alive_;
    idle_yields_ = 0;
    for (size_t i = 0; i < warp.meetings.size();) {
        if (complete(warp, warp.meetings[i])) {
            finish_meeting(warp, i);
        } else {
            ++i;
        }
    }
    if (!at_barrier_.empty() && at_barrier_.size() == alive_) release_barrier();
}

// Stops the running thread until it is made ready and picked.
void Worker::park(Wait wait) {
    Thread* thread = current;
    thread->wait = wait;
    idle_yields_ = 0;
    Fiber* next = pick();
    if (next != thread->fiber) switch_to(next);
    thread->wait = Wait::nothing;
}

// What runs next. Threads that can go on come before threads that have not started: fewer stacks are then in
// use at a time. A random order mixes both.
Fiber* Worker::pick() {
    for (;;) {
        const bool unstarted = started_ < count_;
        if (ready_.size() != 0) {
            if (shuffled_) {
                const uint32_t choice = static_cast<uint32_t>(random_()) % (ready_.size() + unstarted);
                if (choice == ready_.size()) return fibers_.take();
                ready_.bring_to_front(choice);
            }
            Thread* thread = ready_.pop();
            make_current(thread);
            return thread->fiber;
        }
        if (unstarted) return fibers_.take();
        if (alive_ == 0) return &home_;
        if (!release_active_mask()) deadlock();
    }
}

// Lets every other thread have a turn: also those that have not started, which pick() would leave for last.
void Worker::yield() {
    Thread* thread = current;
    if (clocks_ != nullptr) clocks_->spins(thread->number);
    ready_.push(thread);
    // Those that spin may wait for lanes that ask who is active, and these for everybody else to wait.
    constexpr uint32_t kTurns = 64;  // of each thread, so that in a random order, too, all have had one
    if (++idle_yields_ > kTurns * ready_.size()) {
        idle_yields_ = 0;
        release_active_mask();
    }
    Fiber* next = started_ < count_ ? fibers_.take() : pick();
    if (next != thread->fiber) switch_to(next);
}

// "12 threads wait in __syncthreads at @0x1234", for each place where some do.
std::string Worker::who_waits(const std::vector<const Thread*>& threads, const std::string& what) const {
    std::vector<std::pair<const void*, size_t>> sites;
    for (const Thread* thread : threads) {
        auto found =
            std::find_if(sites.begin(), sites.end(), [=](auto& site) { return site.first == thread->site; });
        if (found == sites.end()) {
            sites.emplace_back(thread->site, 1);
        } else {
            ++found->second;
        }
    }
    std::string text;
    for (const auto& [site, count] : sites) {
        if (!text.empty()) text += ", ";
        text += formatted("%zu %s in %s%s", count, count == 1 ? "thread waits" : "threads wait", what.c_str(),
                          place(before(site)).c_str());
    }
    return text;
}

void Worker::deadlock() {
    std::string waits = who_waits({at_barrier_.begin(), at_barrier_.end()}, "__syncthreads");
    for (uint32_t number = 0; number < kNamedBarriers; ++number) {
        const NamedBarrier& barrier = named_barriers_[number];
        if (barrier.waiting.empty()) continue;
        if (!waits.empty()) waits += ", ";
        waits += who_waits({barrier.waiting.begin(), barrier.waiting.end()},
                           formatted("bar.sync %u, where %u have come,", number, barrier.arrived));
    }
    // Warps that wait for the same lanes in the same operation make one clause.
    struct Group {
        WarpOp op;
        uint32_t mask, warp, more;
        std::vector<const Thread*> lanes;
    };
    std::vector<Group> groups;
    for (uint32_t i = 0; i < (count_ + kWarpLanes - 1) / kWarpLanes; ++i) {
        for (const Meeting& meeting : warps_[i].meetings) {
            const Thread* first = &threads_[i * kWarpLanes];
            const WarpOp op = first[__builtin_ctz(meeting.arrived)].op;
            auto group = std::find_if(groups.begin(), groups.end(),
                                      [&](const Group& g) { return g.op == op && g.mask == meeting.mask; });
            if (group == groups.end()) group = groups.insert(groups.end(), Group{op, meeting.mask, i, 0, {}});
            group->more += group->warp != i;
            for (uint32_t left = meeting.arrived; left != 0; left &= left - 1)
                group->lanes.push_back(first + __builtin_ctz(left));
        }
    }
    for (const Group& group : groups) {
        const std::string more = group.more > 0 ? formatted(" and %u more", group.more) : "";
        if (!waits.empty()) waits += ", ";
        waits += who_waits(group.lanes, formatted("%s (warp %u%s, mask 0x%08x)", name_of(group.op),
                                                  group.warp, more.c_str(), group.mask));
    }
    fatal("deadlock in %s: %s", running_block().c_str(), waits.c_str());
}

// ---- the barrier ----------------------------------------------------------------------------------------

BarrierResult Worker::barrier(bool predicate, const void* site) {
    Thread* thread = current;
    thread->predicate = predicate;
    thread->site = site;
    at_barrier_.push_back(thread);
    if (at_barrier_.size() == alive_) {
        release_barrier();
    } else {
        park(Wait::barrier);
    }
    return thread->barrier_result;
}

void Worker::release_barrier() {
    BarrierResult result = {0, static_cast<int>(at_barrier_.size())};
    for (const Thread* thread : at_barrier_) result.holds += thread->predicate;
    look_at_sites();
    if (clocks_ != nullptr) clocks_->barrier();
    for (Thread* thread : at_barrier_) {
        thread->barrier_result = result;
        if (thread != current) ready_.push(thread);  // the last to come goes on at once
    }
    at_barrier_.clear();
}

// `count` threads of the block, 0 for all of it, whichever come. It may be used by several parts of the block
// in turns.
void Worker::named_barrier(uint32_t number, uint32_t count, bool waits, const void* site) {
    if (number >= kNamedBarriers || count % kWarpLanes != 0) {
        fatal("kernel '%s': bar.sync %u, %u: there are barriers 0 to 15, for multiples of 32 threads",
              job->name, number, count);
    }
    const uint32_t goal = count == 0 ? count_ : std::min(count, count_);
    if (number == 0 && waits && goal == count_) {
        barrier(false, site);
        return;
    }
    Thread* thread = current;
    thread->site = site;
    NamedBarrier& barrier = named_barriers_[number];
    if (clocks_ != nullptr) clocks_->arrive(number, thread->number);
    ++barrier.arrived;
    if (barrier.arrived == goal) {
        // Learnt now: when they run, the others may have arrived for the next time.
        if (waits && clocks_ != nullptr) clocks_->leave(number, thread->number);
        for (Thread* other : barrier.waiting) {
            if (clocks_ != nullptr) clocks_->leave(number, other->number);
            ready_.push(other);
        }
        barrier.waiting.clear();
        barrier.arrived = 0;
    } else if (waits) {
        barrier.waiting.push_back(thread);
        park(Wait::barrier);
    }
}

// A barrier is for all threads of the block, and for all of them in the same place.
void Worker::look_at_sites() {
    const void* site = at_barrier_[0]->site;
    if (alive_ != count_) {
        record_undefined(
            site, nullptr,
            formatted("%s: %u of %u threads ended before a __syncthreads that the others reached%s",
                      running_block().c_str(), count_ - alive_, count_, place(before(site)).c_str()));
    }
    // Only where nothing was optimised is a place in the code one place in the source.
    if (!instrumented) return;
    for (const Thread* thread : at_barrier_) {
        if (thread->site == site) continue;
        record_undefined(site, thread->site,
                         running_block() + ": one barrier, in different places: " +
                             who_waits({at_barrier_.begin(), at_barrier_.end()}, "__syncthreads"));
        break;
    }
}

// ---- the barrier of a grid --------------------------------------------------------------------------------

void Worker::grid_barrier(const void* site) {
    if (!job->cooperative) {
        fatal("kernel '%s': a grid can wait for itself only after cudaLaunchCooperativeKernel", job->name);
    }
    const uint64_t before = grid_epoch_;
    barrier(false, site);
    // The first to come here waits for the other blocks; the whole OS thread is this block's.
    if (grid_epoch_ != before) return;
    ++grid_epoch_;
    job->grid_barrier();
    if (job->failure != cudaSuccess) abandon(job->failure);
}

void Job::grid_barrier() {
    std::unique_lock<std::mutex> lock(grid_mutex_);
    ++grid_waiting_;
    const uint64_t mine = grid_generation_;
    complete_grid_barrier();
    grid_wake_.wait(lock, [&] { return grid_generation_ != mine || failure != cudaSuccess; });
}

void Job::end_block() {
    std::lock_guard<std::mutex> lock(grid_mutex_);
    ++grid_ended_;
    if (grid_waiting_ != 0) complete_grid_barrier();
}

void Job::complete_grid_barrier() {
    if (grid_waiting_ + grid_ended_ != blocks || failure != cudaSuccess) return;
    if (grid_ended_ != 0) {
        fatal("deadlock in kernel '%s': %llu blocks wait for the grid, %llu ended without that", name,
              static_cast<unsigned long long>(grid_waiting_), static_cast<unsigned long long>(grid_ended_));
    }
    if (instrumented && races_on()) grid_barrier_clocks();
    grid_waiting_ = 0;
    ++grid_generation_;
    grid_wake_.notify_all();
}

void Job::fail(cudaError_t error) {
    std::lock_guard<std::mutex> lock(grid_mutex_);
    if (failure == cudaSuccess) failure = error;
    next = blocks;
    grid_wake_.notify_all();
}

static Worker* in_kernel(const char* what) {
    Worker* self = this_worker;
    if (self == nullptr || self->current == nullptr) fatal("%s called outside a kernel", what);
    return self;
}

BarrierResult barrier(bool predicate) {
    return in_kernel("__syncthreads")->barrier(predicate, __builtin_return_address(0));
}

void named_barrier(uint32_t number, uint32_t count, bool waits) {
    in_kernel("bar.sync")->named_barrier(number, count, waits, __builtin_return_address(0));
}

uint64_t warp_meet(WarpOp op, uint32_t mask, uint64_t value, uint32_t operand, uint32_t width) {
    return in_kernel(name_of(op))->warp_meet(op, mask, value, operand, width, __builtin_return_address(0));
}

void watch_fence() {
    const Worker* self = this_worker;
    if (self != nullptr && self->current != nullptr && self->clocks() != nullptr)
        self->clocks()->fence(self->current->number);
}

void grid_barrier() { in_kernel("grid.sync()")->grid_barrier(__builtin_return_address(0)); }
bool grid_is_cooperative() { return in_kernel("grid.is_valid()")->job->cooperative; }

void in_step(unsigned place) {
    Worker* self = this_worker;
    if (self != nullptr && self->current != nullptr) self->in_step(place, __builtin_return_address(0));
}

uint32_t active_mask() { return in_kernel("__activemask")->active_mask(__builtin_return_address(0)); }
}  // namespace cudacpu

using namespace cudacpu;

// What assert() calls: in a kernel the words and the error of a GPU.
void cudacpu_assert_fail(const char* expression, const char* file, unsigned line,
                         const char* function) noexcept {
    Worker* self = this_worker;
    if (self == nullptr || self->current == nullptr) {
        fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
        abort();
    }
    char words[400];
    snprintf(words, sizeof words, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.",
             file, line, function, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z,
             expression);
    fprintf(stderr, "%s\n", words);
    set_sticky_error(cudaErrorAssert, words);
    self->abandon(cudaErrorAssert);
}

void __nanosleep(unsigned int) { in_kernel("__nanosleep")->yield(); }

void __trap() { fatal("kernel '%s': __trap() was called", in_kernel("__trap")->job->name); }

long long clock64() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}
