// The last error of the host thread, and what was asked for with cudaFuncSetAttribute.
#pragma once

#include <stddef.h>

#include "cudacpu/api.h"

namespace cudacpu {
// Keeps an error for cudaGetLastError and returns it; success changes nothing.
cudaError_t remember(cudaError_t error);
cudaError_t take_last_error();

// The largest dynamic shared memory that a launch of this kernel may ask for; null: a kernel whose address is
// not known.
size_t shared_limit(const void* entry);

constexpr size_t kSharedDefault = 48 * 1024;
constexpr size_t kSharedMost = 227 * 1024;  // what the newest GPUs allow
}  // namespace cudacpu
