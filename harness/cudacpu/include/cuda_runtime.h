// Everything that a .cu file sees without including anything: nvcc includes its own header of this name
// first, too.
#pragma once

#define CUDACPU 1
#define __CUDACC__ 1
#define __CUDA_ARCH__ 900  // for host code, too: host and device are compiled at once
#define CUDART_VERSION 12040

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <new>
#include <utility>

#include "cudacpu/api.h"
#include "cudacpu/atomics.h"
#include "cudacpu/cluster.h"
#include "cudacpu/launch.h"
#include "cudacpu/math.h"
#include "cudacpu/ptx.h"
#include "cudacpu/qualifiers.h"
#include "cudacpu/thread.h"
#include "cudacpu/types.h"
#include "cudacpu/warp.h"

// What assert() calls. A macro, since a function of that name would be found in the C library first.
#define __assert_fail cudacpu_assert_fail
