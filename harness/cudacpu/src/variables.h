// Which memory is a variable of the program: `__shared__`, or in the data segments of its library.
#pragma once

#include <stdint.h>

#include "memory.h"

#pragma GCC visibility push(hidden)
namespace cudacpu {
// The `__shared__` variable at an address, or the one beside whose end it lies; null if there is none. Of
// this OS thread, and only of those declared in functions.
const Range* find_shared_variable(uintptr_t address);

// The writable data of an instrumented library that holds the address, or null.
const Range* find_device_variable(uintptr_t address);

// Learns where a library keeps its variables; `code` is an address in it.
void add_library(const void* code);
}  // namespace cudacpu
#pragma GCC visibility pop
