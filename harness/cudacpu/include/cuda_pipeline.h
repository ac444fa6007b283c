// Stands in for CUDA's header of the same name.
#pragma once

#include "cuda_pipeline_primitives.h"
