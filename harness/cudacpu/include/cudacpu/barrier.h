// cuda::barrier, cuda::pipeline and cuda::memcpy_async. Copies are done when the call returns; who waits for
// others lets them run, so these may be used by any part of a block.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "groups.h"

// Where CCCL is installed, its scopes are the ones to use, in case that a file includes more of it.
#if __has_include(<cuda/atomic>)
#define CUDACPU_HEADER <cuda/atomic>
#include "cccl.h"
#else
namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
}
#endif

namespace cudacpu {
CUDACPU_INLINE uint32_t read_counter(const uint32_t* counter) {
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}
CUDACPU_INLINE uint32_t count_up(uint32_t* counter, uint32_t by) {
    return __atomic_add_fetch(counter, by, __ATOMIC_ACQ_REL);
}
// Until `counter` has gone `goal` steps or more.
CUDACPU_INLINE void wait_for(const uint32_t* counter, uint32_t goal) {
    while (static_cast<int32_t>(read_counter(counter) - goal) < 0) __nanosleep(0);
}
CUDACPU_INLINE void copy_bytes(void* to, const void* from, size_t first, size_t step, size_t bytes) {
    if (bytes % 4 == 0 && (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % 4 == 0) {
        for (size_t i = first; i < bytes / 4; i += step)
            static_cast<uint32_t*>(to)[i] = static_cast<const uint32_t*>(from)[i];
    } else {
        for (size_t i = first; i < bytes; i += step)
            static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
    }
}
}  // namespace cudacpu

namespace cuda {
template <size_t alignment>
struct aligned_size_t {
    size_t value;
    constexpr explicit aligned_size_t(size_t value) : value(value) {}
    constexpr operator size_t() const { return value; }
};

// Nothing is constructed, since it lies in shared memory: init() makes it usable, as on a GPU.
template <thread_scope scope>
class barrier {
  public:
    using arrival_token = uint32_t;
    barrier() = default;
    explicit barrier(ptrdiff_t expected) { init(this, expected); }
    barrier(const barrier&) = delete;

    friend void init(barrier* self, ptrdiff_t expected) {
        self->expected_ = self->left_ = static_cast<uint32_t>(expected);
        self->phase_ = self->dropped_ = 0;
    }
    arrival_token arrive(ptrdiff_t count = 1) {
        const arrival_token phase = cudacpu::read_counter(&phase_);
        if (cudacpu::count_up(&left_, 0 - static_cast<uint32_t>(count)) == 0) {
            expected_ -= __atomic_exchange_n(&dropped_, 0, __ATOMIC_ACQ_REL);
            __atomic_store_n(&left_, expected_, __ATOMIC_RELEASE);
            cudacpu::count_up(&phase_, 1);
        }
        return phase;
    }
    void wait(arrival_token&& phase) const { cudacpu::wait_for(&phase_, phase + 1); }
    void arrive_and_wait() { wait(arrive()); }
    void arrive_and_drop() {
        cudacpu::count_up(&dropped_, 1);
        arrive();
    }

  private:
    uint32_t expected_, left_, dropped_, phase_;
};

template <thread_scope scope, uint8_t stages>
struct pipeline_shared_state {
    uint32_t producers, consumers;
    uint32_t committed[stages], released[stages];
};
enum class pipeline_role { producer, consumer };

template <thread_scope scope>
class pipeline {
  public:
    pipeline(const pipeline&) = delete;
    pipeline(pipeline&&) = default;
    void producer_acquire() {
        if (released_ != nullptr)
            cudacpu::wait_for(&released_[head_ % stages_], head_ / stages_ * *consumers_);
    }
    void producer_commit() {
        if (committed_ != nullptr) cudacpu::count_up(&committed_[head_ % stages_], 1);
        ++head_;
    }
    void consumer_wait() {
        if (committed_ != nullptr)
            cudacpu::wait_for(&committed_[tail_ % stages_], (tail_ / stages_ + 1) * *producers_);
    }
    template <class Rep, class Period>
    bool consumer_wait_for(const Rep&, const Period&) = delete;
    void consumer_release() {
        if (released_ != nullptr) cudacpu::count_up(&released_[tail_ % stages_], 1);
        ++tail_;
    }
    void quit() {}

  private:
    pipeline() = default;
    uint32_t *committed_ = nullptr, *released_ = nullptr;  // of a thread's own pipeline: null
    const uint32_t *producers_ = nullptr, *consumers_ = nullptr;
    uint32_t stages_ = 1, head_ = 0, tail_ = 0;

    friend pipeline<thread_scope_thread> make_pipeline();
    template <class Group, thread_scope any, uint8_t stages>
    friend pipeline<any> make_pipeline(const Group&, pipeline_shared_state<any, stages>*);
    template <class Group, thread_scope any, uint8_t stages>
    friend pipeline<any> make_pipeline(const Group&, pipeline_shared_state<any, stages>*, pipeline_role);
    template <class Group, thread_scope any, uint8_t stages>
    friend pipeline<any> make_pipeline(const Group&, pipeline_shared_state<any, stages>*, size_t);

    template <class Group, uint8_t stages>
    void share(const Group& group, pipeline_shared_state<scope, stages>* state, bool produces,
               bool consumes) {
        if (group.thread_rank() == 0) {
            state->producers = state->consumers = 0;
            for (uint8_t i = 0; i < stages; ++i) state->committed[i] = state->released[i] = 0;
        }
        group.sync();
        if (produces) cudacpu::count_up(&state->producers, 1);
        if (consumes) cudacpu::count_up(&state->consumers, 1);
        group.sync();
        committed_ = state->committed, released_ = state->released;
        producers_ = &state->producers, consumers_ = &state->consumers;
        stages_ = stages;
    }
};
inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <class Group, thread_scope scope, uint8_t stages>
pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state) {
    pipeline<scope> made;
    made.share(group, state, true, true);
    return made;
}
template <class Group, thread_scope scope, uint8_t stages>
pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state,
                              pipeline_role role) {
    pipeline<scope> made;
    made.share(group, state, role == pipeline_role::producer, role == pipeline_role::consumer);
    return made;
}
template <class Group, thread_scope scope, uint8_t stages>
pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state,
                              size_t producers) {
    pipeline<scope> made;
    const bool produces = group.thread_rank() < producers;
    made.share(group, state, produces, !produces);
    return made;
}
template <uint8_t prior>
void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&) {}

// By one thread, or by all of a group.
template <class Size, class Sync>
void memcpy_async(void* to, const void* from, Size bytes, Sync&) {
    cudacpu::copy_bytes(to, from, 0, 1, static_cast<size_t>(bytes));
}
template <class Group, class Size, class Sync>
void memcpy_async(const Group& group, void* to, const void* from, Size bytes, Sync&) {
    cudacpu::copy_bytes(to, from, static_cast<size_t>(group.thread_rank()), static_cast<size_t>(group.size()),
                        static_cast<size_t>(bytes));
}
}  // namespace cuda
