// CUB, of which the CPU layer has the most used part.

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
