// Stands in for CUDA's header of the same name: the runtime API only, no driver API.
#pragma once
#include "cuda_runtime.h"
