// Operations in which the lanes of a warp meet: shuffles, votes, reductions, __syncwarp. Inlined always,
// since reports name the place of the call.
#pragma once

#include <stdint.h>

#include <type_traits>

#include "qualifiers.h"

namespace cudacpu {
enum class WarpOp : uint32_t {
    sync,
    shuffle,
    shuffle_up,
    shuffle_down,
    shuffle_xor,
    all,
    any,
    ballot,
    reduce_add,
    reduce_min_signed,
    reduce_max_signed,
    reduce_min_unsigned,
    reduce_max_unsigned,
    reduce_and,
    reduce_or,
    reduce_xor,
    match_any,
    match_all
};

// Waits until every living lane of `mask` is here, then returns this lane's result. `operand` and `width` are
// those of a shuffle.
uint64_t warp_meet(WarpOp op, uint32_t mask, uint64_t value, uint32_t operand = 0, uint32_t width = 32);
uint32_t active_mask();
// Between the reads and the writes of warp-synchronous code: waits for the lanes that come to the same place.
// They count on running in step, which CUDA does not promise, so it is recorded as undefined behaviour.
// Places are numbered, since an optimiser may copy the code and send lane 0 through a copy of its own.
void in_step(unsigned place);

// The bits of a number, in a word that holds each of them.
template <class T>
uint64_t word_of(T value) {
    static_assert(std::is_arithmetic<T>::value && sizeof(+value) <= 8, "takes a number of 32 or 64 bits");
    auto number = +value;
    uint64_t word = 0;
    __builtin_memcpy(&word, &number, sizeof number);
    return word;
}

// Types narrower than int arrive as int, as they do through CUDA's overloads.
template <class T>
CUDACPU_INLINE auto shuffle(WarpOp op, uint32_t mask, T value, uint32_t operand, int width)
    -> decltype(+value) {
    static_assert(std::is_arithmetic<T>::value, "a shuffle takes a number of 32 or 64 bits");
    static_assert(sizeof(+value) <= 8, "a shuffle takes a number of 32 or 64 bits");
    auto number = +value;
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &number, sizeof number);
    bits = warp_meet(op, mask, bits, operand, static_cast<uint32_t>(width));
    __builtin_memcpy(&number, &bits, sizeof number);
    return number;
}
}  // namespace cudacpu

template <class T>
CUDACPU_INLINE auto __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
    return cudacpu::shuffle(cudacpu::WarpOp::shuffle, mask, value, static_cast<uint32_t>(lane), width);
}
template <class T>
CUDACPU_INLINE auto __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return cudacpu::shuffle(cudacpu::WarpOp::shuffle_up, mask, value, delta, width);
}
template <class T>
CUDACPU_INLINE auto __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return cudacpu::shuffle(cudacpu::WarpOp::shuffle_down, mask, value, delta, width);
}
template <class T>
CUDACPU_INLINE auto __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
    return cudacpu::shuffle(cudacpu::WarpOp::shuffle_xor, mask, value, static_cast<uint32_t>(lane_mask),
                            width);
}

CUDACPU_INLINE void __syncwarp(unsigned mask = 0xffffffffu) {
    cudacpu::warp_meet(cudacpu::WarpOp::sync, mask, 0);
}
// Lanes are told apart by the place of the call.
CUDACPU_INLINE unsigned __activemask() { return cudacpu::active_mask(); }
CUDACPU_INLINE int __all_sync(unsigned mask, int predicate) {
    return static_cast<int>(cudacpu::warp_meet(cudacpu::WarpOp::all, mask, predicate != 0));
}
CUDACPU_INLINE int __any_sync(unsigned mask, int predicate) {
    return static_cast<int>(cudacpu::warp_meet(cudacpu::WarpOp::any, mask, predicate != 0));
}
CUDACPU_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
    return static_cast<unsigned>(cudacpu::warp_meet(cudacpu::WarpOp::ballot, mask, predicate != 0));
}

#define CUDACPU_REDUCE(name, type, op)                                                    \
    CUDACPU_INLINE type name(unsigned mask, type value) {                                 \
        return static_cast<type>(                                                         \
            cudacpu::warp_meet(cudacpu::WarpOp::op, mask, static_cast<uint32_t>(value))); \
    }
CUDACPU_REDUCE(__reduce_add_sync, int, reduce_add)
CUDACPU_REDUCE(__reduce_add_sync, unsigned, reduce_add)
CUDACPU_REDUCE(__reduce_min_sync, int, reduce_min_signed)
CUDACPU_REDUCE(__reduce_min_sync, unsigned, reduce_min_unsigned)
CUDACPU_REDUCE(__reduce_max_sync, int, reduce_max_signed)
CUDACPU_REDUCE(__reduce_max_sync, unsigned, reduce_max_unsigned)
CUDACPU_REDUCE(__reduce_and_sync, unsigned, reduce_and)
CUDACPU_REDUCE(__reduce_or_sync, unsigned, reduce_or)
CUDACPU_REDUCE(__reduce_xor_sync, unsigned, reduce_xor)
#undef CUDACPU_REDUCE

// The lanes that brought the same bits.
template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
    return static_cast<unsigned>(
        cudacpu::warp_meet(cudacpu::WarpOp::match_any, mask, cudacpu::word_of(value)));
}
// All of `mask` if every lane brought the same bits, else none.
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* same) {
    const unsigned lanes =
        static_cast<unsigned>(cudacpu::warp_meet(cudacpu::WarpOp::match_all, mask, cudacpu::word_of(value)));
    *same = lanes != 0;
    return lanes;
}
