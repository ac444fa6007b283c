// Products of small matrices by a warp (nvcuda::wmma), with numbers whose sums are exact in any order.
#include <mma.h>

#include "conformance.h"

using namespace nvcuda;

template <class T>
__device__ T number(int i) {
    return T(float(i % 7 - 3));
}
template <>
__device__ signed char number<signed char>(int i) {
    return (signed char)(i % 7 - 3);
}

// c = 2 a b + c; a by rows and b by columns in memory.
template <int M, int N, int K, class T, class Element, class Sum>
__global__ void product(Element* a, Element* b, Sum* c) {
    for (int i = threadIdx.x; i < M * K; i += 32) a[i] = number<Element>(i + i / 5);
    for (int i = threadIdx.x; i < N * K; i += 32) b[i] = number<Element>(i + i / 3);
    for (int i = threadIdx.x; i < M * N; i += 32) c[i] = Sum(float(i % 11));
    __syncwarp();
    wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> fc, fd;
    wmma::load_matrix_sync(fa, a, K);
    wmma::load_matrix_sync(fb, b, K);
    wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
    wmma::fill_fragment(fd, Sum(0.f));
    wmma::mma_sync(fd, fa, fb, fd);
    for (int i = 0; i < fd.num_elements; ++i) fc.x[i] = fc.x[i] + Sum(2.f) * fd.x[i];
    wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}
__global__ void widen(const half* in, float* out) {
    for (int i = threadIdx.x; i < 256; i += blockDim.x) out[i] = __half2float(in[i]);
}

static int entry(int i) { return i % 7 - 3; }
template <class Sum, int M, int N, int K>
static std::vector<Sum> expected() {
    std::vector<Sum> c(M * N);
    for (int row = 0; row < M; ++row) {
        for (int column = 0; column < N; ++column) {
            int sum = 0;
            for (int j = 0; j < K; ++j) {
                const int i = row * K + j, l = column * K + j;
                sum += entry(i + i / 5) * entry(l + l / 3);
            }
            c[row * N + column] = Sum((row * N + column) % 11 + 2 * sum);
        }
    }
    return c;
}
template <int M, int N, int K, class T, class Element, class Sum>
static void check() {
    Output<Element> a(M * K), b(N * K);
    Output<Sum> c(M * N);
    product<M, N, K, T, Element, Sum><<<1, 32>>>(a.data, b.data, c.data);
    c.expect(expected<Sum, M, N, K>());
}
FEATURE(wmma_half_16_16_16) { check<16, 16, 16, half, half, float>(); }
FEATURE(wmma_half_32_8_16) { check<32, 8, 16, half, half, float>(); }
FEATURE(wmma_half_8_32_16) { check<8, 32, 16, half, half, float>(); }
FEATURE(wmma_bfloat16_16_16_16) { check<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float>(); }
FEATURE(wmma_tf32_16_16_8) { check<16, 16, 8, wmma::precision::tf32, float, float>(); }
FEATURE(wmma_double_8_8_4) { check<8, 8, 4, double, double, double>(); }
FEATURE(wmma_bytes_16_16_16) { check<16, 16, 16, signed char, signed char, int>(); }
FEATURE(wmma_sums_in_half) {
    Output<half> a(256), b(256), c(256);
    Output<float> wide(256);
    product<16, 16, 16, half, half, half><<<1, 32>>>(a.data, b.data, c.data);
    widen<<<1, 64>>>(c.data, wide.data);
    wide.expect(expected<float, 16, 16, 16>());
}

__global__ void columns(const half* a, const half* b, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_col_major);
}
FEATURE(wmma_layouts) {
    // a is the identity, so b comes out, transposed by the layout of c.
    std::vector<unsigned short> a(256, 0), b(256);
    std::vector<float> expected(256);
    const unsigned short halves[4] = {0x3c00, 0x4000, 0x4200, 0x4400};
    for (int i = 0; i < 16; ++i) a[17 * i] = 0x3c00;
    for (int i = 0; i < 256; ++i) b[i] = halves[(i + i / 16 * 3) % 4];
    for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < 16; ++column)
            expected[column * 16 + row] = (row * 16 + column + row * 3) % 4 + 1;
    }
    Input<unsigned short> da(a), db(b);
    Output<float> c(256);
    columns<<<1, 32>>>(reinterpret_cast<const half*>(da.data), reinterpret_cast<const half*>(db.data), c);
    c.expect(expected);
}
