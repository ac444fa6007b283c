// Stands in for CUDA's header of the same name.
#pragma once
#include "cuda_runtime.h"
