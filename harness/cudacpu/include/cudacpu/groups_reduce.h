// cg::reduce and the operators that it shares with the scans.
#pragma once

#include "groups.h"

namespace cooperative_groups {
#define CUDACPU_OPERATION(name, expression)                                               \
    template <class T = void>                                                             \
    struct name {                                                                         \
        T operator()(const T& a, const T& b) const { return static_cast<T>(expression); } \
    };                                                                                    \
    template <>                                                                           \
    struct name<void> {                                                                   \
        template <class T>                                                                \
        T operator()(const T& a, const T& b) const {                                      \
            return static_cast<T>(expression);                                            \
        }                                                                                 \
    };
CUDACPU_OPERATION(plus, a + b)
CUDACPU_OPERATION(less, b < a ? b : a)
CUDACPU_OPERATION(greater, a < b ? b : a)
CUDACPU_OPERATION(bit_and, a& b)
CUDACPU_OPERATION(bit_xor, a ^ b)
CUDACPU_OPERATION(bit_or, a | b)
#undef CUDACPU_OPERATION

// Every thread of the group gets the result.
template <class T, class Op, unsigned int Size, class Parent>
T reduce(const thread_block_tile<Size, Parent>& group, T value, Op op) {
    for (unsigned distance = Size / 2; distance > 0; distance /= 2) {
        value = op(value, group.shfl_xor(value, distance));
    }
    return value;
}
template <class T, class Op>
T reduce(const coalesced_group& group, T value, Op op) {
    T result = group.shfl(value, 0);
    for (unsigned rank = 1; rank < group.size(); ++rank) result = op(result, group.shfl(value, rank));
    return result;
}
}  // namespace cooperative_groups
