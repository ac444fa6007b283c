// Device memory with guard bytes and fences, the table of known ranges, and the copies between them.
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "api_state.h"
#include "cudacpu/api.h"
#include "races.h"
#include "scheduler.h"
#include "variables.h"

namespace cudacpu {
namespace {
constexpr size_t kAlignment = 256;
constexpr size_t kGuardBytes = 256;
constexpr unsigned char kGuardPattern = 0xc9;

// So much around device memory faults: whatever a 32-bit index can reach from it. Only so many allocations
// get that; address space and the mappings of a process are not endless.
constexpr size_t kFence = size_t(8) << 30;
constexpr int kMostFenced = 1000;
constexpr size_t kPage = 4096;

// Freed memory that an instrumented program may still reach is kept, up to so much of it, so that it is found
// out.
constexpr size_t kKeptFreed = size_t(64) << 20;

// Sorted by lo and never changed: a change makes a new table, so that checks need no lock.
struct Table {
    std::vector<Range> ranges;
    uintptr_t low = 0, span = 0;
};

std::mutex mutex;  // guards everything below but the pointer
std::atomic<const Table*> table{new Table};
std::vector<std::unique_ptr<const Table>> old_tables;
std::vector<Shadow*> old_shadows;
std::vector<uintptr_t> freed;  // where memory of this call began
uint64_t live = 0, kept_freed = 0;
int fenced = 0;

void publish(std::vector<Range> ranges) {
    auto* next = new Table;
    next->ranges = std::move(ranges);
    if (!next->ranges.empty()) {
        next->low = next->ranges.front().lo;
        uintptr_t high = 0;
        for (const Range& range : next->ranges) high = std::max(high, range.hi);
        next->span = high - next->low;
    }
    old_tables.emplace_back(table.exchange(next, std::memory_order_acq_rel));
}

void insert(const Range& range) {
    std::vector<Range> ranges = table.load()->ranges;
    auto by_lo = [](const Range& a, const Range& b) { return a.lo < b.lo; };
    ranges.insert(std::upper_bound(ranges.begin(), ranges.end(), range, by_lo), range);
    publish(std::move(ranges));
}

template <class Which>
void erase(Which which) {
    std::vector<Range> ranges;
    for (const Range& range : table.load()->ranges) {
        if (!which(range)) {
            ranges.push_back(range);
        } else if (range.shadow != nullptr) {
            old_shadows.push_back(range.shadow);
        }
    }
    publish(std::move(ranges));
}

// The range that holds the address, or null.
inline const Range* find(const Table* known, uintptr_t address) {
    if (address - known->low >= known->span) return nullptr;
    auto after = [](uintptr_t wanted, const Range& range) { return wanted < range.lo; };
    auto next = std::upper_bound(known->ranges.begin(), known->ranges.end(), address, after);
    if (next == known->ranges.begin()) return nullptr;
    const Range* range = &*(next - 1);
    return address < range->hi ? range : nullptr;
}

inline bool holds(const Range& range, uintptr_t address, size_t size) {
    return address >= range.begin && size <= range.end - range.begin &&
           address - range.begin <= range.end - range.begin - size;
}

inline void violate(const Range& range, uintptr_t address, size_t size, Access access, const void* code) {
    record_violation({access, range.buffer, static_cast<int64_t>(address - range.begin), size,
                      range.end - range.begin, range.name},
                     code);
}

void report_unwritten(const Range& range, uintptr_t address, size_t size, const void* code) {
    const Worker& worker = *this_worker;
    record_undefined(
        code, code,
        formatted("kernel '%s': thread %s of block %s reads %zu bytes that nobody has written, %s%s",
                  worker.job->name, triple(worker.current->index).c_str(), triple(blockIdx).c_str(), size,
                  describe(range, address).c_str(), place(code).c_str()));
}

// The range around an address, also of what belongs to this OS thread or to the program's library.
inline const Range* find_any(uintptr_t address) {
    if (const Range* range = find(table.load(std::memory_order_acquire), address)) return range;
    const Worker* worker = this_worker;
    if (worker == nullptr) return nullptr;
    if (address - worker->shared.lo < worker->shared.hi - worker->shared.lo) return &worker->shared;
    if (worker->current == nullptr) return nullptr;
    if (const Range* range = find_shared_variable(address)) return range;
    return races_on() ? find_device_variable(address) : nullptr;
}

void check_guard(const Range& range, uintptr_t from, uintptr_t to) {
    for (uintptr_t address = from; address < to; ++address) {
        if (*reinterpret_cast<unsigned char*>(address) != kGuardPattern) {
            return violate(range, address, 1, Access::write, nullptr);
        }
    }
}

void check_guards_of(const Range& range) {
    check_guard(range, range.end, std::min(range.hi, (range.end + kGuardBytes + kPage - 1) / kPage * kPage));
    check_guard(range, std::max(range.lo, range.begin - kGuardBytes), range.begin);
}

bool is_device_memory(const Range& range) { return range.buffer == kDeviceMemory; }

// Device memory as a range whose guards are filled. Null where there is no memory.
bool reserve(size_t bytes, Range* range) {
    const size_t inside = (kGuardBytes + bytes + kGuardBytes + kPage - 1) / kPage * kPage;
    *range = {kDeviceMemory, 0, 0, 0, 0};
    void* all = MAP_FAILED;
    if (fenced < kMostFenced) {
        all = mmap(nullptr, kFence + inside + kFence, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    }
    if (all != MAP_FAILED) {
        char* payload = static_cast<char*>(all) + kFence;
        if (mprotect(payload, inside, PROT_READ | PROT_WRITE) != 0) {
            munmap(all, kFence + inside + kFence);
            return false;
        }
        ++fenced;
        range->lo = reinterpret_cast<uintptr_t>(all);
        range->hi = range->lo + kFence + inside + kFence;
        range->begin = range->lo + kFence + kGuardBytes;
    } else {
        void* memory = aligned_alloc(kPage, inside);
        if (memory == nullptr) return false;
        range->lo = reinterpret_cast<uintptr_t>(memory);
        range->hi = range->lo + inside;
        range->begin = range->lo + kGuardBytes;
    }
    range->end = range->begin + bytes;
    memset(reinterpret_cast<void*>(range->begin - kGuardBytes), kGuardPattern, kGuardBytes);
    const size_t behind = inside - kGuardBytes - bytes;
    memset(reinterpret_cast<void*>(range->end), kGuardPattern, behind);
    return true;
}

void give_back(const Range& range) {
    if (range.hi - range.lo >= kFence) {
        munmap(reinterpret_cast<void*>(range.lo), range.hi - range.lo);
        --fenced;
    } else {
        free(reinterpret_cast<void*>(range.lo));
    }
}

void drop_freed() {
    for (const Range& range : table.load()->ranges) {
        if (range.buffer == kFreedMemory) give_back(range);
    }
    if (kept_freed > 0) erase([](const Range& range) { return range.buffer == kFreedMemory; });
    kept_freed = 0;
}

// What a copy or fill of [address, address + size) may do. CUDA refuses what leaves an allocation of its own.
cudaError_t check_copy(const void* address, size_t size, Access access, const void* code) {
    if (address == nullptr) return cudaErrorInvalidValue;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(address);
    const Range* range = find(table.load(std::memory_order_acquire), begin);
    if (range == nullptr) return cudaSuccess;
    if (is_device_memory(*range)) {
        return begin >= range->begin && begin <= range->end && size <= range->end - begin
                   ? cudaSuccess
                   : cudaErrorInvalidValue;
    }
    if (!holds(*range, begin, size)) violate(*range, begin, size, access, code);
    return cudaSuccess;
}

Shadow* shadow_of(const void* address, size_t size) {
    const Range* range = find(table.load(std::memory_order_acquire), reinterpret_cast<uintptr_t>(address));
    const bool inside = range != nullptr && holds(*range, reinterpret_cast<uintptr_t>(address), size);
    return inside ? range->shadow : nullptr;
}

cudaError_t allocate_host(void** pointer, size_t bytes) {
    if (pointer == nullptr) return remember(cudaErrorInvalidValue);
    *pointer =
        bytes == 0 ? nullptr : aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    return bytes != 0 && *pointer == nullptr ? remember(cudaErrorMemoryAllocation) : cudaSuccess;
}
}  // namespace

cudaError_t copy_bytes(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const void* code) {
    if (cudaError_t error = sticky_error()) return remember(error);
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return remember(cudaErrorInvalidMemcpyDirection);
    if (bytes == 0) return cudaSuccess;
    if (cudaError_t error = check_copy(from, bytes, Access::read, code)) return remember(error);
    if (cudaError_t error = check_copy(to, bytes, Access::write, code)) return remember(error);
    memmove(to, from, bytes);
    copy_written(shadow_of(to, bytes), reinterpret_cast<uintptr_t>(to), shadow_of(from, bytes),
                 reinterpret_cast<uintptr_t>(from), bytes);
    return cudaSuccess;
}

cudaError_t fill_bytes(void* to, int value, size_t bytes, const void* code) {
    if (cudaError_t error = sticky_error()) return remember(error);
    if (bytes == 0) return cudaSuccess;
    if (cudaError_t error = check_copy(to, bytes, Access::write, code)) return remember(error);
    memset(to, value, bytes);
    mark_written(shadow_of(to, bytes), reinterpret_cast<uintptr_t>(to), bytes);
    return cudaSuccess;
}

static bool host_may_touch_buffers = false;  // set while a program is loaded
bool let_host_touch_buffers() { return host_may_touch_buffers = true; }

void check_access(uintptr_t address, size_t size, Touch touch, const void* code) {
    if (size == 0) return;
    Worker* worker = this_worker;
    const bool in_kernel = worker != nullptr && worker->current != nullptr;
    BlockClocks* clocks = in_kernel ? worker->clocks() : nullptr;
    if (clocks != nullptr) clocks->settle_before(worker->current->number, touch);
    const Range* range = find_any(address);
    if (range == nullptr) return;
    if (!holds(*range, address, size) || range->buffer == kFreedMemory) {
        return violate(*range, address, size, touch.writes ? Access::write : Access::read, code);
    }
    if (!in_kernel && range->buffer >= 0 &&
        !host_may_touch_buffers) {  // memory of cudaMalloc may be managed, which a host shares
        fatal("host code %s %s%s, which is memory of the device: cudaMemcpy copies it",
              touch.writes ? "writes" : "reads", describe(*range, address).c_str(), place(code).c_str());
    }
    Shadow* shadow = range->shadow;
    if (shadow == nullptr) return;
    if (in_kernel && touch.reads && !touch.ignores_old && is_unwritten(shadow, address, size)) {
        report_unwritten(*range, address, size, code);
        mark_written(shadow, address, size);  // said once
    }
    if (touch.writes) mark_written(shadow, address, size);
    if (clocks != nullptr) clocks->access(*worker, *range, address, size, touch, code);
}

std::string describe(const Range& range, uintptr_t address) {
    const size_t at = address - range.begin, size = range.end - range.begin;
    switch (range.buffer) {
        case kDeviceMemory:
            return formatted("byte %zu of %zu bytes from cudaMalloc", at, size);
        case kDynamicShared:
            return formatted("byte %zu of %zu bytes of dynamic shared memory", at, size);
        case kStaticShared:
            return formatted("byte %zu of %zu bytes of the __shared__ variable %s", at, size, range.name);
        case kDeviceVariables:
            return "the __device__ variable" + variable(reinterpret_cast<const void*>(address));
        default:
            return formatted("byte %zu of buffer %d", at, range.buffer);
    }
}

bool find_buffer(uintptr_t address, Range* found) {
    const Range* range = find(table.load(std::memory_order_acquire), address);
    if (range != nullptr) *found = *range;
    return range != nullptr;
}

void check_guards() {
    std::lock_guard<std::mutex> lock(mutex);
    for (const Range& range : table.load()->ranges) {
        if (is_device_memory(range)) check_guards_of(range);
    }
}

uint64_t live_bytes() {
    std::lock_guard<std::mutex> lock(mutex);
    return live;
}

void forget_old_ranges() {
    std::lock_guard<std::mutex> lock(mutex);
    drop_freed();
    freed.clear();
    old_tables.clear();
    for (Shadow* shadow : old_shadows) delete_shadow(shadow);
    old_shadows.clear();
}

void set_buffer(int index, uintptr_t lo, uintptr_t begin, uintptr_t end, uintptr_t hi, int is_output) {
    std::lock_guard<std::mutex> lock(mutex);
    erase([=](const Range& range) { return range.buffer == index; });
    Shadow* shadow = nullptr;
    if (instrumented) {
        uint64_t pattern = 0;
        memcpy(&pattern, reinterpret_cast<const void*>(begin), std::min(sizeof pattern, end - begin));
        shadow = new_shadow(begin, end - begin, is_output == 0, pattern);
    }
    insert({index, lo, begin, end, hi, shadow});
}

void clear_buffers() {
    std::lock_guard<std::mutex> lock(mutex);
    erase([](const Range& range) { return range.buffer >= 0; });
}
}  // namespace cudacpu

using namespace cudacpu;

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    if (cudaError_t error = sticky_error()) return remember(error);
    if (pointer == nullptr) return remember(cudaErrorInvalidValue);
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    std::lock_guard<std::mutex> lock(mutex);
    if (bytes > kMemoryTotal - live) return remember(cudaErrorMemoryAllocation);
    Range range;
    if (!reserve(bytes, &range)) return remember(cudaErrorMemoryAllocation);
    *pointer = reinterpret_cast<void*>(range.begin);
    if (orders().poison >= 0) memset(*pointer, orders().poison, bytes);
    if (instrumented) range.shadow = new_shadow(range.begin, bytes, false, repeated(orders().poison));
    insert(range);
    live += bytes;
    return cudaSuccess;
}

// What cudaFree was given instead of the beginning of live device memory.
static cudaError_t refuse_to_free(uintptr_t address, const Range* range, const void* code) {
    std::string what = "a pointer that cudaMalloc did not return";
    if (std::find(freed.begin(), freed.end(), address) != freed.end()) what = "memory that was freed before";
    if (range != nullptr && is_device_memory(*range)) {
        what = formatted("byte %lld of %zu bytes from cudaMalloc: only its beginning can be freed",
                         static_cast<long long>(address - range->begin), range->end - range->begin);
    }
    record_undefined(code, code, "cudaFree of " + what + place(code));
    return remember(cudaErrorInvalidValue);
}

static cudaError_t free_device(void* pointer, const void* code) {
    if (cudaError_t error = sticky_error()) return remember(error);
    if (pointer == nullptr) return cudaSuccess;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(pointer);
    std::lock_guard<std::mutex> lock(mutex);
    const Range* found = find(table.load(), begin);
    if (found == nullptr || !is_device_memory(*found) || found->begin != begin)
        return refuse_to_free(begin, found, code);
    Range range = *found;
    check_guards_of(range);
    const size_t bytes = range.end - range.begin;
    erase([=](const Range& other) { return other.begin == begin; });
    live -= bytes;
    freed.push_back(begin);
    if (instrumented && kept_freed + bytes <= kKeptFreed) {
        kept_freed += bytes;
        range.buffer = kFreedMemory;
        range.shadow = nullptr;
        insert(range);
    } else {
        give_back(range);
    }
    return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) { return free_device(pointer, before(__builtin_return_address(0))); }

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) { return cudaMalloc(pointer, bytes); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
    return free_device(pointer, before(__builtin_return_address(0)));
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return allocate_host(pointer, bytes); }
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) { return allocate_host(pointer, bytes); }
cudaError_t cudaFreeHost(void* pointer) {
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return copy_bytes(to, from, bytes, kind, before(__builtin_return_address(0)));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    return copy_bytes(to, from, bytes, kind, before(__builtin_return_address(0)));
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    return fill_bytes(to, value, bytes, before(__builtin_return_address(0)));
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
    return fill_bytes(to, value, bytes, before(__builtin_return_address(0)));
}

cudaError_t cudacpu::copy_to_symbol(const void* symbol, size_t size, const void* from, size_t bytes,
                                    size_t offset) {
    if (offset > size || bytes > size - offset) return remember(cudaErrorInvalidValue);
    return copy_bytes(static_cast<char*>(const_cast<void*>(symbol)) + offset, from, bytes, cudaMemcpyDefault,
                      before(__builtin_return_address(0)));
}
cudaError_t cudacpu::copy_from_symbol(void* to, const void* symbol, size_t size, size_t bytes,
                                      size_t offset) {
    if (offset > size || bytes > size - offset) return remember(cudaErrorInvalidValue);
    return copy_bytes(to, static_cast<const char*>(symbol) + offset, bytes, cudaMemcpyDefault,
                      before(__builtin_return_address(0)));
}
