// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "conformance.h"

namespace cg = cooperative_groups;

__global__ void block(int* out) {
    cg::thread_block group = cg::this_thread_block();
    __shared__ int values[96];
    values[group.thread_rank()] = group.thread_rank();
    group.sync();
    const dim3 at = group.thread_index(), where = group.group_index();
    out[where.x * 96 + group.thread_rank()] = values[95 - group.thread_rank()] +
                                              1000 * (at.y * blockDim.x + at.x == group.thread_rank()) +
                                              10000 * (group.size() == 96);
}
FEATURE(group_of_a_block) {
    Output<int> out(192);
    block<<<2, dim3(32, 3)>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 192; ++i) expected.push_back(95 - i % 96 + 11000);
    out.expect(expected);
}

template <int Size>
__global__ void tiles(int* out) {
    const auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    int value = threadIdx.x;
    for (int offset = tile.size() / 2; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
    value = tile.shfl(value, 0);
    out[threadIdx.x] = value;
    out[64 + threadIdx.x] =
        tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
    out[128 + threadIdx.x] = tile.ballot(threadIdx.x % 2) + 1000000 * tile.any(threadIdx.x == 5) +
                             2000000 * tile.all(threadIdx.x < 16);
    out[192 + threadIdx.x] = tile.shfl_xor(threadIdx.x, 1) + 100 * tile.shfl_up(threadIdx.x, 1);
    tile.sync();
}
template <int Size>
static void expect_tiles() {
    Output<int> out(256);
    tiles<Size><<<1, 64>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 64; ++i) {
        int sum = 0;
        for (int j = 0; j < Size; ++j) sum += i / Size * Size + j;
        expected.push_back(sum);
    }
    for (int i = 0; i < 64; ++i) expected.push_back(i % Size + 100 * (i / Size) + 10000 * (64 / Size));
    for (int i = 0; i < 64; ++i) {
        const bool all = i / Size * Size + Size <= 16;
        expected.push_back((0xaaaaaaaau & ((1u << Size) - 1)) + 1000000 * (i / Size == 5 / Size) +
                           2000000 * all);
    }
    for (int i = 0; i < 64; ++i) expected.push_back((i ^ 1) + 100 * (i % Size ? i - 1 : i));
    out.expect(expected);
}
FEATURE(tiles_of_4) { expect_tiles<4>(); }
FEATURE(tiles_of_16) { expect_tiles<16>(); }

struct Pair {
    double a;
    int b;
};
__global__ void structs(double* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const Pair pair = warp.shfl(Pair{threadIdx.x * 0.5, (int)threadIdx.x}, 7);
    out[threadIdx.x] = pair.a + pair.b;
    const auto nested = cg::tiled_partition<8>(warp);
    out[32 + threadIdx.x] = nested.meta_group_rank() * 100 + nested.meta_group_size();
}
FEATURE(tiles_shuffle_structures) {
    Output<double> out(64);
    structs<<<1, 32>>>(out);
    std::vector<double> expected(32, 10.5);
    for (int i = 0; i < 32; ++i) expected.push_back(i / 8 * 100 + 4);
    out.expect(expected);
}

__global__ void reductions(int* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int lane = threadIdx.x;
    int* to = out + 6 * lane;
    to[0] = cg::reduce(warp, lane, cg::plus<int>());
    to[1] = cg::reduce(warp, lane - 16, cg::less<int>());
    to[2] = cg::reduce(warp, lane, cg::greater<int>());
    to[3] = cg::reduce(warp, 1u << lane % 5, cg::bit_or<unsigned>());
    to[4] = cg::inclusive_scan(warp, lane, cg::plus<int>());
    to[5] = cg::exclusive_scan(warp, lane, cg::plus<int>());
}
FEATURE(reductions_and_scans_of_a_tile) {
    Output<int> out(192);
    reductions<<<1, 32>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 32; ++i)
        expected.insert(expected.end(), {496, -16, 31, 31, i * (i + 1) / 2, i * (i - 1) / 2});
    out.expect(expected);
}

__global__ void coalesced(int* out, int* counter) {
    if (threadIdx.x % 3 == 0) {
        const cg::coalesced_group group = cg::coalesced_threads();
        out[threadIdx.x] = group.size() + 100 * group.thread_rank() + 10000 * group.shfl((int)threadIdx.x, 2);
        // One atomic for all lanes.
        int first = 0;
        if (group.thread_rank() == 0) first = atomicAdd(counter, (int)group.size());
        out[32 + threadIdx.x] = group.shfl(first, 0) + group.thread_rank();
        out[64 + threadIdx.x] =
            (int)group.ballot(group.thread_rank() < 3) + 100 * (int)group.shfl_down((int)threadIdx.x, 1);
        out[96 + threadIdx.x] = cg::reduce(group, (int)threadIdx.x, cg::plus<int>());
    }
}
FEATURE(coalesced_groups) {
    Input<int> counter({50});
    Output<int> out(128);
    coalesced<<<1, 32>>>(out, counter);
    std::vector<int> expected(128, -1);
    for (int i = 0; i < 32; i += 3) {
        expected[i] = 11 + 100 * (i / 3) + 10000 * 6;
        expected[32 + i] = 50 + i / 3;
        expected[64 + i] = 7 + 100 * (i + 3 < 32 ? i + 3 : i);
        expected[96 + i] = 3 * 55;
    }
    out.expect(expected);
}

__global__ void partitions(int* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int lane = threadIdx.x;
    const auto by_label = cg::labeled_partition(warp, lane % 4);
    const auto by_sign = cg::binary_partition(warp, lane < 10);
    out[lane] = by_label.size() + 100 * by_label.thread_rank() + 10000 * by_sign.size() +
                1000000 * by_sign.thread_rank();
}
FEATURE(labeled_and_binary_partitions) {
    Output<int> out(32);
    partitions<<<1, 32>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 32; ++i)
        expected.push_back(8 + 100 * (i / 4) + 10000 * (i < 10 ? 10 : 22) + 1000000 * (i < 10 ? i : i - 10));
    out.expect(expected);
}

__global__ void whole_grid(int* values, int* out, int rounds) {
    const cg::grid_group grid = cg::this_grid();
    const int n = grid.size(), id = grid.thread_rank();
    for (int round = 0; round < rounds; ++round) {
        values[id] += round;
        grid.sync();
        const int next = values[(id + blockDim.x) % n];
        grid.sync();
        values[id] = next + 1;
        grid.sync();
    }
    out[id] = values[id] + 1000 * grid.is_valid();
}
FEATURE(grid_waits_for_itself) {
    const int blocks = 12, threads = 64, n = blocks * threads;
    std::vector<int> start(n), expected(n);
    for (int i = 0; i < n; ++i) start[i] = i;
    Input<int> values(start);
    Output<int> out(n);
    int rounds = 5;
    void* arguments[] = {&values.data, &out.data, &rounds};
    conformance::expect_success(
        cudaLaunchCooperativeKernel((void*)whole_grid, dim3(blocks), dim3(threads), arguments),
        "cooperative launch");
    for (int i = 0; i < n; ++i)
        expected[i] = (i + rounds * threads) % n + rounds * (rounds - 1) / 2 + rounds + 1000;
    out.expect(expected);
}

__global__ void tiles_by_number(int* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const cg::thread_group quad = cg::tiled_partition(warp, 4);
    quad.sync();
    out[threadIdx.x] = 10 * quad.size() + quad.thread_rank();
}
FEATURE(tiles_by_number) {
    Output<int> out(64);
    tiles_by_number<<<1, 64>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 64; ++i) expected.push_back(40 + i % 4);
    out.expect(expected);
}

__global__ void idle(int*) {}
FEATURE(cooperative_launch_that_is_too_large) {
    int* nothing = nullptr;
    void* arguments[] = {&nothing};
    EQUAL(cudaLaunchCooperativeKernel((const void*)idle, dim3(100000), dim3(1024), arguments),
          cudaErrorCooperativeLaunchTooLarge);
    EQUAL(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
}
