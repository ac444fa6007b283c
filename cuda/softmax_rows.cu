// problem: softmax_rows
//
// Softmax of every row of a matrix: a row is read once, by a warp or by a block, and kept on the chip.
//
// Idea     Whoever works on a row keeps its elements in registers: maximum, exponentials and sum need no
//          second look at memory. Up to 1,024 columns that is a warp, which reduces by shuffles alone,
//          without a barrier; up to 16,384 a block of as many warps as the row needs, 16 elements a thread.
//          Longer rows are kept in shared memory where it is large enough, else read twice; their maximum
//          and sum are taken online.
// Launch   Up to 1,024 columns blocks of 8 warps, each with a row of its own; beyond that a block for each
//          row. The only number asked of the GPU is how much shared memory a block may have.
// Traffic  1 read and 1 write: the least there is. 2 reads and 1 write of rows that exceed shared memory.
// Access   16 bytes at a time where every row of input and output begins at a multiple of 16 bytes, else 4.
// Limit    Memory bandwidth, given enough rows; a single row has one SM to itself and leaves the others idle.
// Special  fmaxf ignores a NaN, but exp(NaN - m) puts it into the sum, as exp(inf - inf) does: the whole row
//          becomes NaN, and no other. A row of -inf alone gives NaN, too. As torch.softmax has it.
// Judge    python -m harness submit cuda/softmax_rows.cu

#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>
#include <cstdint>

constexpr int WARP_SIZE = 32;
constexpr int MAX_THREADS = 1024;
constexpr int MAX_WARPS = MAX_THREADS / WARP_SIZE;
constexpr unsigned FULL_WARP = 0xffffffff;

constexpr int WARPS_OF_ROWS = 8;  // of a block in which every warp has a row of its own
constexpr int THREADS_OF_ROWS = WARPS_OF_ROWS * WARP_SIZE;
constexpr int WARP_ITEMS = 32;        // elements that a lane keeps at most: 32 lanes x 32 = 1,024 columns
constexpr int BLOCK_ITEMS = 16;       // that a thread of a block keeps: 1,024 threads x 16 = 16,384 columns
constexpr int SHARED_RESERVE = 1024;  // bytes of shared memory left to the reductions and to CUDA itself

// 64-bit strides: row * stride passes 2^31 in a matrix of more elements.
struct Matrices {
    const float* input;
    float* output;
    int n_rows;
    int n_cols;
    long long input_stride;
    long long output_stride;
};

struct Max {
    static __device__ float identity() { return -INFINITY; }
    static __device__ float combine(float a, float b) { return fmaxf(a, b); }
};

struct Sum {
    static __device__ float identity() { return 0.0f; }
    static __device__ float combine(float a, float b) { return a + b; }
};

// Afterwards every lane holds the result of its warp.
template <typename Op>
__device__ float warp_reduce(float value) {
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
        value = Op::combine(value, __shfl_xor_sync(FULL_WARP, value, offset));
    }
    return value;
}

// One barrier: every warp reduces its lanes, then each by itself the results of all. `partial` serves one.
template <typename Op>
__device__ float block_reduce(float value, float* partial) {
    const int warp = threadIdx.x / WARP_SIZE;
    const int lane = threadIdx.x % WARP_SIZE;
    value = warp_reduce<Op>(value);
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    return warp_reduce<Op>(lane < blockDim.x / WARP_SIZE ? partial[lane] : Op::identity());
}

// ---- WIDTH elements of a row at once: 4 where rows are aligned for it, else 1 ---------------------------

// What lies behind the row reads -inf: it is no maximum, and its exponential is 0.
template <int WIDTH>
__device__ void load(float* x, const float* row, long long column, int n_cols) {
    if constexpr (WIDTH == 4) {
        if (column + 4 <= n_cols) {
            *reinterpret_cast<float4*>(x) = *reinterpret_cast<const float4*>(row + column);
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < WIDTH; i++) x[i] = column + i < n_cols ? row[column + i] : -INFINITY;
}

template <int WIDTH>
__device__ void store(const float* y, float* row, long long column, int n_cols) {
    if constexpr (WIDTH == 4) {
        if (column + 4 <= n_cols) {
            *reinterpret_cast<float4*>(row + column) = *reinterpret_cast<const float4*>(y);
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
        if (column + i < n_cols) row[column + i] = y[i];
    }
}

// ---- rows in registers ----------------------------------------------------------------------------------

// The softmax of a row by `threads` threads, of which this is number `thread`. Neighbours take neighbouring
// elements, so that a warp's accesses are whole lines; `reduce_max` and `reduce_sum` combine what the threads
// have.
template <int ITEMS, int WIDTH, typename ReduceMax, typename ReduceSum>
__device__ void softmax_in_registers(const float* input, float* output, int n_cols, int thread, int threads,
                                     ReduceMax reduce_max, ReduceSum reduce_sum) {
    alignas(16) float x[ITEMS];
    float max = Max::identity();
#pragma unroll
    for (int i = 0; i < ITEMS; i += WIDTH) {
        load<WIDTH>(x + i, input, (i / WIDTH * threads + thread) * WIDTH, n_cols);
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) max = Max::combine(max, x[i]);
    max = reduce_max(max);

    float sum = Sum::identity();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        x[i] = expf(x[i] - max);
        sum = Sum::combine(sum, x[i]);
    }
    const float inverse = 1.0f / reduce_sum(sum);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) x[i] *= inverse;
#pragma unroll
    for (int i = 0; i < ITEMS; i += WIDTH) {
        store<WIDTH>(x + i, output, (i / WIDTH * threads + thread) * WIDTH, n_cols);
    }
}

template <int ITEMS, int WIDTH>
__global__ void __launch_bounds__(THREADS_OF_ROWS) warp_per_row(Matrices m) {
    const long long row = static_cast<long long>(blockIdx.x) * WARPS_OF_ROWS + threadIdx.x / WARP_SIZE;
    if (row >= m.n_rows) return;  // whole warps: nobody is missing from a shuffle
    softmax_in_registers<ITEMS, WIDTH>(
        m.input + row * m.input_stride, m.output + row * m.output_stride, m.n_cols, threadIdx.x % WARP_SIZE,
        WARP_SIZE, [](float value) { return warp_reduce<Max>(value); },
        [](float value) { return warp_reduce<Sum>(value); });
}

template <int WIDTH>
__global__ void __launch_bounds__(MAX_THREADS) block_per_row(Matrices m) {
    __shared__ float maxima[MAX_WARPS];
    __shared__ float sums[MAX_WARPS];
    const long long row = blockIdx.x;
    softmax_in_registers<BLOCK_ITEMS, WIDTH>(
        m.input + row * m.input_stride, m.output + row * m.output_stride, m.n_cols, threadIdx.x, blockDim.x,
        [&](float value) { return block_reduce<Max>(value, maxima); },
        [&](float value) { return block_reduce<Sum>(value, sums); });
}

// ---- rows that registers do not hold --------------------------------------------------------------------

// Each thread keeps (m, l), at first (-FLT_MAX, 0), such that l = sum of exp(x - m) over what it has read.
// For the next elements with maximum m_b: m' = max(m, m_b), l' = l * exp(m - m') + sum exp(x - m'). With
// IS_KEPT what was read stays in shared memory for the second walk; a thread meets its own elements there, so
// that no barrier is needed.
template <int WIDTH, bool IS_KEPT>
__global__ void __launch_bounds__(MAX_THREADS) block_per_long_row(Matrices m) {
    extern __shared__ float4 kept_memory[];
    __shared__ float maxima[MAX_WARPS];
    __shared__ float sums[MAX_WARPS];
    const long long row = blockIdx.x;
    const float* input = m.input + row * m.input_stride;
    float* output = m.output + row * m.output_stride;
    float* kept = reinterpret_cast<float*>(kept_memory);
    const long long first = static_cast<long long>(threadIdx.x) * WIDTH;
    const long long step = static_cast<long long>(blockDim.x) * WIDTH;

    float local_max = -FLT_MAX;
    float local_sum = 0.0f;
    for (long long column = first; column < m.n_cols; column += step) {
        alignas(16) float x[WIDTH];
        load<WIDTH>(x, input, column, m.n_cols);
        if constexpr (IS_KEPT) store<WIDTH>(x, kept, column, m.n_cols);
        float higher = local_max;
        for (int i = 0; i < WIDTH; i++) higher = Max::combine(higher, x[i]);
        local_sum *= expf(local_max - higher);
        for (int i = 0; i < WIDTH; i++) local_sum += expf(x[i] - higher);
        local_max = higher;
    }
    const float max = block_reduce<Max>(local_max, maxima);
    const float inverse = 1.0f / block_reduce<Sum>(local_sum * expf(local_max - max), sums);

    for (long long column = first; column < m.n_cols; column += step) {
        alignas(16) float y[WIDTH];
        load<WIDTH>(y, IS_KEPT ? kept : input, column, m.n_cols);
        for (int i = 0; i < WIDTH; i++) y[i] = expf(y[i] - max) * inverse;
        store<WIDTH>(y, output, column, m.n_cols);
    }
}

// ---- the launch -----------------------------------------------------------------------------------------

int divide_up(int a, int b) { return a / b + (a % b != 0); }

template <int ITEMS, int WIDTH>
void launch_warps(const Matrices& m) {
    warp_per_row<ITEMS, WIDTH><<<divide_up(m.n_rows, WARPS_OF_ROWS), THREADS_OF_ROWS>>>(m);
}

template <int WIDTH>
void launch_long_rows(const Matrices& m) {
    int device = 0, available = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&available, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    const long long bytes = 4LL * m.n_cols;
    if (bytes + SHARED_RESERVE <= available) {
        cudaFuncSetAttribute(block_per_long_row<WIDTH, true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes));
        block_per_long_row<WIDTH, true><<<m.n_rows, MAX_THREADS, bytes>>>(m);
    } else {
        block_per_long_row<WIDTH, false><<<m.n_rows, MAX_THREADS>>>(m);
    }
}

template <int WIDTH>
void launch(const Matrices& m) {
    if (m.n_cols <= WARP_SIZE * WARP_ITEMS / 8) {
        launch_warps<WARP_ITEMS / 8, WIDTH>(m);
    } else if (m.n_cols <= WARP_SIZE * WARP_ITEMS / 4) {
        launch_warps<WARP_ITEMS / 4, WIDTH>(m);
    } else if (m.n_cols <= WARP_SIZE * WARP_ITEMS / 2) {
        launch_warps<WARP_ITEMS / 2, WIDTH>(m);
    } else if (m.n_cols <= WARP_SIZE * WARP_ITEMS) {
        launch_warps<WARP_ITEMS, WIDTH>(m);
    } else if (m.n_cols <= MAX_THREADS * BLOCK_ITEMS) {
        const int threads = divide_up(divide_up(m.n_cols, BLOCK_ITEMS), WARP_SIZE) * WARP_SIZE;
        block_per_row<WIDTH><<<m.n_rows, threads>>>(m);
    } else {
        launch_long_rows<WIDTH>(m);
    }
}

extern "C" void solve(const float* input, float* output, int n_rows, int n_cols, int input_row_stride,
                      int output_row_stride) {
    if (input == nullptr || output == nullptr || n_rows <= 0 || n_cols <= 0) return;
    const Matrices m{input, output, n_rows, n_cols, input_row_stride, output_row_stride};
    const bool is_aligned =
        (reinterpret_cast<uintptr_t>(input) | reinterpret_cast<uintptr_t>(output)) % 16 == 0;
    const bool are_rows_aligned = n_rows == 1 || (input_row_stride % 4 == 0 && output_row_stride % 4 == 0);
    if (is_aligned && are_rows_aligned) {
        launch<4>(m);
    } else {
        launch<1>(m);
    }
    cudaDeviceSynchronize();
}
