// CUDA's functions on integers and on the bits of floats.
#pragma once

#include <stdint.h>

#include "atomics.h"
#include "types.h"

static inline int __float_as_int(float x) { return cudacpu::bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return cudacpu::bits<unsigned>(x); }
static inline float __int_as_float(int x) { return cudacpu::bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return cudacpu::bits<float>(x); }
static inline long long __double_as_longlong(double x) { return cudacpu::bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return cudacpu::bits<double>(x); }
static inline int __double2hiint(double x) { return static_cast<int>(cudacpu::bits<uint64_t>(x) >> 32); }
static inline int __double2loint(double x) { return static_cast<int>(cudacpu::bits<uint64_t>(x)); }
static inline double __hiloint2double(int high, int low) {
    return cudacpu::bits<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                                 static_cast<uint32_t>(low));
}

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
static inline int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
static inline unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
static inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<int64_t>(x) * y >> 32); }
static inline unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>(static_cast<uint64_t>(x) * y >> 32);
}
static inline int __mul24(int x, int y) { return ((x << 8) >> 8) * ((y << 8) >> 8); }
static inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
static inline long long __mul64hi(long long x, long long y) {
    return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}

// Averages, rounded down or up, and sums of absolute differences, none of which overflows.
static inline int __hadd(int x, int y) { return static_cast<int>((static_cast<int64_t>(x) + y) >> 1); }
static inline int __rhadd(int x, int y) { return static_cast<int>((static_cast<int64_t>(x) + y + 1) >> 1); }
static inline unsigned __uhadd(unsigned x, unsigned y) {
    return static_cast<unsigned>((static_cast<uint64_t>(x) + y) >> 1);
}
static inline unsigned __urhadd(unsigned x, unsigned y) {
    return static_cast<unsigned>((static_cast<uint64_t>(x) + y + 1) >> 1);
}
static inline unsigned __sad(int x, int y, unsigned z) {
    return z + (x > y ? static_cast<unsigned>(x) - static_cast<unsigned>(y)
                      : static_cast<unsigned>(y) - static_cast<unsigned>(x));
}
static inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x > y ? x - y : y - x); }

// Four bytes picked from the eight of y:x.
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selectors) {
    const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned selector = selectors >> 4 * i & 7u;
        result |= static_cast<unsigned>(bytes >> 8 * selector & 0xffu) << 8 * i;
    }
    return result;
}

// Shifts of the 64 bits high:low; the c forms clamp the amount to 32, the others wrap it.
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

// The n-th set bit from `base` upwards (n > 0), downwards (n < 0), or `base` itself if set; else ~0.
static inline unsigned __fns(unsigned mask, unsigned base, int n) {
    if (n == 0) return (mask >> (base & 31) & 1) != 0 ? base : ~0u;
    const int step = n > 0 ? 1 : -1;
    for (int left = n > 0 ? n : -n, at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
        if ((mask >> at & 1) != 0 && --left == 0) return static_cast<unsigned>(at);
    }
    return ~0u;
}

// ---- dot products of packed integers ----------------------------------------------------------------------

namespace cudacpu {
// The sum of `count` products: items of a of width A bits, of b of 8 bits from its byte `first_b` on.
template <class ItemA, class ItemB, class T>
T packed_dot(unsigned a, unsigned b, unsigned first_b, T sum) {
    for (unsigned i = 0; i < 4 / sizeof(ItemA); ++i) {
        const int x = static_cast<ItemA>(a >> 8 * sizeof(ItemA) * i);
        const int y = static_cast<ItemB>(b >> 8 * (first_b + i));
        sum = static_cast<T>(static_cast<unsigned>(sum) + static_cast<unsigned>(x * y));
    }
    return sum;
}
}  // namespace cudacpu
static inline int __dp4a(int a, int b, int c) {
    return cudacpu::packed_dot<int8_t, int8_t>(static_cast<unsigned>(a), static_cast<unsigned>(b), 0, c);
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    return cudacpu::packed_dot<uint8_t, uint8_t>(a, b, 0, c);
}
static inline int __dp4a(char4 a, char4 b, int c) {
    return __dp4a(cudacpu::bits<int>(a), cudacpu::bits<int>(b), c);
}
static inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
    return __dp4a(cudacpu::bits<unsigned>(a), cudacpu::bits<unsigned>(b), c);
}
static inline int __dp2a_lo(int a, int b, int c) {
    return cudacpu::packed_dot<int16_t, int8_t>(static_cast<unsigned>(a), static_cast<unsigned>(b), 0, c);
}
static inline int __dp2a_hi(int a, int b, int c) {
    return cudacpu::packed_dot<int16_t, int8_t>(static_cast<unsigned>(a), static_cast<unsigned>(b), 2, c);
}
static inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
    return cudacpu::packed_dot<uint16_t, uint8_t>(a, b, 0, c);
}
static inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) {
    return cudacpu::packed_dot<uint16_t, uint8_t>(a, b, 2, c);
}

// ---- minimum and maximum under their older names ----------------------------------------------------------

static inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
static inline long long llmin(long long a, long long b) { return a < b ? a : b; }
static inline long long llmax(long long a, long long b) { return a > b ? a : b; }
static inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
static inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
