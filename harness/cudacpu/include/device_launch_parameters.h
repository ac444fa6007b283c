// Stands in for CUDA's header of the same name.
#pragma once
#include "cudacpu/thread.h"
