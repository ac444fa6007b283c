// Data races: two accesses to the same bytes by threads that nothing puts in order, at least one a plain
// write.
//
// Each thread has a clock that advances whenever others may have learnt what it did: a meeting of its warp, a
// fence. A barrier sets all clocks of the block to one value that is above all of them, so that whatever is
// older than the last barrier is known by everyone. Between barriers a matrix says what each lane knows of
// the other lanes of its warp. Between blocks, and between warps without a barrier, order comes from atomics
// and volatile accesses alone: such a write by a thread that has fenced publishes what it knew at the fence,
// such a read learns it. A launch and a barrier of the whole grid make everything older known to all.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <vector>

#include "shadow.h"

#pragma GCC visibility push(hidden)
namespace cudacpu {
struct Range;
class Worker;

// Whether the judge has asked for races.
extern std::atomic<bool> races_wanted;
inline bool races_on() { return races_wanted.load(std::memory_order_relaxed); }

struct Sync;

// What somebody learnt: everything published at a word up to a version.
struct Ref {
    Sync* sync;
    uint32_t version;
};

constexpr uint32_t kLanes = 32;

// What a thread knew at its last fence.
struct Snapshot {
    uint32_t clock = 0, floor = 0, row[kLanes] = {};
    std::vector<Ref> refs;
};

struct Record;
struct Conflict;

// The clocks of the block that an OS thread runs.
class BlockClocks {
  public:
    BlockClocks();
    ~BlockClocks();

    void begin_block(uint64_t number, uint32_t threads);
    void barrier();
    void meeting(uint32_t warp, uint32_t lanes);
    void fence(uint32_t thread);
    // A barrier of a part of the block: who leaves it has learnt what those did who arrived.
    void arrive(uint32_t barrier, uint32_t thread);
    void leave(uint32_t barrier, uint32_t thread);
    void spins(uint32_t thread) { threads_[thread].spins = true; }

    void access(const Worker& worker, const Range& range, uintptr_t address, size_t size, Touch touch,
                const void* code);
    // The last access has been made by now: judges it if it was a store, and learns what a load has found.
    // The hooks come before an access, and another OS thread may publish something in between.
    void settle();
    // The same where an access by this thread tells that the value is there.
    void settle_before(uint32_t thread, Touch touch);

  private:
    struct ThreadClock {
        uint32_t clock, fence_number;
        bool spins;  // has called __nanosleep
        std::unique_ptr<Snapshot> snapshot;
        std::vector<Ref> refs;
    };

    bool examine(const Cell& cell, const Record& mine, Touch touch);
    bool conflicts(const Record& theirs, const Record& mine, const char* their_verb, bool both_volatile);
    // Whether the block's own meetings put it in order, or what was learnt through memory.
    bool is_before(const Record& theirs, uint32_t thread) const;
    bool has_learnt(const Record& theirs, uint32_t thread) const;
    uintptr_t word_of(uint32_t barrier) const;
    Snapshot knowledge(uint32_t thread) const;
    void acquire(uintptr_t address, uint32_t thread);
    void acquire_loaded();
    void judge_store();
    void release(uintptr_t address, uint32_t thread);

    uint32_t block_ = 0, count_ = 0, barrier_ = 0, top_ = 0, stamp_ = 0;
    uint32_t fenced_until_ = 0;  // what is older has been fenced by somebody, and a barrier has followed
    bool fenced_now_ = false;    // somebody has fenced since the last barrier
    std::vector<ThreadClock> threads_;
    std::vector<uint32_t> known_;      // of each thread, for the 32 lanes of its warp
    std::vector<Ref> refs_;            // what all threads of the block have learnt
    std::vector<uint32_t> learners_;   // threads whose own refs are not empty
    std::unique_ptr<Conflict> found_;  // by the access at hand
    std::unique_ptr<Conflict> pending_;
    bool has_pending_ = false, source_seen_ = false;
    uintptr_t loaded_ =
        0;  // the word of the last atomic or volatile load, null: none, or it has been settled
    uint32_t loader_ = 0;
};

// The rest concerns the whole grid.
void begin_launch_clocks();
// Every thread of the grid has arrived and none has gone on.
void grid_barrier_clocks();
void forget_races();
void delete_cells(Shadow* shadow);
}  // namespace cudacpu
#pragma GCC visibility pop
