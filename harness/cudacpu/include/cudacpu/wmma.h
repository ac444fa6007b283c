// nvcuda::wmma. A fragment's elements lie as CUDA leaves open: lane by lane, each with its share of the rows.
#pragma once

#include <limits.h>

#include <type_traits>

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "groups.h"

namespace nvcuda {
namespace wmma {
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

namespace cudacpu_wmma {
// What a fragment of T holds, and in what its products are summed.
template <class T>
struct Element {
    using type = T;
};
template <>
struct Element<precision::tf32> {
    using type = float;
};

// The published shapes.
template <int m, int n, int k, class T>
constexpr bool exists() {
    using std::is_same;
    constexpr bool tall = m * n == 256 && k == 16 && (m == 16 || m == 32 || m == 8);
    if (is_same<T, __half>::value || is_same<T, __nv_bfloat16>::value || is_same<T, signed char>::value ||
        is_same<T, unsigned char>::value) {
        return tall;
    }
    if (is_same<T, precision::tf32>::value) return m == 16 && n == 16 && k == 8;
    if (is_same<T, double>::value) return m == 8 && n == 8 && k == 4;
    return (is_same<T, float>::value || is_same<T, int>::value) && (tall || (m == 16 && n == 16 && k == 8));
}

template <class Use, int m, int n, int k>
constexpr int rows = std::is_same<Use, matrix_b>::value ? k : m;
template <class Use, int m, int n, int k>
constexpr int columns = std::is_same<Use, matrix_a>::value ? k : n;

// Where every lane's fragment is: the lanes of a warp can read each other's stacks.
template <class Fragment>
class Everyone {
  public:
    explicit Everyone(const Fragment& own) {
        const unsigned long long here = reinterpret_cast<unsigned long long>(this);
        first_ = reinterpret_cast<Everyone*>(__shfl_sync(0xffffffffu, here, 0));
        first_->fragments_[cudacpu::lane()] = &own;
        __syncwarp();
    }
    // The element in a row-major count.
    auto at(int index) const {
        return first_->fragments_[index / Fragment::num_elements]->x[index % Fragment::num_elements];
    }

  private:
    Everyone* first_;
    const Fragment* fragments_[32];
};

// Sums are taken in these and rounded once, at the end.
template <class T>
using Sum = std::conditional_t<std::is_same<T, int>::value, long long, double>;

// An operand as the multiplier sees it: of a tf32 only the upper digits.
template <class T, class Value>
auto operand(Value value) {
    if constexpr (std::is_same<T, precision::tf32>::value) {
        return static_cast<double>(cudacpu::bits<float>(cudacpu::bits<unsigned>(value) & 0xffffe000u));
    } else if constexpr (std::is_integral<Value>::value) {
        return static_cast<long long>(value);
    } else if constexpr (std::is_same<Value, double>::value) {
        return value;
    } else {
        return static_cast<double>(static_cast<float>(value));
    }
}

inline int narrowed(long long sum, bool saturate) {
    if (saturate) return static_cast<int>(sum > INT_MAX ? INT_MAX : sum < INT_MIN ? INT_MIN : sum);
    return static_cast<int>(static_cast<unsigned>(sum));
}
inline double narrowed(double sum, bool) { return sum; }
}  // namespace cudacpu_wmma

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
    static_assert(cudacpu_wmma::exists<m, n, k, T>(), "cudacpu: unsupported: wmma of this shape and type");

  public:
    static constexpr int cudacpu_rows = cudacpu_wmma::rows<Use, m, n, k>;
    static constexpr int cudacpu_columns = cudacpu_wmma::columns<Use, m, n, k>;
    static constexpr int num_elements = cudacpu_rows * cudacpu_columns / 32;
    static constexpr int num_storage_elements = num_elements;
    using element_type = typename cudacpu_wmma::Element<T>::type;
    using storage_element_type = element_type;
    element_type x[num_elements];
};

template <class Use, int m, int n, int k, class T, class Layout, class Value>
void fill_fragment(fragment<Use, m, n, k, T, Layout>& fragment, Value value) {
    for (auto& element : fragment.x) element = value;
}

namespace cudacpu_wmma {
// Calls each(index in the fragment, offset in memory) for what this lane holds.
template <class Fragment, class Each>
void each_element(unsigned stride, bool by_rows, Each each) {
    for (int i = 0; i < Fragment::num_elements; ++i) {
        const unsigned index = cudacpu::lane() * Fragment::num_elements + static_cast<unsigned>(i);
        const unsigned row = index / Fragment::cudacpu_columns, column = index % Fragment::cudacpu_columns;
        each(i, by_rows ? static_cast<size_t>(row) * stride + column
                        : static_cast<size_t>(column) * stride + row);
    }
}
}  // namespace cudacpu_wmma

template <class Use, int m, int n, int k, class T, class Layout, class Memory>
void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& to, const Memory* from, unsigned stride) {
    static_assert(!std::is_same<Use, accumulator>::value, "an accumulator is loaded with a layout");
    __syncwarp();
    cudacpu_wmma::each_element<fragment<Use, m, n, k, T, Layout>>(
        stride, std::is_same<Layout, row_major>::value,
        [&](int i, size_t offset) { to.x[i] = from[offset]; });
    __syncwarp();
}
template <int m, int n, int k, class T, class Memory>
void load_matrix_sync(fragment<accumulator, m, n, k, T>& to, const Memory* from, unsigned stride,
                      layout_t layout) {
    __syncwarp();
    cudacpu_wmma::each_element<fragment<accumulator, m, n, k, T>>(
        stride, layout == mem_row_major, [&](int i, size_t offset) { to.x[i] = from[offset]; });
    __syncwarp();
}
template <int m, int n, int k, class T, class Memory>
void store_matrix_sync(Memory* to, const fragment<accumulator, m, n, k, T>& from, unsigned stride,
                       layout_t layout) {
    __syncwarp();
    cudacpu_wmma::each_element<fragment<accumulator, m, n, k, T>>(
        stride, layout == mem_row_major, [&](int i, size_t offset) { to[offset] = from.x[i]; });
    __syncwarp();
}

// d = a b + c.
template <int m, int n, int k, class A, class LayoutA, class B, class LayoutB, class C, class D>
void mma_sync(fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, A, LayoutA>& a,
              const fragment<matrix_b, m, n, k, B, LayoutB>& b, const fragment<accumulator, m, n, k, C>& c,
              bool saturate = false) {
    using namespace cudacpu_wmma;
    const Everyone<fragment<matrix_a, m, n, k, A, LayoutA>> left(a);
    const Everyone<fragment<matrix_b, m, n, k, B, LayoutB>> right(b);
    constexpr int count = fragment<accumulator, m, n, k, D>::num_elements;
    for (int i = 0; i < count; ++i) {
        const int index = static_cast<int>(cudacpu::lane()) * count + i, row = index / n, column = index % n;
        Sum<D> sum = operand<C>(c.x[i]);
        for (int j = 0; j < k; ++j)
            sum += operand<A>(left.at(row * k + j)) * operand<B>(right.at(j * n + column));
        d.x[i] = narrowed(sum, saturate);
    }
    __syncwarp();
}

// Drops the digits that tf32 does not have, rounding to nearest and ties away from zero.
inline float __float_to_tf32(float value) {
    const unsigned word = cudacpu::bits<unsigned>(value);
    if ((word & 0x7f800000u) == 0x7f800000u) return value;
    return cudacpu::bits<float>((word + 0x1000u) & 0xffffe000u);
}
}  // namespace wmma
}  // namespace nvcuda
