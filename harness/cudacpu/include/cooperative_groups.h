// Stands in for CUDA's header of the same name: groups of threads that work together.
#pragma once

#include "cuda_runtime.h"
#include "cudacpu/groups.h"
