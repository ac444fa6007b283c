// thrust::cuda::par and its kin, on Thrust's sequential back end: all work is done when a call returns.
#pragma once

#include <thrust/execution_policy.h>
#include <thrust/system/cpp/execution_policy.h>

#include "api.h"
#include "launch.h"

namespace cudacpu {
static const bool thrust_runs_on_host = let_host_touch_buffers();
}

namespace thrust {
namespace cuda {
struct cudacpu_policy : std::decay_t<decltype(thrust::cpp::par)> {
    std::decay_t<decltype(thrust::cpp::par)> on(cudaStream_t) const { return {}; }
};
static const cudacpu_policy par, par_nosync;
}  // namespace cuda
}  // namespace thrust
