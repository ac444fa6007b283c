// Stands in for CUDA's header of the same name: there is no profiler to start.
#pragma once

#include "cuda_runtime.h"

static inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
static inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
