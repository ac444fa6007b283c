// Which bytes of a buffer have been written.
#include "shadow.h"

#include <string.h>
#include <sys/mman.h>

#include "facts.h"
#include "races.h"

namespace cudacpu {
std::atomic<bool> instrumented{false};

void* map_lazily(size_t size) {
    // Shared, because a limit on data (RLIMIT_DATA) counts private mappings in full, used or not.
    void* memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) fatal("no memory to watch %zu bytes", size);
    return memory;
}

uint64_t repeated(int byte) { return static_cast<uint64_t>(byte & 0xff) * 0x0101010101010101u; }

Shadow* new_shadow(uintptr_t begin, size_t size, bool written, uint64_t pattern) {
    auto* shadow = new Shadow;
    shadow->begin = begin;
    shadow->size = size;
    shadow->pattern = pattern;
    if (!written && size > 0) shadow->written = static_cast<unsigned char*>(map_lazily(size));
    return shadow;
}

void delete_shadow(Shadow* shadow) {
    if (shadow == nullptr) return;
    if (shadow->written != nullptr) munmap(shadow->written, shadow->size);
    delete_cells(shadow);
    delete shadow;
}

void mark_written(Shadow* shadow, uintptr_t address, size_t size) {
    if (shadow != nullptr && shadow->written != nullptr)
        memset(shadow->written + (address - shadow->begin), 1, size);
}

void mark_unwritten(Shadow* shadow, size_t size) {
    if (shadow->written != nullptr) memset(shadow->written, 0, size);
}

void copy_written(Shadow* to, uintptr_t to_address, const Shadow* from, uintptr_t from_address, size_t size) {
    if (to == nullptr || to->written == nullptr) return;
    if (from == nullptr || from->written == nullptr) return mark_written(to, to_address, size);
    memmove(to->written + (to_address - to->begin), from->written + (from_address - from->begin), size);
}

bool is_unwritten(Shadow* shadow, uintptr_t address, size_t size) {
    if (shadow->written == nullptr || size == 0) return false;
    const size_t offset = address - shadow->begin;
    const unsigned char* written = shadow->written + offset;
    if (written[0] != 0 || memchr(written, 1, size) != nullptr) return false;
    if (orders().poison < 0) return true;
    // Something that is not instrumented may have written there: then the poison has gone.
    unsigned char pattern[sizeof shadow->pattern];
    memcpy(pattern, &shadow->pattern, sizeof pattern);
    const auto* bytes = reinterpret_cast<const unsigned char*>(address);
    for (size_t i = 0; i < size; ++i) {
        if (bytes[i] != pattern[(offset + i) % sizeof pattern]) return false;
    }
    return true;
}
}  // namespace cudacpu
