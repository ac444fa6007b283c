// What CUDA adds to C++: launches wherever an expression may stand, shared memory of every shape, qualifiers.
#include "conformance.h"
#include "language_part.cuh"

template <class T, int N>
struct Tile {
    T values[N][N + 1];
    int count;
};
template <class T, int N>
__global__ void __launch_bounds__(N* N, 1) transpose(const T* __restrict__ in, T* __restrict__ out) {
    __shared__ Tile<T, N> tile;
    typedef T Row[N];
    __shared__ Row copy[2], sums;
    tile.values[threadIdx.y][threadIdx.x] = in[threadIdx.y * N + threadIdx.x];
    if (threadIdx.y < 2) copy[threadIdx.y][threadIdx.x] = in[threadIdx.x];
    if (threadIdx.y == 0) sums[threadIdx.x] = 0;
    __syncthreads();
    out[threadIdx.y * N + threadIdx.x] =
        tile.values[threadIdx.x][threadIdx.y] + copy[1][threadIdx.x] * 0 + sums[threadIdx.x];
}
FEATURE(shared_structures_of_templates) {
    std::vector<float> values(64), expected(64);
    for (int i = 0; i < 64; ++i) values[i] = i, expected[i] = i % 8 * 8 + i / 8;
    Input<float> in(values);
    Output<float> out(64);
    transpose<float, (8 > 4 ? 8 : 4)><<<dim3(1), dim3{8, 8}>>>(in, out);
    out.expect(expected);
}

__global__ void dynamic_floats(float* out) {
    extern __shared__ float memory[];
    memory[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = memory[31 - threadIdx.x];
}
__global__ void dynamic_parts(double* out, int n) {
    extern __shared__ __align__(16) unsigned char raw[];
    double* d = reinterpret_cast<double*>(raw);
    int* i = reinterpret_cast<int*>(d + n);
    d[threadIdx.x] = threadIdx.x * 0.5;
    i[threadIdx.x] = threadIdx.x * 2;
    __syncthreads();
    out[threadIdx.x] = d[n - 1 - threadIdx.x] + i[threadIdx.x];
}
FEATURE(dynamic_shared_memory_of_two_types) {
    Output<float> floats(32);
    Output<double> parts(32);
    dynamic_floats<<<1, 32, 32 * sizeof(float)>>>(floats);
    dynamic_parts<<<1, 32, 32 * (sizeof(double) + sizeof(int))>>>(parts, 32);
    std::vector<float> f;
    std::vector<double> p;
    for (int i = 0; i < 32; ++i) f.push_back(31 - i), p.push_back((31 - i) * 0.5 + 2 * i);
    floats.expect(f);
    parts.expect(p);
}

__global__ void three_dimensions(int* out) {
    __shared__ int box[2][3][4];
    box[threadIdx.z][threadIdx.y][threadIdx.x] = threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x;
    __syncthreads();
    const int i = (threadIdx.z * 3 + threadIdx.y) * 4 + threadIdx.x;
    out[(blockIdx.y * gridDim.x + blockIdx.x) * 24 + i] =
        box[1 - threadIdx.z][2 - threadIdx.y][3 - threadIdx.x] + 1000 * (blockIdx.x + 10 * blockIdx.y);
}
FEATURE(indices_in_three_dimensions) {
    Output<int> out(24 * 6);
    const dim3 blockDim(4, 3, 2), gridDim(3, 2);
    three_dimensions<<<gridDim, blockDim>>>(out);
    std::vector<int> expected;
    for (int b = 0; b < 6; ++b)
        for (int z = 0; z < 2; ++z)
            for (int y = 0; y < 3; ++y)
                for (int x = 0; x < 4; ++x)
                    expected.push_back((1 - z) * 100 + (2 - y) * 10 + 3 - x + 1000 * (b % 3 + 10 * (b / 3)));
    out.expect(expected);
}

template <class F>
__global__ void apply(float* out, F function) {
    out[threadIdx.x] = function(threadIdx.x);
}
struct Scale {
    float by;
    __host__ __device__ float operator()(int i) const { return by * i; }
};
#define LAUNCH(kernel, blocks, threads, ...) kernel<<<blocks, threads>>>(__VA_ARGS__)
FEATURE(launches_in_macros_and_lambdas) {
    Output<float> a(8), b(8);
    LAUNCH(apply, 1, 8, a.data, Scale{3.f});
    auto launch = [&](float* to) { apply<Scale><<<1, 8>>>(to, Scale{0.5f}); };
    launch(b);
    a.expect({0, 3, 6, 9, 12, 15, 18, 21});
    b.expect({0, 0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f});
}

namespace outer {
namespace inner {
__global__ void fill(int* out, int value = 5) { out[threadIdx.x] = value; }
}  // namespace inner
}  // namespace outer
__global__ void overloaded(int* out, int) { *out = 1; }
__global__ void overloaded(int* out, float) { *out = 2; }
FEATURE(names_defaults_and_overloads) {
    Output<int> a(4), b(1), c(1);
    outer::inner::fill<<<1, 4>>>(a.data);
    void (*pointer)(int*, float) = overloaded;
    pointer<<<1, 1>>>(b, 1.f);
    overloaded<<<1, 1>>>(c.data, 1);
    a.expect_all(5), b.expect({2}), c.expect({1});
}

__device__ __forceinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int thrice(int x) { return 3 * x; }
__host__ __device__ constexpr int four() { return 4; }
__device__ int device_values[4] = {1, 2, 3, 4};
__constant__ int constant_values[2] = {10, 20};
__global__ void qualifiers(int* out, const __grid_constant__ int scale) {
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += device_values[i];
    auto local = [=](int x) { return x + scale; };
    out[0] = sum + constant_values[1], out[1] = twice(3) + thrice(3), out[2] = four() + local(1),
    out[3] = warpSize;
}
FEATURE(qualifiers_of_functions_and_variables) {
    Output<int> out(4);
    qualifiers<<<1, 1>>>(out, 7);
    out.expect({30, 15, 12, 32});
}

FEATURE(text_that_looks_like_code) {
    const char* text = "k<<<1, 1>>>(x)"; /* k<<<1, */  // k<<<
    const std::string raw = R"cu(__shared__ "k<<<g, b>>>(x)" )")cu";
    const char* continued =
        "a\
<<<b";
    EQUAL(strlen(text), 14), EQUAL(raw.size(), 30), EQUAL(strlen(continued), 5), EQUAL(1 << 2 >> 1, 2);
}

FEATURE(headers_beside_the_file) {
    Output<int> out(2);
    part_of_language(out);
    out.expect({77, 78});
}

struct Parameters {
    int values[16];
    double factor;
};
__global__ void by_value(Parameters parameters, double* out) {
    out[threadIdx.x] = parameters.values[threadIdx.x] * parameters.factor;
}
FEATURE(structures_as_arguments) {
    Parameters parameters = {};
    for (int i = 0; i < 16; ++i) parameters.values[i] = i;
    parameters.factor = 0.25;
    Output<double> out(16);
    by_value<<<1, 16>>>(parameters, out);
    std::vector<double> expected;
    for (int i = 0; i < 16; ++i) expected.push_back(i * 0.25);
    out.expect(expected);
}

__global__ void divergent(int* out) {
    __shared__ int stage[128];
    stage[threadIdx.x] = threadIdx.x;
    for (int step = 1; step < 128; step *= 2) {
        __syncthreads();
        const int add = threadIdx.x >= step ? stage[threadIdx.x - step] : 0;
        __syncthreads();
        if (threadIdx.x >= step) stage[threadIdx.x] += add;
    }
    if (threadIdx.x % 2) return;
    out[threadIdx.x / 2] = stage[threadIdx.x];
}
FEATURE(scan_with_barriers_in_a_loop) {
    Output<int> out(64);
    divergent<<<1, 128>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 128; i += 2) expected.push_back(i * (i + 1) / 2);
    out.expect(expected);
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void allocate(int* out) {
    int* mine = new int[4];
    for (int i = 0; i < 4; ++i) mine[i] = threadIdx.x + i;
    out[threadIdx.x] = mine[3] + fibonacci(10);
    delete[] mine;
}
FEATURE(recursion_and_allocation_in_kernels) {
    Output<int> out(4);
    allocate<<<1, 4>>>(out);
    out.expect({58, 59, 60, 61});
}
