// The most used part of CUB. Device-wide algorithms are done when the call returns; collectives of a block go
// through their shared memory, as on a GPU, so that using it again without a barrier is a race here, too. A
// reduction's result is only where CUB promises it.
#pragma once

#include <stdint.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "groups.h"
#include "launch.h"

#define CUB_VERSION 200400

namespace cudacpu {
static const bool cub_runs_on_host = let_host_touch_buffers();
}

// What touches the block's memory is inlined always, so that reports name the program's line.
#define CUDACPU_MEMBER __attribute__((always_inline)) inline

namespace cub {
struct Sum {
    template <class T, class U>
    auto operator()(const T& a, const U& b) const -> decltype(a + b) {
        return a + b;
    }
};
struct Max {
    template <class T, class U>
    std::common_type_t<T, U> operator()(const T& a, const U& b) const {
        return b > a ? b : a;
    }
};
struct Min {
    template <class T, class U>
    std::common_type_t<T, U> operator()(const T& a, const U& b) const {
        return b < a ? b : a;
    }
};
struct Equality {
    template <class T>
    bool operator()(const T& a, const T& b) const {
        return a == b;
    }
};

template <class Key, class Value>
struct KeyValuePair {
    Key key;
    Value value;
};

// Two buffers of which a sort may take either for its result.
template <class T>
struct DoubleBuffer {
    T* d_buffers[2];
    int selector = 0;
    DoubleBuffer() : d_buffers{nullptr, nullptr} {}
    DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
    T* Current() { return d_buffers[selector]; }
    T* Alternate() { return d_buffers[selector ^ 1]; }
};

// Iterators of CUB 2, which CUB 3 leaves to Thrust.
template <class Derived, class T>
struct cudacpu_iterator {
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = ptrdiff_t;
    using pointer = T*;
    using reference = T;
    friend Derived operator+(Derived self, ptrdiff_t by) { return self += by; }
    friend Derived operator-(Derived self, ptrdiff_t by) { return self += -by; }
    Derived& operator++() { return self() += 1; }
    Derived operator++(int) {
        Derived before = self();
        self() += 1;
        return before;
    }
    T operator*() const { return static_cast<const Derived&>(*this)[0]; }

  private:
    Derived& self() { return static_cast<Derived&>(*this); }
};
template <class T, class Function, class Input, class Offset = ptrdiff_t>
struct TransformInputIterator : cudacpu_iterator<TransformInputIterator<T, Function, Input, Offset>, T> {
    TransformInputIterator(Input input, Function function) : input_(input), function_(function) {}
    TransformInputIterator& operator+=(ptrdiff_t by) { return input_ += by, *this; }
    T operator[](ptrdiff_t i) const { return function_(input_[i]); }

  private:
    Input input_;
    Function function_;
};
template <class T, class Offset = ptrdiff_t>
struct CountingInputIterator : cudacpu_iterator<CountingInputIterator<T, Offset>, T> {
    explicit CountingInputIterator(T first) : first_(first) {}
    CountingInputIterator& operator+=(ptrdiff_t by) { return first_ = static_cast<T>(first_ + by), *this; }
    T operator[](ptrdiff_t i) const { return static_cast<T>(first_ + i); }

  private:
    T first_;
};
template <class T, class Offset = ptrdiff_t>
struct ConstantInputIterator : cudacpu_iterator<ConstantInputIterator<T, Offset>, T> {
    explicit ConstantInputIterator(T value) : value_(value) {}
    ConstantInputIterator& operator+=(ptrdiff_t) { return *this; }
    T operator[](ptrdiff_t) const { return value_; }

  private:
    T value_;
};

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

namespace cudacpu_cub {
using cudacpu::block_rank_of_thread;

template <class Iterator>
using ValueOf = std::remove_cv_t<typename std::iterator_traits<Iterator>::value_type>;

// Runs an algorithm, unless the call only asks how much temporary memory is needed, or brings too little.
template <class Work>
cudaError_t with_memory(const void* temporary, size_t& bytes, Work work) {
    constexpr size_t kNeeded = 1;
    if (temporary == nullptr) {
        bytes = kNeeded;
        return cudaSuccess;
    }
    if (bytes < kNeeded) return cudaErrorInvalidValue;
    work();
    return cudaSuccess;
}

// What a reduction or a scan keeps between its steps.
template <class Op, class Init, class Item>
using Accumulator = std::decay_t<decltype(std::declval<Op&>()(std::declval<Init>(), std::declval<Item>()))>;
// What lies behind an output, or `Item` where that does not say.
template <class Out, class Item, class Found = typename std::iterator_traits<Out>::value_type>
using OutputOf = std::conditional_t<std::is_void<Found>::value, Item, std::remove_cv_t<Found>>;

// Where a search for the largest value starts, and where one for the smallest. Infinities lie beyond.
template <class T>
T lowest() {
    if constexpr (std::is_same<T, __half>::value) return __hneg(CUDART_MAX_NORMAL_FP16);
    if constexpr (std::is_same<T, __nv_bfloat16>::value) return __hneg(CUDART_MAX_NORMAL_BF16);
    return std::numeric_limits<T>::lowest();
}
template <class T>
T highest() {
    if constexpr (std::is_same<T, __half>::value) return CUDART_MAX_NORMAL_FP16;
    if constexpr (std::is_same<T, __nv_bfloat16>::value) return CUDART_MAX_NORMAL_BF16;
    return std::numeric_limits<T>::max();
}

// By halves, so that a long sum of floats keeps its digits as a GPU's does.
template <class T, class Read, class Op>
T combine(int64_t begin, int64_t end, Read read, Op op) {
    if (end - begin <= 16) {
        T total = read(begin);
        for (int64_t i = begin + 1; i < end; ++i) total = op(total, read(i));
        return total;
    }
    const int64_t middle = begin + (end - begin) / 2;
    return op(combine<T>(begin, middle, read, op), combine<T>(middle, end, read, op));
}
template <class In, class Op, class Init>
auto reduce(In in, int64_t begin, int64_t end, Op op, Init start) {
    using T = Accumulator<Op, Init, ValueOf<In>>;
    if (begin >= end) return static_cast<T>(start);
    return static_cast<T>(op(start, combine<T>(begin, end, [&](int64_t i) -> T { return in[i]; }, op)));
}

// Tile by tile, for the same reason.
template <class T, class In, class Out, class Op>
void scan(In in, Out out, int64_t count, Op op, const T* start, bool exclusive) {
    constexpr int64_t kTile = 512;
    T prefix{};
    bool has_prefix = start != nullptr;
    if (has_prefix) prefix = *start;
    for (int64_t first = 0; first < count; first += kTile) {
        T local{};
        bool has_local = false;
        for (int64_t i = first; i < std::min(first + kTile, count); ++i) {
            const T item = static_cast<T>(in[i]);  // in and out may be the same
            if (exclusive) out[i] = !has_local ? prefix : has_prefix ? op(prefix, local) : local;
            local = has_local ? op(local, item) : item;
            has_local = true;
            if (!exclusive) out[i] = has_prefix ? op(prefix, local) : local;
        }
        prefix = has_prefix ? op(prefix, local) : local;
        has_prefix = true;
    }
}

// Bits that order as the keys do.
template <class Key>
auto ordered_bits(Key key) {
    using Word =
        std::conditional_t<sizeof(Key) == 1, uint8_t,
                           std::conditional_t<sizeof(Key) == 2, uint16_t,
                                              std::conditional_t<sizeof(Key) == 4, uint32_t, uint64_t>>>;
    static_assert(sizeof(Key) <= 8, "cudacpu: unsupported: radix sort of keys that are not numbers");
    constexpr Word sign = Word(Word(1) << (8 * sizeof(Key) - 1));
    const Word word = cudacpu::bits<Word>(key);
    if constexpr (std::is_integral<Key>::value) {
        return std::is_signed<Key>::value ? Word(word ^ sign) : word;
    } else {
        if (Word(word << 1) == 0) return sign;  // both zeros are equal
        return (word & sign) != 0 ? Word(~word) : Word(word | sign);
    }
}
template <class Key>
std::vector<int64_t> radix_order(const Key* keys, int64_t count, bool descending, int first_bit,
                                 int end_bit) {
    using Word = decltype(ordered_bits(Key()));
    const int width = std::min<int>(end_bit, 8 * sizeof(Key)) - first_bit;
    const Word mask = width >= 8 * int(sizeof(Key)) ? Word(~Word(0)) : Word((uint64_t(1) << width) - 1);
    std::vector<std::pair<Word, int64_t>> items(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
        const Word word = Word(ordered_bits(keys[i]) >> first_bit & mask);
        items[static_cast<size_t>(i)] = {descending ? Word(~word) : word, i};
    }
    std::sort(items.begin(), items.end());  // stable: places break ties
    std::vector<int64_t> order;
    order.reserve(items.size());
    for (const auto& item : items) order.push_back(item.second);
    return order;
}
template <class T>
void permute(const T* in, T* out, const std::vector<int64_t>& order) {
    if (in == nullptr) return;
    const std::vector<T> copy(in, in + order.size());
    for (size_t i = 0; i < order.size(); ++i) out[i] = copy[static_cast<size_t>(order[i])];
}
}  // namespace cudacpu_cub

// ---- device-wide ------------------------------------------------------------------------------------------

struct DeviceReduce {
    template <class In, class Out, class Op, class Init>
    static cudaError_t Reduce(void* temporary, size_t& bytes, In in, Out out, int64_t count, Op op,
                              Init start, cudaStream_t = nullptr) {
        return cudacpu_cub::with_memory(temporary, bytes,
                                        [&] { *out = cudacpu_cub::reduce(in, 0, count, op, start); });
    }
    template <class In, class Out>
    static cudaError_t Sum(void* temporary, size_t& bytes, In in, Out out, int64_t count,
                           cudaStream_t = nullptr) {
        using Init = cudacpu_cub::OutputOf<Out, cudacpu_cub::ValueOf<In>>;
        return Reduce(temporary, bytes, in, out, count, cub::Sum(), Init{});
    }
    template <class In, class Out>
    static cudaError_t Max(void* temporary, size_t& bytes, In in, Out out, int64_t count,
                           cudaStream_t = nullptr) {
        const auto start = cudacpu_cub::lowest<cudacpu_cub::ValueOf<In>>();
        return Reduce(temporary, bytes, in, out, count, cub::Max(), start);
    }
    template <class In, class Out>
    static cudaError_t Min(void* temporary, size_t& bytes, In in, Out out, int64_t count,
                           cudaStream_t = nullptr) {
        const auto start = cudacpu_cub::highest<cudacpu_cub::ValueOf<In>>();
        return Reduce(temporary, bytes, in, out, count, cub::Min(), start);
    }
    template <class In, class T>
    static cudaError_t ArgMax(void* temporary, size_t& bytes, In in, KeyValuePair<int, T>* out, int64_t count,
                              cudaStream_t = nullptr) {
        return arg(temporary, bytes, in, out, count, cudacpu_cub::lowest<T>(),
                   [](const T& a, const T& b) { return a > b; });
    }
    template <class In, class T>
    static cudaError_t ArgMin(void* temporary, size_t& bytes, In in, KeyValuePair<int, T>* out, int64_t count,
                              cudaStream_t = nullptr) {
        return arg(temporary, bytes, in, out, count, cudacpu_cub::highest<T>(),
                   [](const T& a, const T& b) { return a < b; });
    }

  private:
    template <class In, class T, class Better>
    static cudaError_t arg(void* temporary, size_t& bytes, In in, KeyValuePair<int, T>* out, int64_t count,
                           T of_nothing, Better better) {
        return cudacpu_cub::with_memory(temporary, bytes, [&] {
            int at = 0;
            for (int64_t i = 1; i < count; ++i) {
                if (better(in[i], in[at])) at = static_cast<int>(i);
            }
            *out = count > 0 ? KeyValuePair<int, T>{at, in[at]} : KeyValuePair<int, T>{1, of_nothing};
        });
    }
};

struct DeviceSegmentedReduce {
    template <class In, class Out, class Begins, class Ends, class Op, class Init>
    static cudaError_t Reduce(void* temporary, size_t& bytes, In in, Out out, int64_t segments, Begins begins,
                              Ends ends, Op op, Init start, cudaStream_t = nullptr) {
        return cudacpu_cub::with_memory(temporary, bytes, [&] {
            for (int64_t i = 0; i < segments; ++i)
                out[i] = cudacpu_cub::reduce(in, begins[i], ends[i], op, start);
        });
    }
    template <class In, class Out, class Begins, class Ends>
    static cudaError_t Sum(void* temporary, size_t& bytes, In in, Out out, int64_t segments, Begins begins,
                           Ends ends, cudaStream_t = nullptr) {
        using Init = cudacpu_cub::OutputOf<Out, cudacpu_cub::ValueOf<In>>;
        return Reduce(temporary, bytes, in, out, segments, begins, ends, cub::Sum(), Init{});
    }
};

struct DeviceScan {
    template <class In, class Out, class Op, class Init>
    static cudaError_t ExclusiveScan(void* temporary, size_t& bytes, In in, Out out, Op op, Init start,
                                     int64_t count, cudaStream_t = nullptr) {
        using T = cudacpu_cub::Accumulator<Op, Init, cudacpu_cub::ValueOf<In>>;
        return cudacpu_cub::with_memory(temporary, bytes, [&] {
            const T first = static_cast<T>(start);
            cudacpu_cub::scan<T>(in, out, count, op, &first, true);
        });
    }
    template <class In, class Out, class Op>
    static cudaError_t InclusiveScan(void* temporary, size_t& bytes, In in, Out out, Op op, int64_t count,
                                     cudaStream_t = nullptr) {
        using Item = cudacpu_cub::ValueOf<In>;
        using T = cudacpu_cub::Accumulator<Op, Item, Item>;
        return cudacpu_cub::with_memory(temporary, bytes,
                                        [&] { cudacpu_cub::scan<T>(in, out, count, op, nullptr, false); });
    }
    template <class In, class Out>
    static cudaError_t ExclusiveSum(void* temporary, size_t& bytes, In in, Out out, int64_t count,
                                    cudaStream_t = nullptr) {
        return ExclusiveScan(temporary, bytes, in, out, cub::Sum(), cudacpu_cub::ValueOf<In>{}, count);
    }
    template <class In, class Out>
    static cudaError_t InclusiveSum(void* temporary, size_t& bytes, In in, Out out, int64_t count,
                                    cudaStream_t = nullptr) {
        return InclusiveScan(temporary, bytes, in, out, cub::Sum(), count);
    }
};

struct DeviceRadixSort {
#define CUDACPU_SORT(suffix, descending)                                                                     \
    template <class Key>                                                                                     \
    static cudaError_t SortKeys##suffix(void* temporary, size_t& bytes, const Key* in, Key* out,             \
                                        int64_t count, int first_bit = 0, int end_bit = 8 * sizeof(Key),     \
                                        cudaStream_t = nullptr) {                                            \
        return sort<Key, char>(temporary, bytes, in, out, nullptr, nullptr, count, descending, first_bit,    \
                               end_bit);                                                                     \
    }                                                                                                        \
    template <class Key, class Value>                                                                        \
    static cudaError_t SortPairs##suffix(                                                                    \
        void* temporary, size_t& bytes, const Key* in, Key* out, const Value* values_in, Value* values_out,  \
        int64_t count, int first_bit = 0, int end_bit = 8 * sizeof(Key), cudaStream_t = nullptr) {           \
        return sort(temporary, bytes, in, out, values_in, values_out, count, descending, first_bit,          \
                    end_bit);                                                                                \
    }                                                                                                        \
    template <class Key>                                                                                     \
    static cudaError_t SortKeys##suffix(void* temporary, size_t& bytes, DoubleBuffer<Key>& keys,             \
                                        int64_t count, int first_bit = 0, int end_bit = 8 * sizeof(Key),     \
                                        cudaStream_t = nullptr) {                                            \
        const cudaError_t error = sort<Key, char>(temporary, bytes, keys.Current(), keys.Alternate(),        \
                                                  nullptr, nullptr, count, descending, first_bit, end_bit);  \
        if (temporary != nullptr && error == cudaSuccess) keys.selector ^= 1;                                \
        return error;                                                                                        \
    }                                                                                                        \
    template <class Key, class Value>                                                                        \
    static cudaError_t SortPairs##suffix(void* temporary, size_t& bytes, DoubleBuffer<Key>& keys,            \
                                         DoubleBuffer<Value>& values, int64_t count, int first_bit = 0,      \
                                         int end_bit = 8 * sizeof(Key), cudaStream_t = nullptr) {            \
        const cudaError_t error = sort(temporary, bytes, keys.Current(), keys.Alternate(), values.Current(), \
                                       values.Alternate(), count, descending, first_bit, end_bit);           \
        if (temporary != nullptr && error == cudaSuccess) keys.selector ^= 1, values.selector ^= 1;          \
        return error;                                                                                        \
    }
    CUDACPU_SORT(, false)
    CUDACPU_SORT(Descending, true)
#undef CUDACPU_SORT

  private:
    template <class Key, class Value>
    static cudaError_t sort(void* temporary, size_t& bytes, const Key* in, Key* out, const Value* values_in,
                            Value* values_out, int64_t count, bool descending, int first_bit, int end_bit) {
        return cudacpu_cub::with_memory(temporary, bytes, [&] {
            const auto order = cudacpu_cub::radix_order(in, count, descending, first_bit, end_bit);
            cudacpu_cub::permute(in, out, order);
            cudacpu_cub::permute(values_in, values_out, order);
        });
    }
};

struct DeviceSelect {
    template <class In, class Flags, class Out, class Count>
    static cudaError_t Flagged(void* temporary, size_t& bytes, In in, Flags flags, Out out, Count selected,
                               int64_t count, cudaStream_t = nullptr) {
        return select(temporary, bytes, in, out, selected, count, [&](int64_t i) { return bool(flags[i]); });
    }
    template <class In, class Out, class Count, class Predicate>
    static cudaError_t If(void* temporary, size_t& bytes, In in, Out out, Count selected, int64_t count,
                          Predicate predicate, cudaStream_t = nullptr) {
        return select(temporary, bytes, in, out, selected, count,
                      [&](int64_t i) { return predicate(in[i]); });
    }
    template <class In, class Out, class Count>
    static cudaError_t Unique(void* temporary, size_t& bytes, In in, Out out, Count selected, int64_t count,
                              cudaStream_t = nullptr) {
        return select(temporary, bytes, in, out, selected, count,
                      [&](int64_t i) { return i == 0 || !(in[i] == in[i - 1]); });
    }

  private:
    template <class In, class Out, class Count, class Wanted>
    static cudaError_t select(void* temporary, size_t& bytes, In in, Out out, Count selected, int64_t count,
                              Wanted wanted) {
        return cudacpu_cub::with_memory(temporary, bytes, [&] {
            int64_t kept = 0;
            for (int64_t i = 0; i < count; ++i) {
                if (wanted(i)) out[kept++] = in[i];
            }
            *selected = static_cast<std::decay_t<decltype(*selected)>>(kept);
        });
    }
};

struct DeviceHistogram {
    template <class In, class Counter, class Level>
    static cudaError_t HistogramEven(void* temporary, size_t& bytes, In in, Counter* counts, int levels,
                                     Level lower, Level upper, int64_t count, cudaStream_t = nullptr) {
        // As CUB computes it: integers by one division, floats by the reciprocal of a bin's width.
        using Common = std::common_type_t<Level, cudacpu_cub::ValueOf<In>>;
        constexpr bool whole = std::is_integral<Common>::value;
        const Common low = lower, high = upper, bins = static_cast<Common>(levels - 1);
        return cudacpu_cub::with_memory(temporary, bytes, [&] {
            std::fill(counts, counts + levels - 1, Counter());
            for (int64_t i = 0; i < count; ++i) {
                const Common sample = in[i];
                if (!(sample >= low && sample < high)) continue;
                int bin;
                if constexpr (whole) {
                    const auto distance = static_cast<uint64_t>(sample - low);
                    bin = static_cast<int>(distance * static_cast<uint64_t>(bins) /
                                           static_cast<uint64_t>(high - low));
                } else {
                    bin = static_cast<int>((sample - low) * (bins / (high - low)));
                }
                if (bin < levels - 1) ++counts[bin];
            }
        });
    }
};

struct DeviceRunLengthEncode {
    template <class In, class Unique, class Lengths, class Count>
    static cudaError_t Encode(void* temporary, size_t& bytes, In in, Unique unique, Lengths lengths,
                              Count runs, int64_t count, cudaStream_t = nullptr) {
        return cudacpu_cub::with_memory(temporary, bytes, [&] {
            int64_t run = -1;
            for (int64_t i = 0, first = 0; i < count; ++i) {
                if (i == 0 || !(in[i] == in[i - 1])) {
                    unique[++run] = in[i];
                    first = i;
                }
                lengths[run] = static_cast<std::decay_t<decltype(lengths[0])>>(i - first + 1);
            }
            *runs = static_cast<std::decay_t<decltype(*runs)>>(run + 1);
        });
    }
};

// ---- of a warp --------------------------------------------------------------------------------------------

template <class T, int width = 32, int = 0>
class WarpReduce {
  public:
    struct TempStorage {};
    explicit WarpReduce(TempStorage&) {}
    T Sum(T value) { return Reduce(value, cub::Sum()); }
    T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
    T Max(T value) { return Reduce(value, cub::Max()); }
    T Min(T value) { return Reduce(value, cub::Min()); }
    // The result is lane 0's; the others keep what they have summed so far.
    template <class Op>
    T Reduce(T value, Op op, int valid = width) {
        static_assert((width & (width - 1)) == 0,
                      "cudacpu: unsupported: warps of a size that is no power of two");
        const cooperative_groups::thread_block_tile<width> tile;
        const int rank = static_cast<int>(tile.thread_rank());
        for (int step = 1; step < width; step *= 2) {
            // Lanes from `valid` on need not exist.
            const bool has_other = rank + step < valid;
            const T other = tile.shfl(value, has_other ? rank + step : rank);
            if (has_other && rank % (2 * step) == 0) value = op(value, other);
        }
        return value;
    }
};

template <class T, int width = 32, int = 0>
class WarpScan {
  public:
    struct TempStorage {};
    explicit WarpScan(TempStorage&) {}
    void InclusiveSum(T value, T& result) { InclusiveScan(value, result, cub::Sum()); }
    void InclusiveSum(T value, T& result, T& total) { InclusiveScan(value, result, cub::Sum(), total); }
    void ExclusiveSum(T value, T& result) { ExclusiveScan(value, result, T{}, cub::Sum()); }
    void ExclusiveSum(T value, T& result, T& total) { ExclusiveScan(value, result, T{}, cub::Sum(), total); }
    template <class Op>
    void InclusiveScan(T value, T& result, Op op) {
        const cooperative_groups::thread_block_tile<width> tile;
        const unsigned rank = tile.thread_rank();
        for (unsigned step = 1; step < width; step *= 2) {
            const T other = tile.shfl_up(value, step);
            if (rank >= step) value = op(other, value);
        }
        result = value;
    }
    template <class Op>
    void InclusiveScan(T value, T& result, Op op, T& total) {
        InclusiveScan(value, result, op);
        total = Broadcast(result, width - 1);
    }
    template <class Op>
    void ExclusiveScan(T value, T& result, T start, Op op) {
        T inclusive{};
        InclusiveScan(value, inclusive, op);
        const cooperative_groups::thread_block_tile<width> tile;
        const T before = tile.shfl_up(inclusive, 1);
        result = tile.thread_rank() == 0 ? start : op(start, before);
    }
    template <class Op>
    void ExclusiveScan(T value, T& result, T start, Op op, T& total) {
        T inclusive{};
        InclusiveScan(value, inclusive, op, total);
        const cooperative_groups::thread_block_tile<width> tile;
        const T before = tile.shfl_up(inclusive, 1);
        result = tile.thread_rank() == 0 ? start : op(start, before);
    }
    T Broadcast(T value, unsigned from) {
        return cooperative_groups::thread_block_tile<width>().shfl(value, static_cast<int>(from));
    }
};

// ---- of a block -------------------------------------------------------------------------------------------

namespace cudacpu_cub {
// Room for a T of each of `count`; no constructor, since it lies in shared memory.
template <class T, int count>
struct alignas(T) Room {
    unsigned char bytes[sizeof(T) * count];
    CUDACPU_MEMBER T& at(int i) { return reinterpret_cast<T*>(bytes)[i]; }
};
// Without an argument a collective uses memory of its own.
template <class Storage>
Storage& private_storage() {
    static thread_local Storage storage;
    return storage;
}
}  // namespace cudacpu_cub

template <class T, int x, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int y = 1, int z = 1, int = 0>
class BlockReduce {
    static constexpr int kThreads = x * y * z;
    using Room = cudacpu_cub::Room<T, kThreads>;

  public:
    struct TempStorage : Room {};
    BlockReduce() : room_(cudacpu_cub::private_storage<Room>()) {}
    explicit BlockReduce(TempStorage& storage) : room_(storage) {}

    CUDACPU_MEMBER T Sum(T value) { return Reduce(value, cub::Sum()); }
    CUDACPU_MEMBER T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
    template <int items>
    CUDACPU_MEMBER T Sum(T (&values)[items]) {
        return Reduce(values, cub::Sum());
    }
    template <int items, class Op>
    CUDACPU_MEMBER T Reduce(T (&values)[items], Op op) {
        T value = values[0];
        for (int i = 1; i < items; ++i) value = op(value, values[i]);
        return Reduce(value, op);
    }
    // The result is thread 0's; the others keep their own value.
    template <class Op>
    CUDACPU_MEMBER T Reduce(T value, Op op, int valid = kThreads) {
        const int thread = static_cast<int>(cudacpu_cub::block_rank_of_thread());
        room_.at(thread) = value;
        __syncthreads();
        if (thread != 0) return value;
        T all[kThreads];
        for (int i = 0; i < valid; ++i) all[i] = room_.at(i);
        return cudacpu_cub::combine<T>(0, valid, [&](int64_t i) { return all[i]; }, op);
    }

  private:
    Room& room_;
};

template <class T, int x, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int y = 1, int z = 1, int = 0>
class BlockScan {
    static constexpr int kThreads = x * y * z;
    using Room = cudacpu_cub::Room<T, kThreads + 1>;

  public:
    struct TempStorage : Room {};
    BlockScan() : room_(cudacpu_cub::private_storage<Room>()) {}
    explicit BlockScan(TempStorage& storage) : room_(storage) {}

#define CUDACPU_SUMS(name, exclusive)                                           \
    CUDACPU_MEMBER void name(T value, T& result) {                              \
        T total;                                                                \
        name(value, result, total);                                             \
    }                                                                           \
    template <int items>                                                        \
    CUDACPU_MEMBER void name(T(&values)[items], T(&results)[items]) {           \
        T total;                                                                \
        name(values, results, total);                                           \
    }                                                                           \
    CUDACPU_MEMBER void name(T value, T& result, T& total) {                    \
        T values[] = {value}, results[1];                                       \
        total = scan(values, results, cub::Sum(), T{}, exclusive, false);       \
        result = results[0];                                                    \
    }                                                                           \
    template <int items>                                                        \
    CUDACPU_MEMBER void name(T(&values)[items], T(&results)[items], T& total) { \
        total = scan(values, results, cub::Sum(), T{}, exclusive, false);       \
    }
    CUDACPU_SUMS(ExclusiveSum, true)
    CUDACPU_SUMS(InclusiveSum, false)
#undef CUDACPU_SUMS

    template <class Op>
    CUDACPU_MEMBER void InclusiveScan(T value, T& result, Op op) {
        T total;
        InclusiveScan(value, result, op, total);
    }
    template <class Op>
    CUDACPU_MEMBER void InclusiveScan(T value, T& result, Op op, T& total) {
        T values[] = {value}, results[1];
        total = scan(values, results, op, T{}, false, false);
        result = results[0];
    }
    template <int items, class Op>
    CUDACPU_MEMBER void InclusiveScan(T (&values)[items], T (&results)[items], Op op) {
        scan(values, results, op, T{}, false, false);
    }
    template <int items, class Op>
    CUDACPU_MEMBER void InclusiveScan(T (&values)[items], T (&results)[items], Op op, T& total) {
        total = scan(values, results, op, T{}, false, false);
    }
    template <class Op>
    CUDACPU_MEMBER void ExclusiveScan(T value, T& result, T start, Op op) {
        T total;
        ExclusiveScan(value, result, start, op, total);
    }
    template <class Op>
    CUDACPU_MEMBER void ExclusiveScan(T value, T& result, T start, Op op, T& total) {
        T values[] = {value}, results[1];
        total = scan(values, results, op, start, true, true);
        result = results[0];
    }
    template <int items, class Op>
    CUDACPU_MEMBER void ExclusiveScan(T (&values)[items], T (&results)[items], T start, Op op) {
        scan(values, results, op, start, true, true);
    }

  private:
    // Returns what all items of the block make, the start left out.
    template <int items, class Op>
    CUDACPU_MEMBER T scan(T (&values)[items], T (&results)[items], Op op, T start, bool exclusive,
                          bool has_start) {
        const int thread = static_cast<int>(cudacpu_cub::block_rank_of_thread());
        T own = values[0];
        for (int i = 1; i < items; ++i) own = op(own, values[i]);
        room_.at(thread) = own;
        __syncthreads();
        if (thread == 0) {
            // What the threads up to each make, in place; the whole behind them.
            for (int i = 1; i < kThreads; ++i) room_.at(i) = op(room_.at(i - 1), room_.at(i));
            room_.at(kThreads) = room_.at(kThreads - 1);
        }
        __syncthreads();
        T running = start;
        bool has_running = has_start || exclusive;
        if (thread > 0) {
            running = has_start ? op(start, room_.at(thread - 1)) : room_.at(thread - 1);
            has_running = true;
        }
        for (int i = 0; i < items; ++i) {
            const T item = values[i];
            if (exclusive) results[i] = running;
            const bool starts_here = thread == 0 && i == 0 && !has_start;
            running = has_running && !starts_here ? op(running, item) : item;
            has_running = true;
            if (!exclusive) results[i] = running;
        }
        return room_.at(kThreads);
    }

    Room& room_;
};

namespace cudacpu_cub {
struct NoRoom {};

// How a block's items lie: blocked (a thread's items side by side) or striped, over the block or each warp.
// The algorithms whose name has TRANSPOSE in it change from one to the other through shared memory.
template <class T, int threads, int items, int algorithm>
struct Arrangement {
    static constexpr bool is_exchanged = algorithm >= int(BLOCK_LOAD_TRANSPOSE);
    static constexpr bool by_warp = algorithm >= int(BLOCK_LOAD_WARP_TRANSPOSE);
    struct TempStorage : std::conditional_t<is_exchanged, Room<T, threads * items>, NoRoom> {};

    static int blocked(int i) { return static_cast<int>(block_rank_of_thread()) * items + i; }
    static int striped(int i) {
        constexpr int stride = by_warp ? 32 : threads;
        const int thread = static_cast<int>(block_rank_of_thread());
        return thread / stride * stride * items + i * stride + thread % stride;
    }
    // Where the program's memory has the i-th item that this thread touches there.
    static int in_memory(int i) {
        return is_exchanged || algorithm == int(BLOCK_LOAD_STRIPED) ? striped(i) : blocked(i);
    }
    CUDACPU_MEMBER static void meet() {
        if (algorithm == int(BLOCK_LOAD_WARP_TRANSPOSE)) {
            __syncwarp();
        } else {
            __syncthreads();
        }
    }
};
}  // namespace cudacpu_cub

template <class T, int x, int items, BlockLoadAlgorithm algorithm = BLOCK_LOAD_DIRECT, int y = 1, int z = 1,
          int = 0>
class BlockLoad {
    using Arrangement = cudacpu_cub::Arrangement<T, x * y * z, items, int(algorithm)>;

  public:
    using TempStorage = typename Arrangement::TempStorage;
    BlockLoad() : room_(cudacpu_cub::private_storage<TempStorage>()) {}
    explicit BlockLoad(TempStorage& storage) : room_(storage) {}
    template <class In>
    CUDACPU_MEMBER void Load(In in, T (&to)[items]) {
        Load(in, to, x * y * z * items);
    }
    template <class In>
    CUDACPU_MEMBER void Load(In in, T (&to)[items], int valid) {
        for (int i = 0; i < items; ++i) {
            const int at = Arrangement::in_memory(i);
            if (at >= valid) continue;
            if constexpr (Arrangement::is_exchanged) {
                room_.at(at) = in[at];
            } else {
                to[i] = in[at];
            }
        }
        if constexpr (Arrangement::is_exchanged) {
            Arrangement::meet();
            for (int i = 0; i < items; ++i) {
                if (Arrangement::blocked(i) < valid) to[i] = room_.at(Arrangement::blocked(i));
            }
        }
    }
    template <class In, class Default>
    CUDACPU_MEMBER void Load(In in, T (&to)[items], int valid, Default outside) {
        for (T& item : to) item = outside;
        Load(in, to, valid);
    }

  private:
    TempStorage& room_;
};
template <class T, int x, int items, BlockStoreAlgorithm algorithm = BLOCK_STORE_DIRECT, int y = 1, int z = 1,
          int = 0>
class BlockStore {
    using Arrangement = cudacpu_cub::Arrangement<T, x * y * z, items, int(algorithm)>;

  public:
    using TempStorage = typename Arrangement::TempStorage;
    BlockStore() : room_(cudacpu_cub::private_storage<TempStorage>()) {}
    explicit BlockStore(TempStorage& storage) : room_(storage) {}
    template <class Out>
    CUDACPU_MEMBER void Store(Out out, T (&from)[items]) {
        Store(out, from, x * y * z * items);
    }
    template <class Out>
    CUDACPU_MEMBER void Store(Out out, T (&from)[items], int valid) {
        if constexpr (Arrangement::is_exchanged) {
            for (int i = 0; i < items; ++i) room_.at(Arrangement::blocked(i)) = from[i];
            Arrangement::meet();
        }
        for (int i = 0; i < items; ++i) {
            const int at = Arrangement::in_memory(i);
            if (at >= valid) continue;
            if constexpr (Arrangement::is_exchanged) {
                out[at] = room_.at(at);
            } else {
                out[at] = from[i];
            }
        }
    }

  private:
    TempStorage& room_;
};

struct NullType {};
template <class Key, int x, int items, class Value = NullType, int = 4>
class BlockRadixSort {
    using Keys = cudacpu_cub::Room<Key, x * items>;
    using Values = cudacpu_cub::Room<Value, x * items>;

  public:
    struct TempStorage {
        Keys keys;
        Values values;
    };
    explicit BlockRadixSort(TempStorage& storage) : storage_(storage) {}
    CUDACPU_MEMBER void Sort(Key (&keys)[items]) { sort(keys, nullptr, false); }
    CUDACPU_MEMBER void SortDescending(Key (&keys)[items]) { sort(keys, nullptr, true); }
    CUDACPU_MEMBER void Sort(Key (&keys)[items], Value (&values)[items]) { sort(keys, values, false); }
    CUDACPU_MEMBER void SortDescending(Key (&keys)[items], Value (&values)[items]) {
        sort(keys, values, true);
    }

  private:
    CUDACPU_MEMBER void sort(Key* keys, Value* values, bool descending) {
        const int first = static_cast<int>(cudacpu_cub::block_rank_of_thread()) * items;
        for (int i = 0; i < items; ++i) {
            storage_.keys.at(first + i) = keys[i];
            if (values != nullptr) storage_.values.at(first + i) = values[i];
        }
        __syncthreads();
        if (first == 0) {
            const auto order =
                cudacpu_cub::radix_order(&storage_.keys.at(0), x * items, descending, 0, 8 * sizeof(Key));
            cudacpu_cub::permute(&storage_.keys.at(0), &storage_.keys.at(0), order);
            if (values != nullptr)
                cudacpu_cub::permute(&storage_.values.at(0), &storage_.values.at(0), order);
        }
        __syncthreads();
        for (int i = 0; i < items; ++i) {
            keys[i] = storage_.keys.at(first + i);
            if (values != nullptr) values[i] = storage_.values.at(first + i);
        }
    }

    TempStorage& storage_;
};
}  // namespace cub
