// What is remembered about each byte of a buffer: whether it has been written, and who touched it (races.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#pragma GCC visibility push(hidden)
namespace cudacpu {
// One access of the program, as its compiler announces it.
struct Touch {
    bool reads, writes, is_atomic, is_volatile;
    bool releases = false;     // an atomic whose memory order publishes what its thread did before
    bool ignores_old = false;  // an exchange, whose result is often not looked at
};
constexpr Touch kRead = {true, false, false, false}, kWrite = {false, true, false, false},
                kReadWrite = {true, true, false, false}, kVolatileRead = {true, false, false, true},
                kVolatileWrite = {false, true, false, true}, kVolatileReadWrite = {true, true, false, true};

struct Cell;

struct Shadow {
    uintptr_t begin = 0;
    size_t size = 0;
    unsigned char* written = nullptr;  // one byte for each byte, null: all of them are
    uint64_t pattern = 0;              // what fills a buffer that nobody has written, repeated from `begin`
    bool is_shared_memory = false;     // touched by one OS thread only
    std::atomic<Cell*> words{nullptr}, bytes{nullptr};  // for races: mapped when first needed
};

// Whether a library with instrumented accesses has been loaded; without one nothing is remembered.
extern std::atomic<bool> instrumented;

Shadow* new_shadow(uintptr_t begin, size_t size, bool written, uint64_t pattern);
void delete_shadow(Shadow* shadow);

// `byte` in every byte of a word.
uint64_t repeated(int byte);

// Memory that costs nothing until it is touched, and is not counted by a limit on data.
void* map_lazily(size_t size);

void mark_written(Shadow* shadow, uintptr_t address, size_t size);
void mark_unwritten(Shadow* shadow, size_t size);
// A copy of memory takes along what is known about it.
void copy_written(Shadow* to, uintptr_t to_address, const Shadow* from, uintptr_t from_address, size_t size);
// Whether none of these bytes has ever been written.
bool is_unwritten(Shadow* shadow, uintptr_t address, size_t size);
}  // namespace cudacpu
#pragma GCC visibility pop
