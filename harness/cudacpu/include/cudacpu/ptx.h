// What inline PTX becomes: ptx.py writes calls of these. Inlined always where the program's memory is
// touched.
#pragma once

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>

#include <initializer_list>
#include <type_traits>

#include "atomics.h"
#include "cluster.h"
#include "integer.h"
#include "math.h"
#include "small_float.h"
#include "thread.h"
#include "warp.h"

namespace cudacpu {
// Ends the process: "cudacpu: unsupported: ...".
[[noreturn]] void unsupported(const char* what);

namespace ptx {
inline unsigned thread() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
inline unsigned lane() { return thread() % 32; }
inline unsigned block() { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }

// ---- registers: bits, which an instruction takes as its own type ------------------------------------------

struct Sink {
    uint64_t value;
};

// The low bits of a register as a T.
template <class T, class Register>
T get(const Register& from) {
    if constexpr (std::is_same<T, bool>::value) {
        return from != 0;
    } else {
        T result{};
        __builtin_memcpy(&result, &from, sizeof(T) < sizeof from ? sizeof(T) : sizeof from);
        return result;
    }
}
template <class Register, class T>
void put(Register& to, T value) {
    if constexpr (std::is_same<Register, bool>::value) {
        to = value != 0;
    } else if constexpr (std::is_integral<T>::value && sizeof(T) < sizeof(Register)) {
        // A smaller value is widened by its own sign.
        const std::conditional_t<std::is_signed<T>::value, int64_t, uint64_t> wide = value;
        __builtin_memcpy(&to, &wide, sizeof to);
    } else {
        uint64_t word = 0;
        __builtin_memcpy(&word, &value, sizeof value);
        __builtin_memcpy(&to, &word, sizeof to);
    }
}
template <class Register>
void put(Register&& to, uint64_t) {
    (void)to;
}

template <class Whole, class Part>
Whole pack(std::initializer_list<Part> parts) {
    uint64_t word = 0;
    unsigned at = 0;
    for (Part item : parts) word |= static_cast<uint64_t>(item) << at, at += 8 * sizeof(Part);
    return get<Whole>(word);
}
template <class Part, class Whole>
Part part(Whole whole, unsigned index) {
    return static_cast<Part>(get<uint64_t>(whole) >> 8 * sizeof(Part) * index);
}

// ---- arithmetic -------------------------------------------------------------------------------------------

template <class T>
T flushed(T value) {
    if constexpr (std::is_same<T, float>::value) {
        return fabsf(value) < FLT_MIN ? copysignf(0.0f, value) : value;
    } else {
        return value;
    }
}

// Integers wrap, whatever their sign.
template <class T, bool integral = std::is_integral<T>::value>
struct WrappingOf {
    using type = T;
};
template <class T>
struct WrappingOf<T, true> {
    using type = std::make_unsigned_t<T>;
};
template <class T>
using Wrapping = typename WrappingOf<T>::type;

template <class T>
T add_(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <class T>
T sub_(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <class T>
T mul_lo(T a, T b) {
    if constexpr (sizeof(T) < 4) return static_cast<T>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
template <class T>
T mul_hi(T a, T b) {
    using Wide = std::conditional_t<std::is_signed<T>::value, __int128, unsigned __int128>;
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> 8 * sizeof(T));
}
template <class T>
auto mul_wide(T a, T b) {
    static_assert(sizeof(T) <= 4, "a wide product has at most 64 bits");
    using Narrow = std::conditional_t<std::is_signed<T>::value, int64_t, uint64_t>;
    if constexpr (sizeof(T) == 2) {
        using Wide = std::conditional_t<std::is_signed<T>::value, int32_t, uint32_t>;
        return static_cast<Wide>(static_cast<Narrow>(a) * b);
    } else {
        return static_cast<Narrow>(a) * static_cast<Narrow>(b);
    }
}
template <class T>
T fma_(T a, T b, T c) {
    static_assert(std::is_floating_point<T>::value, "fma takes floats");
    return fma(a, b, c);
}
template <class T>
T div_(T a, T b) {
    return a / b;
}
template <class T>
T min_(T a, T b) {
    if constexpr (std::is_floating_point<T>::value) return fmin(a, b);
    return a < b ? a : b;
}
template <class T>
T max_(T a, T b) {
    if constexpr (std::is_floating_point<T>::value) return fmax(a, b);
    return a > b ? a : b;
}
template <class T>
T neg_(T a) {
    if constexpr (std::is_floating_point<T>::value) return -a;
    return sub_<T>(0, a);
}
template <class T>
T abs_(T a) {
    if constexpr (std::is_floating_point<T>::value) return fabs(a);
    return a < 0 ? neg_(a) : a;
}
template <class T>
T copysign_(T sign, T value) {
    return copysign(value, sign);
}
template <class T>
T and_(T a, T b) {
    return static_cast<T>(a & b);
}
template <class T>
T or_(T a, T b) {
    return static_cast<T>(a | b);
}
template <class T>
T xor_(T a, T b) {
    return static_cast<T>(a ^ b);
}
template <class T>
T not_(T a) {
    if constexpr (std::is_same<T, bool>::value) return !a;
    return static_cast<T>(~a);
}
template <class T>
T cnot_(T a) {
    return a == 0;
}
// A shift by more than the width moves every bit out.
template <class T>
T shl_(T a, uint32_t by) {
    return by >= 8 * sizeof(T) ? T(0) : static_cast<T>(static_cast<Wrapping<T>>(a) << by);
}
template <class T>
T shr_(T a, uint32_t by) {
    if (by >= 8 * sizeof(T)) return a < 0 ? T(-1) : T(0);
    return static_cast<T>(a >> by);
}
template <class T>
int popc_(T a) {
    return __builtin_popcountll(static_cast<uint64_t>(a));
}
template <class T>
int clz_(T a) {
    return a == 0 ? 8 * sizeof(T) : __builtin_clzll(static_cast<uint64_t>(a)) - (64 - 8 * int(sizeof(T)));
}
template <class T>
T brev_(T a) {
    return sizeof(T) == 4 ? static_cast<T>(__brev(static_cast<uint32_t>(a))) : static_cast<T>(__brevll(a));
}
// Bits from `first` on; a signed field repeats its highest bit, which lies at the word's end at the latest.
template <class T>
T bfe_(T a, uint32_t first, uint32_t length) {
    constexpr uint32_t width = 8 * sizeof(T);
    first &= 255, length &= 255;
    if (length == 0) return 0;
    const uint32_t last = first + length - 1 < width - 1 ? first + length - 1 : width - 1;
    const bool fill = std::is_signed<T>::value && (static_cast<Wrapping<T>>(a) >> last & 1) != 0;
    Wrapping<T> result = 0;
    for (uint32_t i = 0; i < width; ++i) {
        const bool bit =
            i < length && first + i < width ? static_cast<Wrapping<T>>(a) >> (first + i) & 1 : fill;
        result |= static_cast<Wrapping<T>>(bit) << i;
    }
    return static_cast<T>(result);
}
template <class T>
T bfi_(T a, T b, uint32_t first, uint32_t length) {
    first &= 255, length &= 255;
    for (uint32_t i = 0; i < length && first + i < 8 * sizeof(T); ++i) {
        const T bit = T(1) << (first + i);
        b = (a >> i & 1) != 0 ? b | bit : b & ~bit;
    }
    return b;
}
template <class T>
uint32_t prmt_(T a, T b, T selectors) {
    const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned selector = selectors >> 4 * i & 15u;
        const auto byte = static_cast<unsigned char>(bytes >> 8 * (selector & 7u));
        // The selector's highest bit asks for copies of the byte's sign.
        const unsigned chosen = (selector & 8u) == 0 ? byte : (byte & 0x80u) != 0 ? 0xffu : 0u;
        result |= chosen << 8 * i;
    }
    return result;
}
inline uint32_t lop3_(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t result = 0;
    for (unsigned i = 0; i < 8; ++i) {
        if ((table >> i & 1) == 0) continue;
        result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
    }
    return result;
}
template <class T>
T ex2_(T a) {
    return exp2(a);
}
template <class T>
T lg2_(T a) {
    return log2(a);
}
template <class T>
T sin_(T a) {
    return sin(a);
}
template <class T>
T cos_(T a) {
    return cos(a);
}
template <class T>
T tanh_(T a) {
    return tanh(a);
}
template <class T>
T rcp_(T a) {
    return 1 / a;
}
template <class T>
T sqrt_(T a) {
    return sqrt(a);
}
template <class T>
T rsqrt_(T a) {
    return static_cast<T>(1.0 / sqrt(static_cast<double>(a)));
}

// The nearest integer in a direction; what does not fit saturates, NaN is 0.
template <class T, class Float>
T to_integer(Float value, char direction) {
    const double a = value;
    if (a != a) return sizeof(T) == 8 ? T(Wrapping<T>(1) << (8 * sizeof(T) - 1)) : T(0);
    const double whole = direction == 'z'   ? trunc(a)
                         : direction == 'n' ? nearbyint(a)
                         : direction == 'm' ? floor(a)
                                            : ceil(a);
    constexpr T low = std::is_signed<T>::value ? T(Wrapping<T>(1) << (8 * sizeof(T) - 1)) : T(0);
    constexpr T high = T(~low);
    if (whole <= static_cast<double>(low)) return low;
    return whole >= static_cast<double>(high) ? high : static_cast<T>(whole);
}
inline uint32_t tf32(float value) {
    const uint32_t word = bits<uint32_t>(value);
    return (word & 0x7f800000u) == 0x7f800000u ? word : (word + 0x1000u) & 0xffffe000u;
}
inline uint16_t half_bits(float value) { return static_cast<uint16_t>(Binary16::encode(value)); }
inline float from_half(uint16_t code) { return Binary16::decode(code); }
inline uint32_t f16x2(float high, float low) { return Binary16::encode(high) << 16 | Binary16::encode(low); }
inline uint32_t bf16x2(float high, float low) { return BFloat16::encode(high) << 16 | BFloat16::encode(low); }

// ---- memory -----------------------------------------------------------------------------------------------

inline void* generic(uint64_t address) { return reinterpret_cast<void*>(address); }
inline void* shared(uint32_t address) { return shared_pointer(address); }

template <class T, int count>
struct alignas(sizeof(T) * count) Vector {
    T item[count];
};
template <class T>
CUDACPU_INLINE T load(const void* at) {
    return *static_cast<const T*>(at);
}
template <class T>
CUDACPU_INLINE void store(void* at, T value) {
    *static_cast<T*>(at) = value;
}
template <class T>
CUDACPU_INLINE T load_plain(const void* at) {
    return *static_cast<const T*>(at);
}
template <class T>
CUDACPU_INLINE void store_plain(void* at, T value) {
    *static_cast<T*>(at) = value;
}
template <class T>
CUDACPU_INLINE T load_volatile(const void* at) {
    return *static_cast<const volatile T*>(at);
}
template <class T>
CUDACPU_INLINE void store_volatile(void* at, T value) {
    *static_cast<volatile T*>(at) = value;
}
#define CUDACPU_ORDERED(name, load_order, store_order)                \
    template <class T>                                                \
    CUDACPU_INLINE T load_##name(const void* at) {                    \
        T value;                                                      \
        __atomic_load(static_cast<const T*>(at), &value, load_order); \
        return value;                                                 \
    }                                                                 \
    template <class T>                                                \
    CUDACPU_INLINE void store_##name(void* at, T value) {             \
        __atomic_store(static_cast<T*>(at), &value, store_order);     \
    }
CUDACPU_ORDERED(relaxed, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
CUDACPU_ORDERED(acquire, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
CUDACPU_ORDERED(release, __ATOMIC_RELAXED, __ATOMIC_RELEASE)
#undef CUDACPU_ORDERED

// cp.async: `taken` bytes, then zeros. Done when the call returns.
CUDACPU_INLINE void copy(void* to, const void* from, uint32_t bytes, uint32_t taken) {
    for (uint32_t i = 0; i < bytes / 4; ++i)
        static_cast<uint32_t*>(to)[i] = 4 * i < taken ? static_cast<const uint32_t*>(from)[i] : 0;
}

// ---- warps ------------------------------------------------------------------------------------------------

// `limits` holds the width of the segments (bits 8 to 12) and the lane beyond which nothing is read.
CUDACPU_INLINE uint32_t shuffle(WarpOp op, uint32_t value, uint32_t operand, uint32_t limits, uint32_t mask) {
    if ((limits & 31u) != (op == WarpOp::shuffle_up ? 0u : 31u))
        unsupported("inline PTX: shfl.sync that clamps");
    return static_cast<uint32_t>(warp_meet(op, mask, value, operand, 32u - (limits >> 8 & 31u)));
}

// Whether the lane that a shuffle reads lies in the segment; if not, it gives the own value.
inline bool is_in_range(WarpOp op, uint32_t operand, uint32_t limits) {
    const uint32_t width = 32u - (limits >> 8 & 31u), place = lane() % width;
    if (op == WarpOp::shuffle_up) return operand <= place;
    if (op == WarpOp::shuffle_down) return operand < width - place;
    return op != WarpOp::shuffle_xor || (lane() ^ operand) <= lane() - place + width - 1;
}

// Matrices of 8 x 8 halves: lane 8 i + j brings the address of row j of the i-th.
template <int count, bool transposed>
CUDACPU_INLINE void load_matrices(const void* row, uint32_t* words) {
    const auto own = reinterpret_cast<uint64_t>(row);
    for (int i = 0; i < count; ++i) {
        const unsigned first = 8u * static_cast<unsigned>(i), pair = lane() % 4 * 2, eighth = lane() / 4;
        if (transposed) {
            const auto low =
                reinterpret_cast<const uint16_t*>(warp_meet(WarpOp::shuffle, ~0u, own, first + pair));
            const auto high =
                reinterpret_cast<const uint16_t*>(warp_meet(WarpOp::shuffle, ~0u, own, first + pair + 1));
            words[i] = low[eighth] | static_cast<uint32_t>(high[eighth]) << 16;
        } else {
            const auto from =
                reinterpret_cast<const uint32_t*>(warp_meet(WarpOp::shuffle, ~0u, own, first + eighth));
            words[i] = from[pair / 2];
        }
    }
}

struct Half {
    static constexpr int in_word = 2;
    static double value(uint32_t word, int i) { return Binary16::decode(word >> 16 * i & 0xffffu); }
};
struct Bfloat {
    static constexpr int in_word = 2;
    static double value(uint32_t word, int i) { return bits<float>((word >> 16 * i & 0xffffu) << 16); }
};
struct Tf32 {
    static constexpr int in_word = 1;
    static double value(uint32_t word, int) { return bits<float>(word & 0xffffe000u); }
};

inline double element(const float* d, int i) { return d[i]; }
inline double element(const uint32_t* d, int i) { return Half::value(d[i / 2], i % 2); }
inline void set_element(float* d, int i, double value) { d[i] = static_cast<float>(value); }
inline void set_element(uint32_t* d, int i, double value) {
    const unsigned shift = i % 2 * 16u;
    d[i / 2] = (d[i / 2] & ~(0xffffu << shift)) | Binary16::encode(value) << shift;
}

// d += a b, of 16 x depth and depth x 8; sums are taken in double and rounded once. The lanes of a warp can
// read each other's stacks.
template <class Format, int depth, class Result>
CUDACPU_INLINE void multiply(const uint32_t* a, const uint32_t* b, Result* d) {
    struct Operands {
        const uint32_t *a, *b;
    };
    Operands everyone[32];
    const auto first = reinterpret_cast<Operands*>(
        warp_meet(WarpOp::shuffle, ~0u, reinterpret_cast<uint64_t>(&everyone[0]), 0));
    first[lane()] = {a, b};
    warp_meet(WarpOp::sync, ~0u, 0);
    // Each lane's registers hold runs of a row of a, and of a column of b, that follow each other every 4
    // lanes.
    constexpr int run = Format::in_word;
    const unsigned group = lane() / 4, four = lane() % 4;
    for (int i = 0; i < 4; ++i) {
        const unsigned column = four * 2 + i % 2;
        double sum = element(d, i);
        for (int k = 0; k < depth; ++k) {
            const int part = k / (4 * run), from = k % (4 * run) / run, item = k % run;
            const uint32_t left = first[group * 4 + from].a[part * 2 + i / 2];
            const uint32_t right = first[column * 4 + from].b[part];
            sum += Format::value(left, item) * Format::value(right, item);
        }
        set_element(d, i, sum);
    }
    warp_meet(WarpOp::sync, ~0u, 0);
}
}  // namespace ptx
}  // namespace cudacpu
