// What the runtime API keeps: the last error of the host thread, the error that ended the device's work, the
// streams, and what was asked for with cudaFuncSetAttribute.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cudacpu/api.h"

#pragma GCC visibility push(hidden)
namespace cudacpu {
// Keeps an error for cudaGetLastError and returns it; success changes nothing.
cudaError_t remember(cudaError_t error);
cudaError_t take_last_error();

// An error inside a kernel: every later call gives it, too, until the process ends (or a new call of a judge
// begins).
void set_sticky_error(cudaError_t error, const char* sentence);
cudaError_t sticky_error();
const char* sticky_sentence();
void clear_sticky_error();

bool stream_exists(cudaStream_t stream);

// The largest dynamic shared memory that a launch of this kernel may ask for; null: a kernel whose address is
// not known.
size_t shared_limit(const void* entry);

// How many blocks a cluster of this kernel may have.
uint64_t cluster_limit(const void* entry);

// How many blocks of that shape the modelled GPU holds at once.
uint64_t most_resident_blocks(dim3 block, size_t shared_bytes);

constexpr size_t kMemoryTotal = size_t(80) << 30;
constexpr size_t kSharedDefault = 48 * 1024;
constexpr size_t kSharedMost = 227 * 1024;
}  // namespace cudacpu
#pragma GCC visibility pop
