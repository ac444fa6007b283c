// cg::memcpy_async: a copy that is done when the call returns; waiting for it is the group's barrier.
#pragma once

#include "groups.h"

namespace cooperative_groups {
template <class Group, class T>
void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
    for (size_t i = group.thread_rank(); i < bytes / sizeof(T); i += group.size()) to[i] = from[i];
}
template <class Group, class T>
void memcpy_async(const Group& group, T* to, size_t to_count, const T* from, size_t from_count) {
    memcpy_async(group, to, from, (to_count < from_count ? to_count : from_count) * sizeof(T));
}
template <class Group>
void wait(const Group& group) {
    group.sync();
}
template <unsigned int stages, class Group>
void wait_prior(const Group& group) {
    group.sync();
}
}  // namespace cooperative_groups
