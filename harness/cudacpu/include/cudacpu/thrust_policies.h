// thrust::cuda::par and its kin, on Thrust's sequential back end: all work is done when a call returns.
#pragma once

#include <stdint.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/iterator_traits.h>
#include <thrust/system/cpp/execution_policy.h>

#include <type_traits>
#include <vector>

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

namespace system {
namespace cpp {
namespace detail {
// Preferred to the sequential back end's, which adds one after the other: a long sum of floats loses digits
// that it keeps on a GPU. Here neighbours are joined, then pairs of them, and so on, in order.
template <class Policy, class Iterator, class T, class Op>
T reduce(execution_policy<Policy>&, Iterator first, Iterator last, T start, Op op) {
    if constexpr (std::is_same<typename thrust::iterator_traits<Iterator>::value_type, T>::value) {
        std::vector<T> joined;  // of ever fewer elements, as the bits of their number say
        for (uint64_t count = 0; first != last; ++first, ++count) {
            T value = *first;
            for (uint64_t bits = count; (bits & 1) != 0; bits >>= 1) {
                value = static_cast<T>(op(joined.back(), value));
                joined.pop_back();
            }
            joined.push_back(value);
        }
        for (const T& value : joined) start = static_cast<T>(op(start, value));
    } else {
        for (; first != last; ++first) start = static_cast<T>(op(start, *first));
    }
    return start;
}
}  // namespace detail
}  // namespace cpp
}  // namespace system
}  // namespace thrust
