// Device memory with guard bytes, the table of known ranges, and the copies between them.
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "api_state.h"
#include "cudacpu/api.h"
#include "scheduler.h"

namespace cudacpu {
namespace {
constexpr size_t kAlignment = 256;
constexpr size_t kGuardBytes = 256;
constexpr unsigned char kGuardPattern = 0xc9;

// Sorted by lo and never changed: a change makes a new table, so that checks need no lock.
struct Table {
    std::vector<Range> ranges;
    uintptr_t low = 0, span = 0;
};

std::mutex mutex;  // guards everything below but the pointer
std::atomic<const Table*> table{new Table};
std::vector<std::unique_ptr<const Table>> old_tables;
uint64_t live = 0;

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
    std::vector<Range> ranges = table.load()->ranges;
    ranges.erase(std::remove_if(ranges.begin(), ranges.end(), which), ranges.end());
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

inline void check(const Range& range, uintptr_t address, size_t size, Access access, const void* code) {
    if (address >= range.begin && size <= range.end - range.begin &&
        address - range.begin <= range.end - range.begin - size) {
        return;
    }
    record_violation(
        {access, range.buffer, static_cast<int64_t>(address - range.begin), size, range.end - range.begin},
        code);
}

void check_guard(const Range& range, uintptr_t from, uintptr_t to) {
    for (uintptr_t address = from; address < to; ++address) {
        if (*reinterpret_cast<unsigned char*>(address) != kGuardPattern) {
            const int64_t offset = static_cast<int64_t>(address - range.begin);
            record_violation({Access::write, kDeviceMemory, offset, 1, range.end - range.begin}, nullptr);
            return;
        }
    }
}

void check_guards_of(const Range& range) {
    check_guard(range, range.end, range.hi);
    check_guard(range, range.lo, range.begin);
}

bool is_device_memory(const Range& range) { return range.buffer == kDeviceMemory; }

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
    check(*range, begin, size, access, code);
    return cudaSuccess;
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
    return cudaSuccess;
}

cudaError_t fill_bytes(void* to, int value, size_t bytes, const void* code) {
    if (cudaError_t error = sticky_error()) return remember(error);
    if (bytes == 0) return cudaSuccess;
    if (cudaError_t error = check_copy(to, bytes, Access::write, code)) return remember(error);
    memset(to, value, bytes);
    return cudaSuccess;
}

void check_access(uintptr_t address, size_t size, Access access, const void* code) {
    if (const Range* range = find(table.load(std::memory_order_acquire), address)) {
        check(*range, address, size, access, code);
    } else if (const Worker* worker = this_worker) {
        if (address - worker->shared.lo < worker->shared.hi - worker->shared.lo) {
            check(worker->shared, address, size, access, code);
        }
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
    old_tables.clear();
}
}  // namespace cudacpu

using namespace cudacpu;

void cudacpu_set_buffer(int index, uintptr_t lo, uintptr_t begin, uintptr_t end, uintptr_t hi) {
    std::lock_guard<std::mutex> lock(mutex);
    erase([=](const Range& range) { return range.buffer == index; });
    insert({index, lo, begin, end, hi});
}

void cudacpu_clear_buffers(void) {
    std::lock_guard<std::mutex> lock(mutex);
    erase([](const Range& range) { return !is_device_memory(range); });
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    if (cudaError_t error = sticky_error()) return remember(error);
    if (pointer == nullptr) return remember(cudaErrorInvalidValue);
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > SIZE_MAX / 2) return remember(cudaErrorMemoryAllocation);
    const size_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = aligned_alloc(kAlignment, kGuardBytes + padded + kGuardBytes);
    if (memory == nullptr) return remember(cudaErrorMemoryAllocation);
    const uintptr_t lo = reinterpret_cast<uintptr_t>(memory);
    const Range range = {kDeviceMemory, lo, lo + kGuardBytes, lo + kGuardBytes + bytes,
                         lo + kGuardBytes + padded + kGuardBytes};
    memset(reinterpret_cast<void*>(range.lo), kGuardPattern, range.begin - range.lo);
    memset(reinterpret_cast<void*>(range.end), kGuardPattern, range.hi - range.end);
    *pointer = reinterpret_cast<void*>(range.begin);
    if (orders().poison >= 0) memset(*pointer, orders().poison, bytes);
    std::lock_guard<std::mutex> lock(mutex);
    insert(range);
    live += bytes;
    return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
    if (cudaError_t error = sticky_error()) return remember(error);
    if (pointer == nullptr) return cudaSuccess;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(pointer);
    std::lock_guard<std::mutex> lock(mutex);
    Range range;
    if (!find_buffer(begin, &range) || !is_device_memory(range) || range.begin != begin) {
        return remember(cudaErrorInvalidValue);
    }
    check_guards_of(range);
    erase([=](const Range& other) { return other.begin == begin; });
    live -= range.end - range.begin;
    free(reinterpret_cast<void*>(range.lo));
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) { return cudaMalloc(pointer, bytes); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return allocate_host(pointer, bytes); }
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) { return allocate_host(pointer, bytes); }
cudaError_t cudaFreeHost(void* pointer) {
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return copy_bytes(to, from, bytes, kind, __builtin_return_address(0));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    return copy_bytes(to, from, bytes, kind, __builtin_return_address(0));
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    return fill_bytes(to, value, bytes, __builtin_return_address(0));
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
    return fill_bytes(to, value, bytes, __builtin_return_address(0));
}

cudaError_t cudacpu::copy_to_symbol(const void* symbol, size_t size, const void* from, size_t bytes,
                                    size_t offset) {
    if (offset > size || bytes > size - offset) return remember(cudaErrorInvalidValue);
    return copy_bytes(static_cast<char*>(const_cast<void*>(symbol)) + offset, from, bytes, cudaMemcpyDefault,
                      __builtin_return_address(0));
}
cudaError_t cudacpu::copy_from_symbol(void* to, const void* symbol, size_t size, size_t bytes,
                                      size_t offset) {
    if (offset > size || bytes > size - offset) return remember(cudaErrorInvalidValue);
    return copy_bytes(to, static_cast<const char*>(symbol) + offset, bytes, cudaMemcpyDefault,
                      __builtin_return_address(0));
}
