// Finds data races; races.h says by what rules.
#include "races.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "facts.h"
#include "memory.h"
#include "scheduler.h"

namespace cudacpu {
std::atomic<bool> races_wanted{false};

// Who touched a cell.
struct Record {
    uint32_t block, clock, code;  // code: the low half of the address
    uint16_t thread;
    bool used, is_volatile : 1, same_value : 1, spins : 1;
};

// What is remembered about four bytes, or about one byte once something smaller than a word is used there.
struct Cell {
    uint32_t stamp;  // of another launch or another block: nothing is remembered
    std::atomic_flag lock;
    Record write, atomic;
    // The last reader; the last one before it in another lane of its warp; the last one in another warp or,
    // preferably, block. Whoever writes is unordered with one of them if with any reader, as far as barriers
    // go.
    Record reads[3];
};

struct Conflict {
    Record mine, theirs;
    const char* my_verb;
    const char* their_verb;
    const void* code;
    uintptr_t address;
    size_t size;
    Range range;
    std::string where;
    unsigned char before[16];
};

namespace {
constexpr size_t kWord = 4;

std::atomic<uint32_t> grid_stamp{1};
// Not counted by each BlockClocks: cells of shared memory outlive them.
std::atomic<uint32_t> blocks_begun{0};
std::atomic<uintptr_t> code_reference{0};

std::mutex pairs_mutex;
std::set<std::pair<uint32_t, uint32_t>> reported;

bool is_new(uint32_t a, uint32_t b) {
    std::lock_guard<std::mutex> lock(pairs_mutex);
    return reported.count({std::min(a, b), std::max(a, b)}) == 0;
}

const void* code_of(uint32_t low) {
    const uintptr_t reference = code_reference.load();
    const auto distance = static_cast<int32_t>(low - static_cast<uint32_t>(reference));
    return reinterpret_cast<const void*>(reference + static_cast<uintptr_t>(static_cast<intptr_t>(distance)));
}

Cell* cells(std::atomic<Cell*>& where, size_t count) {
    Cell* found = where.load(std::memory_order_acquire);
    if (found != nullptr) return found;
    auto* made = static_cast<Cell*>(map_lazily(count * sizeof(Cell)));
    if (where.compare_exchange_strong(found, made)) return made;
    munmap(made, count * sizeof(Cell));
    return found;
}

size_t words_of(const Shadow* shadow) { return (shadow->begin % kWord + shadow->size) / kWord + 1; }

bool same_thread(const Record& a, const Record& b) { return a.thread == b.thread && a.block == b.block; }

void remember_read(Cell& cell, const Record& mine) {
    Record* r = cell.reads;
    if (r[0].used && !same_thread(r[0], mine)) {
        if (r[0].block == mine.block && r[0].thread / kLanes == mine.thread / kLanes) {
            r[1] = r[0];
        } else if (!r[2].used || r[2].block == mine.block || r[0].block != mine.block) {
            r[2] = r[0];
        }
    }
    r[0] = mine;
}

// Held while a cell of memory that several OS threads see is looked at.
class CellLock {
  public:
    CellLock(Cell& cell, bool needed) : flag_(needed ? &cell.lock : nullptr) {
        while (flag_ != nullptr && flag_->test_and_set(std::memory_order_acquire)) {
        }
    }
    ~CellLock() {
        if (flag_ != nullptr) flag_->clear(std::memory_order_release);
    }
    CellLock(const CellLock&) = delete;
    CellLock& operator=(const CellLock&) = delete;

  private:
    std::atomic_flag* flag_;
};

void refresh(Cell& cell, uint32_t stamp) {
    if (cell.stamp == stamp) return;
    cell.stamp = stamp;
    cell.write.used = cell.atomic.used = false;
    for (Record& read : cell.reads) read.used = false;
}

// Calls visit(cell, whether the access is to be remembered there) for the cells that stand for an access:
// words where it covers them, else bytes; the other size is looked at, but not changed.
template <class Visit>
void each_cell(Shadow* shadow, uintptr_t address, size_t size, Visit visit) {
    Cell* words = cells(shadow->words, words_of(shadow));
    Cell* bytes = shadow->bytes.load(std::memory_order_acquire);
    const uintptr_t first_word = shadow->begin / kWord;
    for (const uintptr_t end = address + size; address < end;) {
        Cell& word = words[address / kWord - first_word];
        if (address % kWord == 0 && end - address >= kWord) {
            visit(word, true);
            for (size_t i = 0; bytes != nullptr && i < kWord; ++i)
                visit(bytes[address - shadow->begin + i], false);
            address += kWord;
        } else {
            if (bytes == nullptr) bytes = cells(shadow->bytes, shadow->size);
            visit(bytes[address - shadow->begin], true);
            visit(word, false);
            ++address;
        }
    }
}
}  // namespace

void delete_cells(Shadow* shadow) {
    if (Cell* words = shadow->words.load()) munmap(words, words_of(shadow) * sizeof(Cell));
    if (Cell* bytes = shadow->bytes.load()) munmap(bytes, shadow->size * sizeof(Cell));
}

// ---- what is published -----------------------------------------------------------------------------------

// What one thread published at a word.
struct __attribute__((visibility("hidden"))) Release {
    uint32_t block, thread;
    Snapshot knew;
};

// A word through which threads tell each other what they have done.
struct Sync {
    std::vector<Release> releases;
    std::unordered_map<uint32_t, std::vector<uint32_t>> by_block;
    std::unordered_map<uint64_t, uint64_t> last;  // what a thread published last, to do it once
};

namespace {
std::mutex syncs_mutex;  // guards all syncs
std::unordered_map<uintptr_t, std::unique_ptr<Sync>> syncs;
std::vector<std::unique_ptr<Sync>> old_syncs;  // refs to them may still be around
std::atomic<bool> any_syncs{false};

void add(std::vector<Ref>& refs, Ref ref) {
    for (Ref& known : refs) {
        if (known.sync == ref.sync) {
            known.version = std::max(known.version, ref.version);
            return;
        }
    }
    refs.push_back(ref);
}

bool covers(const Release& release, const Record& record) {
    if (record.clock < release.knew.floor) return true;
    if (record.thread == release.thread) return record.clock <= release.knew.clock;
    return record.thread / kLanes == release.thread / kLanes &&
           record.clock <= release.knew.row[record.thread % kLanes];
}

bool is_known(const Record& record, std::vector<Ref> todo) {
    std::unordered_map<const Sync*, uint32_t> seen;
    while (!todo.empty()) {
        const Ref ref = todo.back();
        todo.pop_back();
        uint32_t& version = seen[ref.sync];
        if (ref.version <= version) continue;
        const auto of_block = ref.sync->by_block.find(record.block);
        if (of_block != ref.sync->by_block.end()) {
            const std::vector<uint32_t>& places = of_block->second;
            for (size_t i = places.size(); i-- > 0;) {
                if (places[i] < ref.version && covers(ref.sync->releases[places[i]], record)) return true;
            }
        }
        for (uint32_t i = version; i < ref.version; ++i) {
            for (const Ref& next : ref.sync->releases[i].knew.refs) {
                if (next.sync != ref.sync) todo.push_back(next);
            }
        }
        version = ref.version;
    }
    return false;
}

void forget_syncs() {
    std::lock_guard<std::mutex> lock(syncs_mutex);
    for (auto& [address, sync] : syncs) old_syncs.push_back(std::move(sync));
    syncs.clear();
    any_syncs = false;
}
}  // namespace

void BlockClocks::acquire(uintptr_t address, uint32_t thread) {
    if (!any_syncs.load(std::memory_order_acquire)) return;
    std::lock_guard<std::mutex> lock(syncs_mutex);
    const auto found = syncs.find(address);
    if (found == syncs.end()) return;
    std::vector<Ref>& refs = threads_[thread].refs;
    if (refs.empty()) learners_.push_back(thread);
    add(refs, {found->second.get(), static_cast<uint32_t>(found->second->releases.size())});
}

void BlockClocks::acquire_loaded() {
    if (loaded_ != 0) acquire(loaded_, loader_);
    loaded_ = 0;
}

void BlockClocks::release(uintptr_t address, uint32_t thread) {
    ThreadClock& own = threads_[thread];
    if (own.snapshot == nullptr && fenced_until_ == 0) return;
    std::lock_guard<std::mutex> lock(syncs_mutex);
    std::unique_ptr<Sync>& sync = syncs[address];
    if (sync == nullptr) sync.reset(new Sync);
    any_syncs = true;
    const uint64_t what = static_cast<uint64_t>(own.fence_number) << 32 | fenced_until_;
    uint64_t& last = sync->last[static_cast<uint64_t>(block_) << 10 | thread];
    if (last == what) return;
    last = what;
    Release release = {block_, thread, own.snapshot != nullptr ? *own.snapshot : Snapshot()};
    release.knew.floor = std::max(release.knew.floor, fenced_until_);
    // A fence by another thread before the last barrier also stands for what the whole block had learnt.
    for (const Ref& ref : refs_) add(release.knew.refs, ref);
    sync->by_block[block_].push_back(static_cast<uint32_t>(sync->releases.size()));
    sync->releases.push_back(std::move(release));
}

// In place of an address: no buffer lies there.
uintptr_t BlockClocks::word_of(uint32_t barrier) const {
    return ~(static_cast<uintptr_t>(block_) << 8 | barrier);
}

void BlockClocks::arrive(uint32_t barrier, uint32_t thread) {
    settle();
    std::lock_guard<std::mutex> lock(syncs_mutex);
    std::unique_ptr<Sync>& sync = syncs[word_of(barrier)];
    if (sync == nullptr) sync.reset(new Sync);
    any_syncs = true;
    sync->by_block[block_].push_back(static_cast<uint32_t>(sync->releases.size()));
    sync->releases.push_back({block_, thread, knowledge(thread)});
    top_ = std::max(top_, ++threads_[thread].clock);
}

void BlockClocks::leave(uint32_t barrier, uint32_t thread) {
    settle();
    acquire(word_of(barrier), thread);
}

// ---- clocks ----------------------------------------------------------------------------------------------

BlockClocks::BlockClocks()
    : threads_(kMostThreads), known_(kMostThreads * kLanes), found_(new Conflict), pending_(new Conflict) {}
BlockClocks::~BlockClocks() = default;

void BlockClocks::begin_block(uint64_t number, uint32_t threads) {
    settle();
    block_ = static_cast<uint32_t>(number);
    count_ = threads;
    stamp_ = ++blocks_begun;
    fenced_until_ = 0;
    fenced_now_ = false;
    refs_.clear();
    barrier_ = ++top_;  // clocks never go back, so that what is left in known_ is too old to matter
    for (uint32_t i = 0; i < count_; ++i) {
        ThreadClock& thread = threads_[i];
        thread.clock = barrier_;
        thread.fence_number = 0;
        thread.spins = false;
        thread.snapshot.reset();
        thread.refs.clear();
    }
    learners_.clear();
}

void BlockClocks::barrier() {
    settle();
    barrier_ = ++top_;
    for (uint32_t i = 0; i < count_; ++i) threads_[i].clock = barrier_;
    if (fenced_now_) fenced_until_ = barrier_;
    fenced_now_ = false;
    for (uint32_t thread : learners_) {
        for (const Ref& ref : threads_[thread].refs) add(refs_, ref);
        threads_[thread].refs.clear();
    }
    learners_.clear();
}

void BlockClocks::meeting(uint32_t warp, uint32_t lanes) {
    settle();
    ThreadClock* first = &threads_[warp * kLanes];
    uint32_t* rows = &known_[warp * kLanes * kLanes];
    uint32_t all[kLanes] = {};
    std::vector<Ref> refs;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(left));
        for (uint32_t i = 0; i < kLanes; ++i) all[i] = std::max(all[i], rows[lane * kLanes + i]);
        for (const Ref& ref : first[lane].refs) add(refs, ref);
    }
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(left));
        all[lane] = std::max(all[lane], first[lane].clock);
    }
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(left));
        memcpy(rows + lane * kLanes, all, sizeof all);
        top_ = std::max(top_, ++first[lane].clock);
        if (!refs.empty()) {
            if (first[lane].refs.empty()) learners_.push_back(warp * kLanes + lane);
            first[lane].refs = refs;
        }
    }
}

void BlockClocks::fence(uint32_t thread) {
    settle();
    ThreadClock& own = threads_[thread];
    if (own.snapshot == nullptr) own.snapshot.reset(new Snapshot);
    *own.snapshot = knowledge(thread);
    ++own.fence_number;
    top_ = std::max(top_, ++own.clock);
    fenced_now_ = true;
}

Snapshot BlockClocks::knowledge(uint32_t thread) const {
    Snapshot now;
    now.clock = threads_[thread].clock;
    now.floor = barrier_;
    memcpy(now.row, &known_[thread * kLanes], sizeof now.row);
    now.refs = refs_;
    for (const Ref& ref : threads_[thread].refs) add(now.refs, ref);
    return now;
}

bool BlockClocks::is_before(const Record& theirs, uint32_t thread) const {
    return theirs.block == block_ && (theirs.thread == thread || theirs.clock < barrier_ ||
                                      (theirs.thread / kLanes == thread / kLanes &&
                                       theirs.clock <= known_[thread * kLanes + theirs.thread % kLanes]));
}

bool BlockClocks::has_learnt(const Record& theirs, uint32_t thread) const {
    const std::vector<Ref>& own = threads_[thread].refs;
    if (own.empty() && refs_.empty()) return false;
    std::vector<Ref> refs = refs_;
    refs.insert(refs.end(), own.begin(), own.end());
    std::lock_guard<std::mutex> lock(syncs_mutex);
    return is_known(theirs, std::move(refs));
}

// ---- accesses --------------------------------------------------------------------------------------------

bool BlockClocks::conflicts(const Record& theirs, const Record& mine, const char* their_verb,
                            bool both_volatile) {
    if (!theirs.used || is_before(theirs, mine.thread)) return false;
    // Two volatile accesses are a flag that one thread waits for, unless lanes of one warp count on running
    // in step.
    if (both_volatile && (theirs.spins || mine.spins || theirs.block != mine.block ||
                          theirs.thread / kLanes != mine.thread / kLanes)) {
        return false;
    }
    if (!is_new(theirs.code, mine.code) || has_learnt(theirs, mine.thread)) return false;
    found_->mine = mine;
    found_->theirs = theirs;
    found_->their_verb = their_verb;
    return true;
}

// Whether somebody who touched the cell before is in no order with this access.
bool BlockClocks::examine(const Cell& cell, const Record& mine, Touch touch) {
    const bool volatile_write = cell.write.is_volatile && mine.is_volatile;
    // Several threads have stored one value: whichever came last, a reader cannot tell.
    const bool harmless = cell.write.same_value && !touch.writes;
    if (!harmless && !(touch.is_atomic && cell.write.is_volatile) &&
        conflicts(cell.write, mine, "write", volatile_write)) {
        return true;
    }
    if (touch.is_atomic || !touch.writes) return false;
    if (!mine.is_volatile && conflicts(cell.atomic, mine, "atomic", false)) return true;
    for (const Record& read : cell.reads) {
        if (conflicts(read, mine, "read", read.is_volatile && mine.is_volatile)) return true;
    }
    return false;
}

void BlockClocks::access(const Worker& worker, const Range& range, uintptr_t address, size_t size,
                         Touch touch, const void* code) {
    const uint32_t thread = worker.current->number;
    const bool signals = touch.is_atomic || touch.is_volatile;
    if (touch.releases) fence(thread);
    if (signals && touch.reads) {
        acquire(address, thread);
        loaded_ = address;
        loader_ = thread;
    }

    uintptr_t unset = 0;
    code_reference.compare_exchange_strong(unset, reinterpret_cast<uintptr_t>(code));
    Record mine = {};
    mine.block = block_;
    mine.clock = threads_[thread].clock;
    mine.code = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(code));
    mine.thread = static_cast<uint16_t>(thread);
    mine.used = true;
    mine.is_volatile = touch.is_volatile;
    mine.spins = threads_[thread].spins;

    Shadow* shadow = range.shadow;
    const uint32_t stamp = shadow->is_shared_memory ? stamp_ : grid_stamp.load(std::memory_order_relaxed);
    bool conflict = false;
    each_cell(shadow, address, size, [&](Cell& cell, bool remember) {
        CellLock lock(cell, !shadow->is_shared_memory);
        refresh(cell, stamp);
        if (!conflict) conflict = examine(cell, mine, touch);
        if (!remember) return;
        if (touch.is_atomic) {
            if (touch.writes) cell.atomic = mine;
        } else {
            if (touch.writes) cell.write = mine;
            if (touch.reads) remember_read(cell, mine);
        }
    });

    if (signals && touch.writes) release(address, thread);
    if (!conflict) return;
    found_->my_verb = touch.is_atomic ? "atomic" : touch.writes ? "write" : "read";
    found_->code = code;
    found_->address = address;
    found_->size = size;
    found_->range = range;
    judge_store();
    std::swap(found_, pending_);
    has_pending_ = true;
    source_seen_ = false;
    if (touch.writes && !touch.is_atomic && size <= sizeof pending_->before) {
        // Reported when the store has been done, and only if it changes what lies there.
        memcpy(pending_->before, reinterpret_cast<const void*>(address), size);
    } else {
        pending_->size = 0;
        judge_store();
    }
}

// gcc announces the store of a copied structure before the read of what it copies.
void BlockClocks::settle_before(uint32_t thread, Touch touch) {
    acquire_loaded();
    if (has_pending_ && pending_->mine.thread == thread && !touch.writes && !source_seen_) {
        source_seen_ = true;
    } else {
        judge_store();
    }
}

void BlockClocks::settle() {
    acquire_loaded();
    judge_store();
}

void BlockClocks::judge_store() {
    if (!has_pending_) return;
    has_pending_ = false;
    const Conflict& seen = *pending_;
    if (seen.size != 0 && memcmp(seen.before, reinterpret_cast<const void*>(seen.address), seen.size) == 0) {
        Shadow* shadow = seen.range.shadow;
        each_cell(shadow, seen.address, seen.size, [&](Cell& cell, bool remember) {
            CellLock lock(cell, !shadow->is_shared_memory);
            if (remember && same_thread(cell.write, seen.mine)) cell.write.same_value = true;
        });
        return;
    }
    {
        std::lock_guard<std::mutex> lock(pairs_mutex);
        const uint32_t a = seen.theirs.code, b = seen.mine.code;
        if (!reported.insert({std::min(a, b), std::max(a, b)}).second) return;
    }
    const Job& job = *this_worker->job;
    auto thread_of = [&](const Record& record) {
        const dim3 block = job.block;
        const uint32_t t = record.thread;
        return triple({t % block.x, t / block.x % block.y, t / block.x / block.y});
    };
    auto block_of = [&](const Record& record) {
        const dim3 grid = job.grid;
        const uint32_t b = record.block;
        return "block " + triple({b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y});
    };
    const std::string theirs =
        seen.theirs.block == seen.mine.block ? "the same block" : block_of(seen.theirs);
    const void* other = code_of(seen.theirs.code);
    record_undefined(
        seen.code, other,
        formatted("kernel '%s': race on %s: %s by thread %s of %s%s, %s by thread %s of %s%s, in no order",
                  job.name, describe(seen.range, seen.address).c_str(), seen.my_verb,
                  thread_of(seen.mine).c_str(), block_of(seen.mine).c_str(), place(seen.code).c_str(),
                  seen.their_verb, thread_of(seen.theirs).c_str(), theirs.c_str(), place(other).c_str()));
}

// ---- the grid --------------------------------------------------------------------------------------------

void begin_launch_clocks() {
    ++grid_stamp;
    forget_syncs();
}

void grid_barrier_clocks() { ++grid_stamp; }

void forget_races() {
    std::lock_guard<std::mutex> lock(pairs_mutex);
    reported.clear();
    std::lock_guard<std::mutex> syncs_lock(syncs_mutex);
    old_syncs.clear();
}
}  // namespace cudacpu
