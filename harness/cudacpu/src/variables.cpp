// Shared variables as blocks come to them, and where a library keeps its `__device__` variables.
#include "variables.h"

#include <link.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "cudacpu/thread.h"
#include "facts.h"

namespace cudacpu {
namespace {
struct SharedVariable {
    Range range;
    uintptr_t mark;
    std::unique_ptr<Shadow, void (*)(Shadow*)> shadow;
};
// They keep their addresses as long as the OS thread lives.
struct SharedVariables {
    std::vector<SharedVariable> list;
    size_t last = 0;              // the one that was found last
    uintptr_t low = 0, high = 0;  // around all of them and their marks
};
thread_local SharedVariables shared_variables;

struct Segment {
    Range range;
    std::unique_ptr<Shadow, void (*)(Shadow*)> shadow;
};
std::mutex libraries_mutex;
std::vector<Segment> segments;                                   // for who holds the lock
std::atomic<const std::vector<Range>*> known_segments{nullptr};  // never changed once it is here

struct Wanted {
    uintptr_t code;
    std::vector<std::pair<uintptr_t, size_t>> found;
};

int look_at_library(dl_phdr_info* library, size_t, void* data) {
    auto* wanted = static_cast<Wanted*>(data);
    bool holds_code = false;
    for (int i = 0; i < library->dlpi_phnum; ++i) {
        const auto& header = library->dlpi_phdr[i];
        holds_code |=
            header.p_type == PT_LOAD && wanted->code - (library->dlpi_addr + header.p_vaddr) < header.p_memsz;
    }
    if (!holds_code) return 0;
    for (int i = 0; i < library->dlpi_phnum; ++i) {
        const auto& header = library->dlpi_phdr[i];
        if (header.p_type == PT_LOAD && (header.p_flags & PF_W) != 0)
            wanted->found.emplace_back(library->dlpi_addr + header.p_vaddr, header.p_memsz);
    }
    return 1;
}
}  // namespace

void add_library(const void* code) {
    Wanted wanted = {reinterpret_cast<uintptr_t>(code), {}};
    dl_iterate_phdr(look_at_library, &wanted);
    std::lock_guard<std::mutex> lock(libraries_mutex);
    auto* ranges = new std::vector<Range>;  // kept for good: another thread may be reading the one before
    if (const std::vector<Range>* before = known_segments.load()) *ranges = *before;
    for (const auto& [begin, size] : wanted.found) {
        segments.push_back({{kDeviceVariables, begin, begin, begin + size, begin + size},
                            {new_shadow(begin, size, true, 0), delete_shadow}});
        segments.back().range.shadow = segments.back().shadow.get();
        ranges->push_back(segments.back().range);
    }
    known_segments = ranges;
}

const Range* find_device_variable(uintptr_t address) {
    const std::vector<Range>* ranges = known_segments.load(std::memory_order_acquire);
    if (ranges == nullptr) return nullptr;
    for (const Range& range : *ranges) {
        if (address - range.begin < range.end - range.begin) return &range;
    }
    return nullptr;
}

const Range* find_shared_variable(uintptr_t address) {
    SharedVariables& known = shared_variables;
    if (address - known.low >= known.high - known.low) return nullptr;
    auto holds = [=](const Range& range) { return address - range.begin < range.end - range.begin; };
    if (holds(known.list[known.last].range)) return &known.list[known.last].range;
    for (size_t i = 0; i < known.list.size(); ++i) {
        if (!holds(known.list[i].range)) continue;
        known.last = i;
        return &known.list[i].range;
    }
    // In a mark: past the end of the variable before it, or before the start of the first one.
    const Range* nearest = nullptr;
    bool in_mark = false;
    for (const SharedVariable& variable : known.list) {
        in_mark |= address - variable.mark < sizeof(SharedMark);
        const uintptr_t end = variable.range.end;
        if (nearest == nullptr || (end <= address && (nearest->end > address || nearest->end < end)))
            nearest = &variable.range;
    }
    return in_mark ? nearest : nullptr;
}

void begin_shared_variable(volatile void* variable, size_t size, const char* name, const SharedMark* mark) {
    if (orders().poison >= 0) memset(const_cast<void*>(variable), orders().poison, size);
    if (!instrumented) return;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(variable), guard = reinterpret_cast<uintptr_t>(mark);
    SharedVariables& all = shared_variables;
    for (SharedVariable& known : all.list) {
        if (known.range.begin == begin && known.range.end == begin + size) {
            known.shadow->pattern = repeated(orders().poison);
            return mark_unwritten(known.shadow.get(), size);
        }
    }
    Shadow* shadow = new_shadow(begin, size, false, repeated(orders().poison));
    shadow->is_shared_memory = true;
    all.list.push_back({{kStaticShared, begin, begin, begin + size, begin + size, shadow, name},
                        guard,
                        {shadow, delete_shadow}});
    all.low = std::min({all.low == 0 ? begin : all.low, begin, guard});
    all.high = std::max({all.high, begin + size, guard + sizeof *mark});
}
}  // namespace cudacpu
