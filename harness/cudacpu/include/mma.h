// Stands in for CUDA's header of the same name: products of small matrices by a warp (nvcuda::wmma).
#pragma once

#include "cuda_runtime.h"
#include "cudacpu/wmma.h"
