// cg::inclusive_scan and cg::exclusive_scan.
#pragma once

#include "groups_reduce.h"

namespace cooperative_groups {
template <class Group, class T, class Op = plus<>>
T inclusive_scan(const Group& group, T value, Op op = {}) {
    for (unsigned distance = 1; distance < group.size(); distance *= 2) {
        const T earlier = group.shfl_up(value, distance);
        if (group.thread_rank() >= distance) value = op(earlier, value);
    }
    return value;
}
template <class Group, class T, class Op = plus<>>
T exclusive_scan(const Group& group, T value, Op op = {}) {
    const T earlier = group.shfl_up(inclusive_scan(group, value, op), 1);
    return group.thread_rank() == 0 ? T{} : earlier;
}
}  // namespace cooperative_groups
