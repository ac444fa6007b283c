// problem: softmax_rows
//
// Softmax of every row of a matrix: a row is read once, kept on the chip, and written once, whatever its
// width.
//
// Idea     Who works on a row keeps it in registers, so that maximum, exponentials and sum need no second
//          look at memory. Who that is depends on the width: a team of a few lanes, a warp, a block, or a
//          cluster of up to 16 blocks, each of which takes a part and tells the others about it in their
//          shared memory. Each warp reduces its part to a pair (m, l), l = sum of exp(x - m); pairs combine
//          to M = max m and L = sum of l exp(m - M), so that one exchange, behind one barrier, serves both
//          maximum and sum.
// Launch   Rows of up to 2 KB: teams of 4 to 32 lanes, each with a row of its own, in blocks of 4 warps. Then
//          a block of as many warps as a row needs, 64 bytes a thread, from 8 KB on 128. Then clusters, of as
//          few blocks as hold a row: an exchange costs the more the more take part. Where rows are too few to
//          fill the GPU, more blocks share one. The GPU is asked how many may.
// Traffic  1 read and 1 write: the least there is. What exceeds a cluster's registers (2 MB), and on a GPU
//          without clusters a block's registers and its shared memory, is read twice.
// Access   16 bytes at a time where every row of input and output begins at a multiple of 16 bytes, else one
//          element. Each warp takes a part of the row in one piece. Loads and stores are plain ones: those
//          that tell the caches to keep nothing (`__ldcs`, `__stcs`) cost up to a tenth here.
// Limit    Memory bandwidth, given enough rows.
// Types    float here; softmax_rows_f16.cu and softmax_rows_bf16.cu include this file with another ELEMENT.
//          All arithmetic is in float32, rounded once. Halves stay packed while they wait, and their
//          exponentials are taken twice: registers are dearer than exponentials.
// Special  fmaxf ignores a NaN, but exp(NaN - m) puts it into the sum, as exp(inf - inf) does: the whole row
//          becomes NaN, and no other. A row of -inf alone gives NaN, too. As torch.softmax has it.
// No GPU   The CUDA-on-CPU layer gets no clusters: there a row beyond a block's registers waits in shared
//          memory or is read twice, as on a GPU before Hopper.
// Judge    python -m harness submit cuda/softmax_rows.cu

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>

// Clusters are asked for only where the compiler targets a GPU that has them.
#if !defined(CUDACPU) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define HAS_CLUSTERS 1
#endif

#ifndef ELEMENT
#define ELEMENT float
#endif
using Element = ELEMENT;

constexpr int PER_WORD = 4 / sizeof(Element);  // elements in 4 bytes, and
constexpr int WIDE = 16 / sizeof(Element);     // in the 16 bytes that a thread moves at once

constexpr int WARP_SIZE = 32;
constexpr int MAX_THREADS = 1024;
constexpr int MAX_WARPS = MAX_THREADS / WARP_SIZE;
constexpr int MAX_CLUSTER = 16;
constexpr unsigned FULL_WARP = 0xffffffff;

constexpr int TEAM_THREADS = 128;  // at most, of a block whose teams of lanes have a row each
constexpr int TEAM_WORDS = 16;     // at most, that a thread of it keeps
constexpr int SMALL_WORDS = 16;    // that a thread of a block keeps of a row of up to
constexpr int SMALL_COLUMNS = 2048 * PER_WORD;
constexpr int SMALL_THREADS = SMALL_COLUMNS / (SMALL_WORDS * PER_WORD);
constexpr int BLOCK_WORDS = 32;  // and of a wider one: all that its registers hold
constexpr int BLOCK_COLUMNS = MAX_THREADS * BLOCK_WORDS * PER_WORD;
constexpr int LEAST_PART = 2048;  // columns below which a row is not divided further among blocks
constexpr int TILE_WORDS = 16;    // of rows that registers do not hold, what a thread takes at once, and
constexpr int TILE = MAX_THREADS * TILE_WORDS * PER_WORD;  // what a block does
constexpr int SHARED_RESERVE = 8192;  // bytes of shared memory left to the pairs and to CUDA itself

// 64-bit strides: row * stride passes 2^31 in a matrix of more elements.
struct Matrices {
    const Element* input;
    Element* output;
    int n_rows;
    int n_cols;
    long long input_stride;
    long long output_stride;
};

struct Max {
    static __device__ float combine(float a, float b) { return fmaxf(a, b); }
};

struct Sum {
    static __device__ float combine(float a, float b) { return a + b; }
};

// Afterwards each of the TEAM neighbouring lanes holds the result of all of them.
template <typename Op, int TEAM = WARP_SIZE>
__device__ float reduce(float value) {
#pragma unroll
    for (int offset = TEAM / 2; offset > 0; offset /= 2) {
        value = Op::combine(value, __shfl_xor_sync(FULL_WARP, value, offset));
    }
    return value;
}

// exp(x - m) for x <= m, in three instructions. The difference comes first: m / ln 2 may overflow. Results
// below FLT_MIN become 0.
__device__ float exp_below(float x, float m) {
    const float exponent = (x - m) * 1.44269504f;
#ifdef __CUDA_ARCH__
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(exponent));
    return result;
#else
    return exp2f(exponent);
#endif
}

// ---- elements -------------------------------------------------------------------------------------------

// Elements stay in words of 4 bytes: one float, or two halves.
__device__ unsigned bits_of(Element element) {
    unsigned bits = 0;
    memcpy(&bits, &element, sizeof(element));
    return bits;
}

// Element `place` of a word.
__device__ float value_of(unsigned word, int place) {
    const unsigned bits = word >> place * 8 * sizeof(Element);
    Element element;
    memcpy(&element, &bits, sizeof(element));
    return static_cast<float>(element);
}

__device__ unsigned word_of(const float* values) {
    unsigned word = 0;
#pragma unroll
    for (int place = 0; place < PER_WORD; place++) {
        word |= bits_of(static_cast<Element>(values[place])) << place * 8 * sizeof(Element);
    }
    return word;
}

__device__ unsigned nothing() {
    const float values[2] = {-INFINITY, -INFINITY};
    return word_of(values);
}

// The compiler shall unpack halves again each time, and not keep them unpacked, in twice the registers.
__device__ void forget_unpacked(unsigned& word) {
#ifdef __CUDA_ARCH__
    if constexpr (PER_WORD > 1) asm volatile("" : "+r"(word));
#endif
}

__device__ void load_element(unsigned& word, int place, const Element* from) {
    const int shift = place * 8 * sizeof(Element);
    const unsigned others = PER_WORD == 1 ? 0 : word & ~(0xffffu << shift);
    word = others | bits_of(*from) << shift;
}

__device__ void store_element(Element* to, unsigned word, int place) {
    const unsigned bits = word >> place * 8 * sizeof(Element);
    Element element;
    memcpy(&element, &bits, sizeof(element));
    *to = element;
}

// A part of a row, of `length` elements, is dealt out to threads: WIDTH neighbouring elements to each, in
// turns. What lies behind it reads -inf: it is no maximum, and its exponential is 0.
template <int WORDS, int WIDTH, int TEAM>
__device__ void load(unsigned* x, const Element* part, int length, int lane) {
#pragma unroll
    for (int word = 0; word < WORDS; word++) x[word] = nothing();
    if constexpr (WIDTH == 1) {
#pragma unroll
        for (int i = 0; i < WORDS * PER_WORD; i++) {
            if (i * TEAM < length - lane) load_element(x[i / PER_WORD], i % PER_WORD, part + lane + i * TEAM);
        }
    } else {
        const uint4* from = reinterpret_cast<const uint4*>(part) + lane;
        const int whole = length / WIDE - lane;  // counted from this lane's first
#pragma unroll
        for (int word = 0; word < WORDS; word += 4) {
            if (word / 4 * TEAM >= whole) continue;
            const uint4 four = from[word / 4 * TEAM];
            x[word] = four.x, x[word + 1] = four.y, x[word + 2] = four.z, x[word + 3] = four.w;
        }
        if (length % WIDE != 0) {  // the last few, by one lane
            const int last = length / WIDE;
            unsigned tail[4] = {nothing(), nothing(), nothing(), nothing()};
            if (lane == last % TEAM) {
#pragma unroll
                for (int i = 0; i < WIDE; i++) {
                    if (i < length % WIDE)
                        load_element(tail[i / PER_WORD], i % PER_WORD, part + last * WIDE + i);
                }
            }
#pragma unroll
            for (int word = 0; word < WORDS; word++) {
                if (word / 4 == last / TEAM && lane == last % TEAM) x[word] = tail[word % 4];
            }
        }
    }
}

template <int WORDS, int WIDTH, int TEAM>
__device__ void store(const unsigned* y, Element* part, int length, int lane) {
    if constexpr (WIDTH == 1) {
#pragma unroll
        for (int i = 0; i < WORDS * PER_WORD; i++) {
            if (i * TEAM < length - lane)
                store_element(part + lane + i * TEAM, y[i / PER_WORD], i % PER_WORD);
        }
    } else {
        uint4* to = reinterpret_cast<uint4*>(part) + lane;
        const int whole = length / WIDE - lane;
#pragma unroll
        for (int word = 0; word < WORDS; word += 4) {
            if (word / 4 * TEAM >= whole) continue;
            to[word / 4 * TEAM] = make_uint4(y[word], y[word + 1], y[word + 2], y[word + 3]);
        }
        if (length % WIDE != 0) {
            const int last = length / WIDE;
            unsigned tail[4] = {};
#pragma unroll
            for (int word = 0; word < WORDS; word++) {
                if (word / 4 == last / TEAM) tail[word % 4] = y[word];
            }
            if (lane == last % TEAM) {
#pragma unroll
                for (int i = 0; i < WIDE; i++) {
                    if (i < length % WIDE)
                        store_element(part + last * WIDE + i, tail[i / PER_WORD], i % PER_WORD);
                }
            }
        }
    }
}

// The three steps between load and store. A float's place then holds its exponential; a half keeps its value.
constexpr bool KEEPS_EXPONENTIALS = PER_WORD == 1;

// The higher element in each place of two words. Where one is NaN that is the other.
__device__ unsigned higher(unsigned a, unsigned b) {
#ifdef PAIR
    PAIR pairs[2];
    memcpy(&pairs[0], &a, sizeof(a));
    memcpy(&pairs[1], &b, sizeof(b));
    pairs[0] = __hmax2(pairs[0], pairs[1]);
    memcpy(&a, &pairs[0], sizeof(a));
    return a;
#else
    const float value = fmaxf(value_of(a, 0), value_of(b, 0));
    return word_of(&value);
#endif
}

template <int WORDS>
__device__ float maximum(const unsigned* x) {
    unsigned word = nothing();
#pragma unroll
    for (int i = 0; i < WORDS; i++) word = higher(word, x[i]);
    return fmaxf(value_of(word, 0), value_of(word, PER_WORD - 1));
}

template <int WORDS>
__device__ float sum_of_exponentials(unsigned* x, float max) {
    float sum = 0.0f;
#pragma unroll
    for (int word = 0; word < WORDS; word++) {
        forget_unpacked(x[word]);
        float e[PER_WORD];
#pragma unroll
        for (int place = 0; place < PER_WORD; place++) {
            e[place] = exp_below(value_of(x[word], place), max);
            sum += e[place];
        }
        if constexpr (KEEPS_EXPONENTIALS) x[word] = word_of(e);
    }
    return sum;
}

template <int WORDS>
__device__ void scale(unsigned* x, float max, float factor) {
#pragma unroll
    for (int word = 0; word < WORDS; word++) {
        forget_unpacked(x[word]);
        float y[PER_WORD];
#pragma unroll
        for (int place = 0; place < PER_WORD; place++) {
            const float value = value_of(x[word], place);
            y[place] = (KEEPS_EXPONENTIALS ? value : exp_below(value, max)) * factor;
        }
        x[word] = word_of(y);
    }
}

// ---- narrow rows: a team of lanes has a row ---------------------------------------------------------------

constexpr int TEAM_BLOCKS = 12;  // that shall fit on an SM at once: so a thread may take 40 registers.
                                 // (sm_75 holds fewer threads: ptxas says that it ignores such a wish.)

template <int TEAM, int WORDS, int WIDTH>
__global__ void __launch_bounds__(TEAM_THREADS, TEAM_BLOCKS) team_per_row(Matrices m) {
    const long long row = static_cast<long long>(blockIdx.x) * (blockDim.x / TEAM) + threadIdx.x / TEAM;
    const int n_cols = row < m.n_rows ? m.n_cols : 0;  // nobody may be missing from a shuffle
    const int lane = threadIdx.x % TEAM;
    unsigned x[WORDS];
    load<WORDS, WIDTH, TEAM>(x, m.input + row * m.input_stride, n_cols, lane);
    const float max = reduce<Max, TEAM>(maximum<WORDS>(x));
    const float sum = reduce<Sum, TEAM>(sum_of_exponentials<WORDS>(x, max));
    scale<WORDS>(x, max, 1.0f / sum);
    store<WORDS, WIDTH, TEAM>(x, m.output + row * m.output_stride, n_cols, lane);
}

// ---- wider rows: a block, or the blocks of a cluster, have one ------------------------------------------

// The blocks that share a row, and how they tell each other. Without clusters a block is alone.
template <bool IS_CLUSTER>
struct Company {
    int size = 1;
    int rank = 0;

    __device__ Company() {
#ifdef HAS_CLUSTERS
        if constexpr (IS_CLUSTER) {
            size = __clusterSizeInBlocks();
            rank = __clusterRelativeBlockRank();
            __cluster_barrier_arrive_relaxed();  // `exchange` waits for it: all have begun
        }
#endif
    }

    // Each warp gives the pair (max, sum) of its elements. Returns (M, 1 / L) of the whole row.
    __device__ float2 exchange(float max, float sum) const {
        __shared__ float2 pairs[MAX_WARPS * (IS_CLUSTER ? MAX_CLUSTER : 1)];
        const int warps = blockDim.x / WARP_SIZE;
        const int warp = threadIdx.x / WARP_SIZE;
        const int lane = threadIdx.x % WARP_SIZE;
#ifdef HAS_CLUSTERS
        if constexpr (IS_CLUSTER) {
            // A block may write to another's shared memory as soon as that one has begun, and nobody reads it
            // but its owner: the barrier in between is the only other one, and blocks may end when they like.
            __cluster_barrier_wait();
            if (lane < size) {
                void* theirs = __cluster_map_shared_rank(pairs + rank * warps + warp, lane);
                *static_cast<float2*>(theirs) = make_float2(max, sum);
            }
            __cluster_barrier_arrive();
            __cluster_barrier_wait();
        }
#endif
        if constexpr (!IS_CLUSTER) {
            if (lane == 0) pairs[warp] = make_float2(max, sum);
            __syncthreads();
        }
        float total_max = -INFINITY;
        for (int i = lane; i < size * warps; i += WARP_SIZE) total_max = fmaxf(total_max, pairs[i].x);
        total_max = reduce<Max>(total_max);
        float total = 0.0f;
        for (int i = lane; i < size * warps; i += WARP_SIZE)
            total += pairs[i].y * exp_below(pairs[i].x, total_max);
        return make_float2(total_max, 1.0f / reduce<Sum>(total));
    }
};

// What is subtracted in a part of a row: 0 where there was only -inf, since -inf - -inf is no number.
__device__ float shift(float max) { return max == -INFINITY ? 0.0f : max; }

// Elements of a warp whose lanes keep WORDS words each.
template <int WORDS>
constexpr int chunk = WARP_SIZE * WORDS * PER_WORD;

// Threads at most, and blocks that shall fit on an SM at once: 2,048 threads of 32 registers, or half as many
// of 64.
constexpr int most_threads(int words) { return words <= SMALL_WORDS ? SMALL_THREADS : MAX_THREADS; }
constexpr int least_blocks(int words) { return words <= SMALL_WORDS ? 2048 / SMALL_THREADS : 1; }

template <int WORDS, int WIDTH, bool IS_CLUSTER>
__global__ void __launch_bounds__(most_threads(WORDS), least_blocks(WORDS))
    block_per_row(Matrices m, int part) {
    const Company<IS_CLUSTER> company;
    const long long row = blockIdx.x / company.size;
    const long long begin =
        static_cast<long long>(company.rank) * part + threadIdx.x / WARP_SIZE * chunk<WORDS>;
    const long long end = min(static_cast<long long>(m.n_cols), (company.rank + 1LL) * part);
    const int length = static_cast<int>(max(0LL, min(static_cast<long long>(chunk<WORDS>), end - begin)));
    const int lane = threadIdx.x % WARP_SIZE;
    unsigned x[WORDS];
    load<WORDS, WIDTH, WARP_SIZE>(x, m.input + row * m.input_stride + begin, length, lane);
    const float warp_max = reduce<Max>(maximum<WORDS>(x));
    const float warp_shift = shift(warp_max);
    const float warp_sum = reduce<Sum>(sum_of_exponentials<WORDS>(x, warp_shift));
    const float2 whole = company.exchange(warp_max, warp_sum);
    if constexpr (KEEPS_EXPONENTIALS) {
        scale<WORDS>(x, 0.0f, exp_below(warp_max, whole.x) * whole.y);
    } else {
        scale<WORDS>(x, whole.x, whole.y);
    }
    store<WORDS, WIDTH, WARP_SIZE>(x, m.output + row * m.output_stride + begin, length, lane);
}

// ---- rows that registers do not hold --------------------------------------------------------------------

// What is left of a row, at most a warp's chunk.
__device__ int length_at(long long column, long long end) {
    return static_cast<int>(min(static_cast<long long>(chunk<TILE_WORDS>), end - column));
}

// Each thread keeps (m, l) of what it has read. For the next elements with maximum m_b: m' = max(m, m_b),
// l' = l * exp(m - m') + sum exp(x - m'). With IS_KEPT what was read stays in shared memory for the second
// walk; a thread meets its own elements there, so that no barrier is needed.
template <int WIDTH, bool IS_CLUSTER, bool IS_KEPT>
__global__ void __launch_bounds__(MAX_THREADS) block_per_long_row(Matrices m, int part) {
    extern __shared__ unsigned kept[];
    const Company<IS_CLUSTER> company;
    const long long row = blockIdx.x / company.size;
    const long long begin =
        static_cast<long long>(company.rank) * part + threadIdx.x / WARP_SIZE * chunk<TILE_WORDS>;
    const long long end = min(static_cast<long long>(m.n_cols), (company.rank + 1LL) * part);
    const int lane = threadIdx.x % WARP_SIZE;
    const Element* input = m.input + row * m.input_stride;
    Element* output = m.output + row * m.output_stride;
    unsigned x[TILE_WORDS];

    float local_max = -INFINITY;
    float local_sum = 0.0f;
    int tile = 0;
    for (long long column = begin; column < end; column += TILE, tile++) {
        load<TILE_WORDS, WIDTH, WARP_SIZE>(x, input + column, length_at(column, end), lane);
        if constexpr (IS_KEPT) {
            for (int i = 0; i < TILE_WORDS; i++)
                kept[(tile * TILE_WORDS + i) * MAX_THREADS + threadIdx.x] = x[i];
        }
        const float higher = fmaxf(local_max, maximum<TILE_WORDS>(x));
        local_sum *= exp_below(local_max, shift(higher));
        local_sum += sum_of_exponentials<TILE_WORDS>(x, shift(higher));
        local_max = higher;
    }
    const float warp_max = reduce<Max>(local_max);
    const float warp_sum = reduce<Sum>(local_sum * exp_below(local_max, shift(warp_max)));
    const float2 whole = company.exchange(warp_max, warp_sum);

    tile = 0;
    for (long long column = begin; column < end; column += TILE, tile++) {
        if constexpr (IS_KEPT) {
            for (int i = 0; i < TILE_WORDS; i++)
                x[i] = kept[(tile * TILE_WORDS + i) * MAX_THREADS + threadIdx.x];
        } else {
            load<TILE_WORDS, WIDTH, WARP_SIZE>(x, input + column, length_at(column, end), lane);
        }
        if constexpr (KEEPS_EXPONENTIALS) sum_of_exponentials<TILE_WORDS>(x, whole.x);
        scale<TILE_WORDS>(x, whole.x, whole.y);
        store<TILE_WORDS, WIDTH, WARP_SIZE>(x, output + column, length_at(column, end), lane);
    }
}

// ---- the launch -----------------------------------------------------------------------------------------

int divide_up(int a, int b) { return a / b + (a % b != 0); }

struct Gpu {
    int sms;
    int shared_bytes;  // that a block may have
    bool has_clusters;
};

Gpu describe_gpu() {
    int device = 0, sms = 0, shared_bytes = 0, clusters = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
#ifndef CUDACPU
    cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device);
#endif
    return {sms, shared_bytes, clusters != 0};
}

// Columns of a row that each of the blocks of a cluster takes: whole lines of 128 bytes.
int part_of(int n_cols, int blocks) {
    const long long line = 32 * PER_WORD;
    const long long part = (divide_up(n_cols, blocks) + line - 1) / line * line;
    return static_cast<int>(part < INT32_MAX ? part : INT32_MAX / line * line);
}

// How many blocks share a row: as few as hold it, and more where rows are few.
int blocks_per_row(int n_rows, int n_cols, int sms, int largest_cluster) {
    int blocks = 1;
    while (blocks < largest_cluster && part_of(n_cols, blocks) > BLOCK_COLUMNS) blocks *= 2;
    while (blocks < largest_cluster && static_cast<long long>(n_rows) * blocks < sms &&
           n_cols / (2 * blocks) >= LEAST_PART) {
        blocks *= 2;
    }
    return blocks;
}

template <int WORDS>
int block_threads(int part) {
    return divide_up(part, chunk<WORDS>) * WARP_SIZE;
}

#ifdef CUDACPU

template <typename Kernel>
int largest_cluster(Kernel, const Gpu&) {
    return 1;
}

template <typename Kernel>
void launch_cluster(Kernel, const Matrices&, int, int) {}

#else

struct ClusterLaunch {
    cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t config{};

    ClusterLaunch(int rows, int threads, int blocks) {
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
        config.gridDim = static_cast<unsigned>(rows) * blocks;
        config.blockDim = threads;
        config.attrs = &attribute;
        config.numAttrs = 1;
    }
};

// The largest cluster of whole blocks that this GPU, or the part of it that is ours, can hold; 1 without
// clusters.
template <typename Kernel>
int largest_cluster(Kernel kernel, const Gpu& gpu) {
    if (!gpu.has_clusters) return 1;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);  // more than 8
    for (int blocks = MAX_CLUSTER; blocks > 1; blocks /= 2) {
        ClusterLaunch launch(1, MAX_THREADS, blocks);
        int clusters = 0;
        if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config) == cudaSuccess &&
            clusters > 0) {
            return blocks;
        }
        cudaGetLastError();  // a refused size is an answer and no error
    }
    return 1;
}

template <typename Kernel>
void launch_cluster(Kernel kernel, const Matrices& m, int threads, int blocks) {
    ClusterLaunch launch(m.n_rows, threads, blocks);
    cudaLaunchKernelEx(&launch.config, kernel, m, part_of(m.n_cols, blocks));
}

#endif

template <int TEAM, int WORDS, int WIDTH>
void launch_teams(const Matrices& m, const Gpu& gpu) {
    int threads = TEAM_THREADS;
    while (threads > WARP_SIZE && m.n_rows / (threads / TEAM) < gpu.sms) threads /= 2;
    team_per_row<TEAM, WORDS, WIDTH><<<divide_up(m.n_rows, threads / TEAM), threads>>>(m);
}

template <int WIDTH>
void launch_blocks(const Matrices& m, const Gpu& gpu) {
    const auto cluster_kernel = block_per_row<BLOCK_WORDS, WIDTH, true>;
    const bool may_share = m.n_cols > BLOCK_COLUMNS || m.n_rows < gpu.sms;
    const int largest = may_share ? largest_cluster(cluster_kernel, gpu) : 1;
    const int blocks = blocks_per_row(m.n_rows, m.n_cols, gpu.sms, largest);
    const int part = part_of(m.n_cols, blocks);
    if (part <= BLOCK_COLUMNS && blocks > 1) {
        launch_cluster(cluster_kernel, m, block_threads<BLOCK_WORDS>(part), blocks);
    } else if (part <= SMALL_COLUMNS) {
        block_per_row<SMALL_WORDS, WIDTH, false><<<m.n_rows, block_threads<SMALL_WORDS>(part)>>>(m, part);
    } else if (part <= BLOCK_COLUMNS) {
        block_per_row<BLOCK_WORDS, WIDTH, false><<<m.n_rows, block_threads<BLOCK_WORDS>(part)>>>(m, part);
    } else if (blocks > 1) {
        const auto long_kernel = block_per_long_row<WIDTH, true, false>;
        launch_cluster(long_kernel, m, MAX_THREADS, largest_cluster(long_kernel, gpu));
    } else {
        const long long bytes = (part + TILE - 1LL) / TILE * TILE * sizeof(Element);
        if (bytes + SHARED_RESERVE <= gpu.shared_bytes) {
            cudaFuncSetAttribute(block_per_long_row<WIDTH, false, true>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
            block_per_long_row<WIDTH, false, true><<<m.n_rows, MAX_THREADS, bytes>>>(m, part);
        } else {
            block_per_long_row<WIDTH, false, false><<<m.n_rows, MAX_THREADS>>>(m, part);
        }
    }
}

template <int WIDTH>
void launch(const Matrices& m) {
    const Gpu gpu = describe_gpu();
    const int words = divide_up(m.n_cols, PER_WORD);
    if (words <= 4 * 4) {
        launch_teams<4, 4, WIDTH>(m, gpu);
    } else if (words <= 4 * TEAM_WORDS) {
        launch_teams<4, TEAM_WORDS, WIDTH>(m, gpu);
    } else if (words <= 8 * TEAM_WORDS) {
        launch_teams<8, TEAM_WORDS, WIDTH>(m, gpu);
    } else if (words <= 16 * TEAM_WORDS) {
        launch_teams<16, TEAM_WORDS, WIDTH>(m, gpu);
    } else if (words <= 32 * TEAM_WORDS) {
        launch_teams<32, TEAM_WORDS, WIDTH>(m, gpu);
    } else {
        launch_blocks<WIDTH>(m, gpu);
    }
}

extern "C" void solve(const Element* input, Element* output, int n_rows, int n_cols, int input_row_stride,
                      int output_row_stride) {
    if (input == nullptr || output == nullptr || n_rows <= 0 || n_cols <= 0) return;
    const Matrices m{input, output, n_rows, n_cols, input_row_stride, output_row_stride};
    const bool is_aligned =
        (reinterpret_cast<uintptr_t>(input) | reinterpret_cast<uintptr_t>(output)) % 16 == 0;
    const bool are_rows_aligned =
        n_rows == 1 || (input_row_stride % WIDE == 0 && output_row_stride % WIDE == 0);
    if (is_aligned && are_rows_aligned) {
        launch<WIDE>(m);
    } else {
        launch<1>(m);
    }
    cudaDeviceSynchronize();
}
