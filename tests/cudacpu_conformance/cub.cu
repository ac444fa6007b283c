// CUB, of which the CPU layer has the most used part.

#include <float.h>

#include <cub/cub.cuh>

#include "conformance.h"

// Calls with temporary memory as CUB wants it: asks for the size first.
template <class Call>
static void with_memory(Call call) {
    size_t bytes = 0;
    conformance::expect_success(call(nullptr, bytes), "size");
    EQUAL(bytes > 0, true);
    void* memory = nullptr;
    cudaMalloc(&memory, bytes);
    conformance::expect_success(call(memory, bytes), "work");
    cudaFree(memory);
}

struct Smaller {
    __host__ __device__ float operator()(float a, float b) const { return fminf(a, b); }
};
struct Plus {
    template <class A, class B>
    __host__ __device__ auto operator()(A a, B b) const {
        return a + b;
    }
};
struct IsOdd {
    __host__ __device__ bool operator()(int a) const { return a % 2 != 0; }
};
FEATURE(cub_device_reduce) {
    std::vector<float> values;
    for (int i = 0; i < 10000; ++i) values.push_back(i % 100 == 0 ? 200 + i % 700 : i % 10);
    Input<float> in(values);
    Output<float> sum(1), most(1), least(1);
    with_memory(
        [&](void* m, size_t& n) { return cub::DeviceReduce::Sum(m, n, (float*)in, sum.data, 10000); });
    with_memory(
        [&](void* m, size_t& n) { return cub::DeviceReduce::Max(m, n, (float*)in, most.data, 10000); });
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceReduce::Reduce(m, n, (float*)in + 1, least.data, 50, Smaller(), 77.0f);
    });
    float expected = 0;
    for (float value : values) expected += value;
    sum.expect({expected});
    most.expect({800});
    least.expect({0});
}

#if CUB_VERSION < 300000
struct Half {
    __host__ __device__ float operator()(int x) const { return x / 2.0f; }
};
FEATURE(cub_iterators) {
    using Counting = cub::CountingInputIterator<int>;
    const Counting from_three(3);
    const cub::TransformInputIterator<float, Half, Counting> halves(from_three, Half());
    Output<float> out(2);
    size_t bytes = 0;
    void* temporary = nullptr;
    cub::DeviceReduce::Sum(nullptr, bytes, halves, out + 0, 4);
    cudaMalloc(&temporary, bytes);
    cub::DeviceReduce::Sum(temporary, bytes, halves, out + 0, 4);
    cub::DeviceReduce::Sum(temporary, bytes, cub::ConstantInputIterator<float>(0.5f), out + 1, 6);
    out.expect({9, 3});
    cudaFree(temporary);
}
#endif

FEATURE(cub_device_scan_and_select) {
    std::vector<int> values, exclusive, inclusive, odd;
    int total = 0;
    for (int i = 0; i < 3000; ++i) {
        values.push_back(i % 7 - 2);
        exclusive.push_back(total);
        inclusive.push_back(total += i % 7 - 2);
    }
    for (int value : values)
        if (value % 2 != 0) odd.push_back(value);
    Input<int> in(values);
    Output<int> before(3000), after(3000), kept(odd.size()), count(1);
    with_memory(
        [&](void* m, size_t& n) { return cub::DeviceScan::ExclusiveSum(m, n, (int*)in, before.data, 3000); });
    with_memory(
        [&](void* m, size_t& n) { return cub::DeviceScan::InclusiveSum(m, n, (int*)in, after.data, 3000); });
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceSelect::If(m, n, (int*)in, kept.data, count.data, 3000, IsOdd());
    });
    before.expect(exclusive);
    after.expect(inclusive);
    kept.expect(odd);
    count.expect({(int)odd.size()});
}

FEATURE(cub_device_radix_sort) {
    Input<float> keys({3, -1, 2.5f, -1, INFINITY, -7, 0.0f});
    Input<int> values({0, 1, 2, 3, 4, 5, 6});
    Output<float> sorted(7), down(7);
    Output<int> places(7);
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceRadixSort::SortPairs(m, n, (float*)keys, sorted.data, (int*)values, places.data, 7);
    });
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceRadixSort::SortKeysDescending(m, n, (float*)keys, down.data, 7);
    });
    sorted.expect({-7, -1, -1, 0, 2.5f, 3, INFINITY});
    places.expect({5, 1, 3, 6, 2, 0, 4});
    down.expect({INFINITY, 3, 2.5f, 0, -1, -1, -7});
    Input<unsigned> words({0x13, 0x21, 0x12, 0x33});
    Output<unsigned> by_digit(4);
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceRadixSort::SortKeys(m, n, (unsigned*)words, by_digit.data, 4, 0, 4);
    });
    by_digit.expect({0x21, 0x12, 0x13, 0x33});
}

template <int Threads>
__global__ void block_collectives(const int* in, int* out) {
    using Reduce = cub::BlockReduce<int, Threads>;
    using Scan = cub::BlockScan<int, Threads>;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
    } storage;
    const int value = in[threadIdx.x];
    const int sum = Reduce(storage.reduce).Sum(value);
    if (threadIdx.x == 0) out[0] = sum;
    __syncthreads();
    int before, total;
    Scan(storage.scan).ExclusiveSum(value, before, total);
    out[1 + threadIdx.x] = before;
    if (threadIdx.x == 5) out[1 + Threads] = total;
    __syncthreads();
    int pair[2] = {value, 1}, sums[2];
    Scan(storage.scan).InclusiveSum(pair, sums);
    if (threadIdx.x == Threads - 1) out[2 + Threads] = sums[1];
    __shared__ typename cub::WarpReduce<int>::TempStorage warps[Threads / 32];
    const int of_warp = cub::WarpReduce<int>(warps[threadIdx.x / 32]).Reduce(value, [](int a, int b) {
        return a > b ? a : b;
    });
    if (threadIdx.x % 32 == 0) out[3 + Threads + threadIdx.x / 32] = of_warp;
}
FEATURE(cub_collectives) {
    std::vector<int> values, expected = {127 * 128 / 2 + 128};
    for (int i = 0; i < 128; ++i) values.push_back(i + 1);
    for (int i = 0; i < 128; ++i) expected.push_back(i * (i + 1) / 2);
    expected.insert(expected.end(), {8256, 8256 + 128, 32, 64, 96, 128});
    Input<int> in(values);
    Output<int> out(expected.size());
    block_collectives<128><<<1, 128>>>(in, out);
    out.expect(expected);
}

// Sums are kept in what adding makes of an item and the start, not in the item's type.
FEATURE(cub_accumulators) {
    Input<unsigned char> bytes(std::vector<unsigned char>(300, 200));
    Output<int> sum(1), sums(300), of_segments(2);
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceReduce::Sum(m, n, (unsigned char*)bytes, sum.data, 300);
    });
    sum.expect({60000});
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceScan::InclusiveSum(m, n, (unsigned char*)bytes, sums.data, 300);
    });
    EQUAL(sums.get().back(), 60000);
    Input<int> begins({0, 100}), ends({100, 300});
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceSegmentedReduce::Sum(m, n, (unsigned char*)bytes, of_segments.data, 2, (int*)begins,
                                               (int*)ends);
    });
    of_segments.expect({20000, 40000});
    Input<float> halves({0.5f, 0.5f, 0.5f});
    Output<float> total(1);
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceReduce::Reduce(m, n, (float*)halves, total.data, 3, Plus(), 1);
    });
    total.expect({2.5f});
}

// What each algorithm gives for no items at all.
FEATURE(cub_of_nothing) {
    Input<float> in({1});
    Output<float> sum(1), most(1), least(1), kept(1);
    Output<int> count(1);
    cub::KeyValuePair<int, float>* least_at = nullptr;
    cudaMalloc(&least_at, sizeof *least_at);
    with_memory([&](void* m, size_t& n) { return cub::DeviceReduce::Sum(m, n, (float*)in, sum.data, 0); });
    with_memory([&](void* m, size_t& n) { return cub::DeviceReduce::Max(m, n, (float*)in, most.data, 0); });
    with_memory([&](void* m, size_t& n) { return cub::DeviceReduce::Min(m, n, (float*)in, least.data, 0); });
    with_memory([&](void* m, size_t& n) { return cub::DeviceReduce::ArgMin(m, n, (float*)in, least_at, 0); });
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceSelect::Flagged(m, n, (float*)in, (float*)in, kept.data, count.data, 0);
    });
    sum.expect({0});
    most.expect({-FLT_MAX});
    least.expect({FLT_MAX});
    count.expect({0});
    cub::KeyValuePair<int, float> found;
    cudaMemcpy(&found, least_at, sizeof found, cudaMemcpyDeviceToHost);
    cudaFree(least_at);
    EQUAL(found.key, 1);
    EQUAL(found.value, FLT_MAX);
    // The largest value starts from the lowest number, which infinity lies beyond.
    Input<float> infinite({-INFINITY, -INFINITY});
    with_memory(
        [&](void* m, size_t& n) { return cub::DeviceReduce::Max(m, n, (float*)infinite, most.data, 2); });
    most.expect({-FLT_MAX});
}

FEATURE(cub_too_little_memory) {
    Input<float> in({1});
    Output<float> sum(1);
    Input<char> memory({0});
    size_t bytes = 0;
    EQUAL(cub::DeviceReduce::Sum((void*)memory.data, bytes, (float*)in, sum.data, 1), cudaErrorInvalidValue);
    cudaGetLastError();
}

FEATURE(cub_scan_in_place) {
    for (int count : {1, 31, 33, 511, 513, 1025}) {
        std::vector<int> values, sums;
        for (int i = 0; i < count; ++i) values.push_back(i * 7 % 11);
        for (int i = 0, sum = 5; i < count; sum += values[i++]) sums.push_back(sum);
        Output<int> data(count);
        cudaMemcpy(data, values.data(), count * sizeof(int), cudaMemcpyHostToDevice);
        with_memory([&](void* m, size_t& n) {
            return cub::DeviceScan::ExclusiveScan(m, n, data.data, data.data, Plus(), 5, count);
        });
        data.expect(sums);
    }
}

// A float's bin is found by the reciprocal of a bin's width, in the samples' type.
FEATURE(cub_histogram) {
    Input<float> in({0.7f, 0.0f, 0.3f, -0.1f, 1.0f, 0.9999999f, NAN, 0.61f});
    Output<int> counts(10);
    with_memory([&](void* m, size_t& n) {
        return cub::DeviceHistogram::HistogramEven(m, n, (float*)in, counts.data, 11, 0.0f, 1.0f, 8);
    });
    counts.expect({1, 0, 0, 1, 0, 0, 1, 1, 0, 1});
}

// What lies in memory at `offset` goes through the registers of an odd block and back, the tail left out.
template <cub::BlockLoadAlgorithm loads, cub::BlockStoreAlgorithm stores>
__global__ void carry(const int* in, int* out, int* first_of_thread, int valid) {
    using Load = cub::BlockLoad<int, 96, 3, loads>;
    using Store = cub::BlockStore<int, 96, 3, stores>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } storage;
    int items[3];
    Load(storage.load).Load(in, items, valid, -5);
    first_of_thread[threadIdx.x] = items[0];
    __syncthreads();
    Store(storage.store).Store(out, items, valid);
}
FEATURE(cub_load_and_store) {
    constexpr int valid = 96 * 3 - 50;
    std::vector<int> values, blocked, striped, back;
    for (int i = 0; i < 96 * 3; ++i) values.push_back(i * i % 1009);
    for (int i = 0; i < 96; ++i) blocked.push_back(3 * i < valid ? values[3 * i] : -5);
    for (int i = 0; i < 96; ++i) striped.push_back(values[i]);
    for (int i = 0; i < 96 * 3; ++i) back.push_back(i < valid ? values[i] : -1);
    Input<int> in(values);
#define CARRY(way, first)                                                                      \
    {                                                                                          \
        Output<int> out(96 * 3), seen(96);                                                     \
        carry<cub::BLOCK_LOAD_##way, cub::BLOCK_STORE_##way><<<1, 96>>>(in, out, seen, valid); \
        seen.expect(first, #way);                                                              \
        out.expect(back, #way);                                                                \
    }
    CARRY(DIRECT, blocked)
    CARRY(STRIPED, striped)
    CARRY(VECTORIZE, blocked)
    CARRY(TRANSPOSE, blocked)
    CARRY(WARP_TRANSPOSE, blocked)
    CARRY(WARP_TRANSPOSE_TIMESLICED, blocked)
}

// 72 threads in two dimensions: the last warp is not full.
__global__ void odd_block(const int* in, int* out) {
    using Reduce = cub::BlockReduce<int, 12, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 6>;
    using Scan = cub::BlockScan<int, 12, cub::BLOCK_SCAN_WARP_SCANS, 6>;
    __shared__ typename Reduce::TempStorage reduce;
    __shared__ typename Scan::TempStorage scan;
    __shared__ typename cub::WarpReduce<int>::TempStorage warps[3];
    const int thread = threadIdx.y * 12 + threadIdx.x;
    auto last = [](int, int b) { return b; };  // the order of the operands matters
    const int sum = Reduce(reduce).Sum(in[thread], 71);
    int before, all;
    Scan(scan).ExclusiveScan(in[thread], before, 1000, [](int a, int b) { return a < b ? b : a; }, all);
    const int of_warp =
        cub::WarpReduce<int>(warps[thread / 32]).Reduce(in[thread], last, min(32, 71 - thread / 32 * 32));
    if (thread == 0) out[0] = sum;
    if (thread == 71) out[1] = before, out[2] = all;
    if (thread % 32 == 0) out[3 + thread / 32] = of_warp;
}
FEATURE(cub_odd_block) {
    std::vector<int> values;
    for (int i = 0; i < 72; ++i) values.push_back(i);
    Input<int> in(values);
    Output<int> out(6);
    odd_block<<<1, dim3(12, 6)>>>(in, out);
    out.expect({70 * 71 / 2, 1000, 71, 31, 63, 70});
}
