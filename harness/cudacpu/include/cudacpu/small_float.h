// The formats of floats with 8 and 16 bits: from and to float, each conversion rounded once.
#pragma once

#include "atomics.h"
#include "math.h"

namespace cudacpu {
// `exponent` and `mantissa` bits below a sign. Without infinity the highest code alone is NaN (e4m3).
template <int exponent, int mantissa, bool infinity_exists = true>
struct SmallFloat {
    static constexpr int bias = (1 << (exponent - 1)) - 1;
    static constexpr unsigned sign = 1u << (exponent + mantissa);
    static constexpr unsigned nan = sign - 1;
    static constexpr unsigned one = unsigned(bias) << mantissa;
    static constexpr unsigned infinity =
        infinity_exists ? ((1u << exponent) - 1) << mantissa : nan;  // where values that are too large go
    static constexpr unsigned largest = infinity - 1;

    static unsigned encode(double value, Round round = Round::nearest, bool saturate = false) {
        const uint64_t word = bits<uint64_t>(value);
        const bool negative = word >> 63;
        const unsigned signed_bit = negative ? sign : 0;
        const int power = static_cast<int>(word >> 52 & 0x7ff) - 1023;
        uint64_t significand = word & 0xfffffffffffffu;
        if (power == 1024) {
            if (significand != 0) return nan;
            return signed_bit | (saturate ? largest : infinity);
        }
        if (power > -1023) significand |= uint64_t(1) << 52;
        int shift = 52 - mantissa;
        const bool normal = power >= 1 - bias;
        if (!normal) shift += 1 - bias - power;
        if (shift > 60) shift = 60;
        uint64_t kept = significand >> shift;
        const uint64_t rest = significand & ((uint64_t(1) << shift) - 1), half = uint64_t(1) << (shift - 1);
        bool away = false;
        switch (round) {
            case Round::nearest:
                away = rest > half || (rest == half && (kept & 1) != 0);
                break;
            case Round::zero:
                break;
            case Round::up:
                away = rest != 0 && !negative;
                break;
            case Round::down:
                away = rest != 0 && negative;
                break;
        }
        kept += away;
        // The hidden bit, and a carry out of the mantissa, add to the exponent.
        const uint64_t code = normal ? (static_cast<uint64_t>(power + bias - 1) << mantissa) + kept : kept;
        if (code <= largest) return signed_bit | static_cast<unsigned>(code);
        const bool stays_finite =
            round == Round::zero || (round == Round::up && negative) || (round == Round::down && !negative);
        return signed_bit | (saturate || stays_finite ? largest : infinity);
    }

    static float decode(unsigned code) {
        // The same digits in float's places, then the difference of the biases: exact, subnormal ones
        // included.
        const unsigned magnitude = code & nan;
        float value = bits<float>(magnitude << (23 - mantissa));
        if (magnitude > largest) {
            value = bits<float>(magnitude == infinity && infinity_exists ? 0x7f800000u : 0x7fffffffu);
        } else if (exponent < 8) {
            value *= bits<float>(static_cast<uint32_t>(254 - bias) << 23);
        }
        return (code & sign) != 0 ? bits<float>(bits<uint32_t>(value) | 0x80000000u) : value;
    }
};

using Binary8e4 = SmallFloat<4, 3, false>;
using Binary8e5 = SmallFloat<5, 2>;

// The two of 16 bits, with quicker ways for the rounding that nearly everybody uses.
struct Binary16 : SmallFloat<5, 10> {
    using SmallFloat::encode;
    static unsigned encode(float value) {
        const uint32_t word = bits<uint32_t>(value), signed_bit = word >> 16 & 0x8000u;
        uint32_t magnitude = word & 0x7fffffffu;
        if (magnitude >= 0x47800000u) return magnitude > 0x7f800000u ? nan : signed_bit | infinity;
        if (magnitude < 0x38800000u) {
            // Subnormal: adding 0.5 rounds at the right place, and leaves the digits at the end.
            return signed_bit | (bits<uint32_t>(bits<float>(magnitude) + 0.5f) - 0x3f000000u);
        }
        magnitude += 0xfffu + (magnitude >> 13 & 1) - (112u << 23);
        return signed_bit | magnitude >> 13;
    }
};
struct BFloat16 : SmallFloat<8, 7> {
    using SmallFloat::encode;
    static unsigned encode(float value) {
        const uint32_t word = bits<uint32_t>(value);
        if ((word & 0x7fffffffu) > 0x7f800000u) return nan;
        return (word + 0x7fffu + (word >> 16 & 1)) >> 16;
    }
    static float decode(unsigned code) { return bits<float>(static_cast<uint32_t>(code) << 16); }
};

// a * b + c in double for factors of at most 26 digits, rounded to odd: rounding that once more, to at most
// 51 digits, gives what one rounding of the exact sum gives.
static inline double fma_to_odd(double a, double b, double c) {
    const double product = a * b, sum = product + c;
    if (!isfinite(sum)) return sum;
    const double part = sum - product, error = (product - (sum - part)) + (c - part);
    const uint64_t word = bits<uint64_t>(sum);
    if (error == 0 || (word & 1) != 0) return sum;
    return bits<double>((error > 0) == (sum > 0) ? word + 1 : word - 1);
}

// An integer as a double, rounded to odd.
static inline double to_odd(unsigned long long value) {
    int scale = 0;
    for (; value >> 53 != 0; ++scale) value = value >> 1 | (value & 1);
    return ldexp(static_cast<double>(value), scale);
}
static inline double to_odd(long long value) {
    return value < 0 ? -to_odd(0 - static_cast<unsigned long long>(value))
                     : to_odd(static_cast<unsigned long long>(value));
}

static inline double rounded(double value, Round round) {
    switch (round) {
        case Round::nearest:
            return nearbyint(value);
        case Round::zero:
            return trunc(value);
        case Round::up:
            return ceil(value);
        default:
            return floor(value);
    }
}
}  // namespace cudacpu
