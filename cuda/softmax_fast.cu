// problem: softmax
//
// Softmax of one vector with the whole GPU in one kernel: what a block has read it keeps, and the blocks tell
// each other two numbers.
//
// Idea     A block reads its share once and keeps the exponentials in registers, taken relative to a maximum
//          of a few elements of its own. All that it must learn of the others is (m, l), the maximum of
//          everything and the sum of exp(x - m): then one multiplication turns a kept exponential into a
//          result. (m, l) of two parts combine into that of both: m = max(m1, m2) and
//          l = l1 exp(m1 - m) + l2 exp(m2 - m).
// Launch   By size. Up to 4,096 elements one block. Where the GPU has clusters, up to 65,536 one cluster of 8
//          or 16 blocks, which write their (m, l) into each other's shared memory. Beyond that a grid of at
//          most one block per multiprocessor, which exchanges (m, l) through slots in global memory. What
//          registers do not hold waits in shared memory, filled by bulk copies that run beside the
//          arithmetic; what that does not hold is read a second time, backwards, since what was read last is
//          still in the L2, which all other accesses of that kernel leave to it.
// Traffic  1 read and 1 write while the vector fits on the chip (132 multiprocessors: 11.9 million elements),
//          2 reads and 1 write of what is beyond that, less what the L2 still has.
// Limit    Up to some ten thousand elements latency: launch, memory, exchange, one after the other. Then the
//          bandwidth of memory; between the last read and the first write nothing moves for as long as an
//          exchange takes.
// Special  fmaxf ignores a NaN, but exp(NaN - m) puts it into the sum, as exp(inf - inf) does, and every
//          output becomes NaN. The maximum of nothing is -FLT_MAX: of -inf alone the sum is 0, and
//          0 * (1 / 0) is NaN. As torch.softmax has it.
// Judge    python -m harness submit cuda/softmax_fast.cu
//
// Why no stale slot is taken, and why nobody waits for ever
//   A slot holds 16 bytes, (m, l) and the number of the call, written and read as one: it is data and flag at
//   once, needs no fence, and nobody has to clear it. The number comes from a 64-bit counter of the process,
//   so no two calls ever have the same, and slots start as 0, which no call has. A block takes a slot only
//   with its own call's number. Whatever an earlier call left there, a killed one or one at the same time on
//   another stream, has another number. (Another process has slots of its own.) A block that waits in vain,
//   because the others are not on the GPU, which somebody shares, or because a call at the same time has
//   overwritten the slot, reads the missing part of the input itself, publishes (m, l) in the other's place,
//   and goes on. It never waits for that part again. So each block ends after at most as many such rounds as
//   there are blocks, whether or not any other block runs, and a grid that is not resident as a whole is slow
//   instead of stuck. On the CPU, where blocks run one after another, this is the usual way.

#include <cuda_runtime.h>

#include <atomic>
#include <cfloat>
#include <cmath>
#include <cstdint>

constexpr int WARP_SIZE = 32;
constexpr unsigned FULL_WARP = 0xffffffff;
constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / WARP_SIZE;
constexpr int MAX_BLOCKS = 256;  // of a grid: each has a slot, and a thread of every block looks at it
constexpr int CLUSTER_THREADS = 512;
constexpr int PORTABLE_CLUSTER = 8;  // blocks, which every GPU with clusters allows
constexpr int MAX_CLUSTER = 16;
constexpr int CHUNK = 8;  // elements whose exponentials are taken relative to the same maximum
constexpr int SETS = 16;  // of slots: so many calls at the same time do not disturb each other

// Of the kernel for long vectors. 128 registers a thread, 64 of them for elements.
constexpr int LONG_THREADS = 512;
constexpr int LONG_ITEMS = 64;
constexpr int LONG_CHUNK = 16;
constexpr int SHARED_GROUP = 4;       // tiles of shared memory that are worked on at once
constexpr int REST_GROUP = 8;         // tiles in flight of what is read twice
constexpr int MAX_SHARED_TILES = 56;  // each has a barrier
constexpr int SHARED_RESERVE = 2048;  // bytes left to other variables and to CUDA itself

// How often a block looks at a slot, some 50 ms, before it computes what should be there: longer than a GPU
// that one has for oneself needs to read its memory once.
#ifdef CUDACPU
constexpr int PATIENCE = 0;  // blocks run one after another
#else
constexpr int PATIENCE = 1 << 17;
#endif

#if !defined(CUDACPU) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool HAS_BULK_COPY = true;
#else
constexpr bool HAS_BULK_COPY = false;
#endif

struct Task {
    const float* input;
    float* output;
    int N;
    unsigned long long call;
};

// The maximum of some elements, and the sum of exp(x - m) over them.
struct Partial {
    float m, l;
};

__device__ Partial nothing() { return {-FLT_MAX, 0.0f}; }

// A line each: all blocks ask for all slots at once, and this spreads them over the L2.
struct alignas(128) Slot {
    unsigned long long partial, call;
};

__device__ Slot slots[SETS][MAX_BLOCKS];

// ---- arithmetic -----------------------------------------------------------------------------------------

// exp in one multiplication and one instruction, to 2 units in the last place and |x| roundings more; results
// below 2^-126 are 0.
__device__ float exp_of(float x) {
    constexpr float LOG2_E = 1.44269504f;
#ifdef CUDACPU
    return exp2f(x * LOG2_E);
#else
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * LOG2_E));
    return y;
#endif
}

__device__ Partial combine(Partial a, Partial b) {
    const float m = fmaxf(a.m, b.m);
    return {m, a.l * exp_of(a.m - m) + b.l * exp_of(b.m - m)};
}

// Replaces x by exp(x - m), with m the maximum of these alone, and adds them to `sum`. Returns m.
template <int COUNT>
__device__ float add(Partial& sum, float* x) {
    float m = -FLT_MAX;
    float l = 0.0f;
#pragma unroll
    for (int i = 0; i < COUNT; i++) m = fmaxf(m, x[i]);
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        x[i] = exp_of(x[i] - m);
        l += x[i];
    }
    sum = combine(sum, {m, l});
    return m;
}

__device__ float warp_max(float x) {
#if defined(CUDACPU) || __CUDA_ARCH__ >= 800
    // One instruction does it for integers, and these are in the order of the numbers.
    const int bits = __float_as_int(x);
    const int key = __reduce_max_sync(FULL_WARP, bits ^ ((bits >> 31) & 0x7fffffff));
    return __int_as_float(key ^ ((key >> 31) & 0x7fffffff));
#else
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
        x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, offset));
    }
    return x;
#endif
}

// Afterwards every lane holds the result of its warp.
__device__ Partial warp_combine(Partial p) {
    const float m = warp_max(p.m);
    float l = p.l * exp_of(p.m - m);
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) l += __shfl_xor_sync(FULL_WARP, l, offset);
    return {m, l};
}

// ---- memory: WIDTH elements at once, 4 where input and output are aligned for it, else 1 ----------------

// What is used ONCE need not stay in a cache.
enum Use { ONCE, AGAIN };

// What lies behind the vector reads -inf: it is no maximum, and its exponential is 0.
template <int WIDTH, Use USE = AGAIN>
__device__ void load(float* x, const float* input, long long first, int N) {
    if constexpr (WIDTH == 4) {
        if (first + 4 <= N) {
            const float4* from = reinterpret_cast<const float4*>(input + first);
            *reinterpret_cast<float4*>(x) = USE == ONCE ? __ldcs(from) : *from;
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < WIDTH; i++) x[i] = first + i < N ? input[first + i] : -INFINITY;
}

template <int WIDTH, Use USE = AGAIN>
__device__ void store(const float* y, float* output, long long first, int N) {
    if constexpr (WIDTH == 4) {
        if (first + 4 <= N) {
            const float4 value = *reinterpret_cast<const float4*>(y);
            float4* to = reinterpret_cast<float4*>(output + first);
            if constexpr (USE == ONCE) {
                __stcs(to, value);
            } else {
                *to = value;
            }
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
        if (first + i < N) output[first + i] = y[i];
    }
}

// The vector is dealt out in tiles of WIDTH elements a thread, one to each block in turn.
template <int WIDTH>
struct Deal {
    int block;

    static __device__ int size() { return blockDim.x * WIDTH; }
    __device__ long long tile(int round) const {
        return (static_cast<long long>(round) * gridDim.x + block) * size();
    }
    __device__ long long first(int round) const { return tile(round) + threadIdx.x * WIDTH; }
};

template <int WIDTH, int ROUNDS, Use USE = AGAIN>
__device__ void load_rounds(float* x, const Task& task, Deal<WIDTH> deal, int round) {
#pragma unroll
    for (int i = 0; i < ROUNDS; i++)
        load<WIDTH, USE>(x + i * WIDTH, task.input, deal.first(round + i), task.N);
}

// The compiler does not know that this is its argument. Else it would keep the offsets of the loads for the
// stores, in more registers than there are.
__device__ int hidden(int x) {
#ifndef CUDACPU
    asm volatile("" : "+r"(x));
#endif
    return x;
}

template <int WIDTH, int ROUNDS, Use USE = AGAIN>
__device__ void store_rounds(const float* y, const Task& task, Deal<WIDTH> deal, int round) {
    deal.block = hidden(deal.block);
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
        store<WIDTH, USE>(y + i * WIDTH, task.output, deal.first(round + i), task.N);
    }
}

// ---- what Hopper has ------------------------------------------------------------------------------------

#if !defined(CUDACPU) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }

__device__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Writes what is at `p` in this block into the same variable of block `rank` of the cluster.
__device__ void store_in_cluster(Partial* p, unsigned rank, Partial value) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(p)), "r"(rank));
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(value.m), "f"(value.l)
                 : "memory");
}

// A barrier in shared memory that opens once, when the copy that names it has come.
__device__ void init_barrier(unsigned long long* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}

__device__ void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ void wait_at_barrier(unsigned long long* barrier) {
    unsigned is_open = 0;
    while (!is_open) {
        asm volatile(
            "{\n"
            ".reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
            "selp.u32 %0, 1, 0, p;\n"
            "}"
            : "=r"(is_open)
            : "r"(shared_address(barrier))
            : "memory");
    }
}

// Both addresses and `bytes` are multiples of 16. Of no bytes at all the barrier opens at once.
__device__ void bulk_copy(void* to, const void* from, unsigned bytes, unsigned long long* barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
    if (bytes == 0) return;
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}
#else
// Never called: calls depend on HAS_BULK_COPY, and kernels for clusters are not launched.
__device__ void cluster_arrive() {}
__device__ void cluster_wait() {}
__device__ void store_in_cluster(Partial*, unsigned, Partial) {}
__device__ void init_barrier(unsigned long long*) {}
__device__ void publish_barriers() {}
__device__ void wait_at_barrier(unsigned long long*) {}
__device__ void bulk_copy(void*, const void*, unsigned, unsigned long long*) {}
#endif

// ---- slots ----------------------------------------------------------------------------------------------

__device__ void publish(Slot* slot, Partial p, unsigned long long call) {
    const unsigned long long partial =
        static_cast<unsigned long long>(__float_as_uint(p.l)) << 32 | __float_as_uint(p.m);
#ifdef CUDACPU
    // There are no 128-bit accesses: the number comes last.
    *const_cast<volatile unsigned long long*>(&slot->partial) = partial;
    __threadfence();
    *const_cast<volatile unsigned long long*>(&slot->call) = call;
#else
    asm volatile(
        "{\n"
        ".reg .b128 both;\n"
        "mov.b128 both, {%1, %2};\n"
        "st.relaxed.gpu.global.b128 [%0], both;\n"
        "}" ::"l"(slot),
        "l"(partial), "l"(call)
        : "memory");
#endif
}

// Whether the slot has what the call wants; if so, `p` is that.
__device__ bool look(const Slot* slot, unsigned long long wanted, Partial& p) {
    unsigned long long partial, call;
#ifdef CUDACPU
    call = *const_cast<const volatile unsigned long long*>(&slot->call);
    __threadfence();
    partial = *const_cast<const volatile unsigned long long*>(&slot->partial);
#else
    asm volatile(
        "{\n"
        ".reg .b128 both;\n"
        "ld.relaxed.gpu.global.b128 both, [%2];\n"
        "mov.b128 {%0, %1}, both;\n"
        "}"
        : "=l"(partial), "=l"(call)
        : "l"(slot)
        : "memory");
#endif
    if (call != wanted) return false;
    p = {__uint_as_float(static_cast<unsigned>(partial)),
         __uint_as_float(static_cast<unsigned>(partial >> 32))};
    return true;
}

// Slots that have left the L2 are brought back while the elements are on their way.
__device__ void prefetch(const Slot* slot) {
#ifndef CUDACPU
    asm volatile("prefetch.global.L2 [%0];" ::"l"(slot));
#endif
}

// ---- exchange: what each thread has becomes what all of them have -----------------------------------------

enum Team { BLOCK, CLUSTER, GRID };

// Afterwards warp 0 holds the result of its block. `partials` has room for each warp.
__device__ Partial block_combine(Partial p, Partial* partials) {
    const int lane = threadIdx.x % WARP_SIZE;
    p = warp_combine(p);
    if (lane == 0) partials[threadIdx.x / WARP_SIZE] = p;
    __syncthreads();
    if (threadIdx.x < WARP_SIZE) {
        p = warp_combine(lane < blockDim.x / WARP_SIZE ? partials[lane] : nothing());
    }
    return p;
}

// Every warp combines the results of all: one barrier, and nobody waits for a first warp.
__device__ Partial exchange_in_block(Partial p) {
    __shared__ Partial partials[WARPS];
    const int lane = threadIdx.x % WARP_SIZE;
    p = warp_combine(p);
    if (lane == 0) partials[threadIdx.x / WARP_SIZE] = p;
    __syncthreads();
    return warp_combine(lane < blockDim.x / WARP_SIZE ? partials[lane] : nothing());
}

// Every block writes its result to all. Its warps come together first: the fewer stores cross the cluster,
// the better, even if that takes one more barrier.
__device__ Partial exchange_in_cluster(Partial p) {
    __shared__ Partial own[WARPS];
    __shared__ Partial partials[MAX_CLUSTER];
    const int lane = threadIdx.x % WARP_SIZE;
    p = block_combine(p, own);
    cluster_wait();  // for the arrival at the kernel's begin: all blocks are there
    if (threadIdx.x < gridDim.x) store_in_cluster(partials + blockIdx.x, threadIdx.x, p);
    cluster_arrive();
    cluster_wait();
    return warp_combine(lane < gridDim.x ? partials[lane] : nothing());
}

// This thread's share of what a block has to read, read by this one in its place.
template <int WIDTH>
__device__ Partial read_again(const Task& task, int block) {
    const Deal<WIDTH> deal{block};
    Partial sum = nothing();
    for (int round = 0; deal.tile(round) < task.N; round++) {
        alignas(16) float x[WIDTH];
        load<WIDTH>(x, task.input, deal.first(round), task.N);
        add<WIDTH>(sum, x);
    }
    return sum;
}

// Thread i waits for the partial result of block i; those that wait in vain are helped, one at a time.
template <int WIDTH>
__device__ Partial exchange_in_grid(Partial p, const Task& task) {
    __shared__ Partial partials[WARPS];
    __shared__ Partial sums[MAX_BLOCKS / WARP_SIZE];
    __shared__ Partial help;
    __shared__ int missing;
    Slot* set = slots[task.call % SETS];
    const int warp = threadIdx.x / WARP_SIZE;

    p = block_combine(p, partials);
    if (threadIdx.x == 0) publish(set + blockIdx.x, p, task.call);
    __syncwarp();

    Partial part = nothing();
    bool is_waiting = threadIdx.x < gridDim.x;
    int patience = PATIENCE;
    for (;;) {
        if (warp * WARP_SIZE < gridDim.x) {
            for (int i = 0; is_waiting && i <= patience; i++) {
                is_waiting = !look(set + threadIdx.x, task.call, part);
            }
            if (is_waiting) atomicExch(&missing, static_cast<int>(threadIdx.x));
            const Partial sum = warp_combine(part);
            if (threadIdx.x % WARP_SIZE == 0) sums[warp] = sum;
        }
        if (!__syncthreads_or(is_waiting)) break;

        const int block = missing;
        p = block_combine(read_again<WIDTH>(task, block), partials);
        if (threadIdx.x == 0) {
            help = p;
            publish(set + block, p, task.call);
        }
        __syncthreads();
        if (threadIdx.x == block) {
            part = help;
            is_waiting = false;
        }
        patience = 0;
    }
    p = sums[0];
    for (int i = 1; i * WARP_SIZE < gridDim.x; i++) p = combine(p, sums[i]);
    return p;
}

// ---- vectors that registers hold ------------------------------------------------------------------------

template <int COUNT>
__device__ void scale(float* e, float factor) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) e[i] *= factor;
}

template <Team TEAM, int ITEMS>
__global__ void __launch_bounds__(THREADS, 1) softmax_kernel(Task task) {
    constexpr int WIDTH = 4;
    constexpr int ROUNDS = ITEMS / WIDTH;
    constexpr int SIZE = ITEMS < CHUNK ? ITEMS : CHUNK;
    constexpr int CHUNKS = ITEMS / SIZE;
    const Deal<WIDTH> deal{static_cast<int>(blockIdx.x)};
    if constexpr (TEAM == CLUSTER) cluster_arrive();
    if constexpr (TEAM == GRID) {
        if (threadIdx.x == 0) prefetch(slots[task.call % SETS] + blockIdx.x);
    }

    // Loads first, all of them; each chunk is worked on as soon as it has come.
    alignas(16) float x[ITEMS];
    load_rounds<WIDTH, ROUNDS, ONCE>(x, task, deal, 0);
    Partial sum = nothing();
    float maxima[CHUNKS];
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) maxima[i] = add<SIZE>(sum, x + i * SIZE);

    if constexpr (TEAM == GRID) {
        sum = exchange_in_grid<WIDTH>(sum, task);
    } else if constexpr (TEAM == CLUSTER) {
        sum = exchange_in_cluster(sum);
    } else {
        sum = exchange_in_block(sum);
    }

    const float inverse = 1.0f / sum.l;
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) scale<SIZE>(x + i * SIZE, exp_of(maxima[i] - sum.m) * inverse);
    store_rounds<WIDTH, ROUNDS>(x, task, deal, 0);
}

// ---- vectors that they do not hold ----------------------------------------------------------------------

// COUNT elements as they were read become results.
template <int COUNT>
__device__ void finish(float* x, Partial sum, float inverse) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) x[i] = exp_of(x[i] - sum.m) * inverse;
}

// The first rounds of each block stay in registers, the next `shared_rounds` in shared memory, the rest is
// read twice.
template <int ITEMS, int WIDTH>
__global__ void __launch_bounds__(LONG_THREADS, 1) long_softmax_kernel(Task task, int shared_rounds) {
    constexpr int ROUNDS = ITEMS / WIDTH;
    constexpr int CHUNKS = ITEMS / LONG_CHUNK;
    constexpr bool IS_BULK = HAS_BULK_COPY && WIDTH == 4;
    extern __shared__ float4 kept_memory[];
    __shared__ unsigned long long barriers[MAX_SHARED_TILES];
    const Deal<WIDTH> deal{static_cast<int>(blockIdx.x)};
    const int shared_end = ROUNDS + shared_rounds;
    // A thread meets its own elements in shared memory, so that no barrier of the block is needed.
    float* kept = reinterpret_cast<float*>(kept_memory) + threadIdx.x * WIDTH;
    const int tile = deal.size();

    if (threadIdx.x == 0) {
        prefetch(slots[task.call % SETS] + blockIdx.x);
        if constexpr (IS_BULK) {
            for (int i = 0; i < shared_rounds; i++) init_barrier(barriers + i);
            publish_barriers();
            for (int i = 0; i < shared_rounds; i++) {
                const long long begin = deal.tile(ROUNDS + i);
                const long long left = task.N - begin;
                const int vectors = left >= tile ? tile / WIDTH
                                    : left > 0   ? static_cast<int>(left) / WIDTH
                                                 : 0;
                bulk_copy(kept + i * tile, task.input + begin, vectors * 16, barriers + i);
            }
        }
    }
    alignas(16) float x[ITEMS];
    load_rounds<WIDTH, ROUNDS, ONCE>(x, task, deal, 0);
    if constexpr (IS_BULK) __syncthreads();  // the barriers are there
    Partial sum = nothing();
    float maxima[CHUNKS];
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) maxima[i] = add<LONG_CHUNK>(sum, x + i * LONG_CHUNK);

    for (int round = ROUNDS; round < shared_end && deal.tile(round) < task.N; round += SHARED_GROUP) {
        alignas(16) float v[SHARED_GROUP * WIDTH];
        float* here = kept + (round - ROUNDS) * tile;
        if constexpr (IS_BULK) {
#pragma unroll
            for (int i = 0; i < SHARED_GROUP; i++) {
                wait_at_barrier(barriers + round - ROUNDS + i);
                const long long first = deal.first(round + i);
                // Bulk copies bring whole vectors; a last incomplete one comes from memory, twice.
                const bool is_whole = first + WIDTH <= task.N;
                load<WIDTH>(v + i * WIDTH, is_whole ? here + i * tile : task.input, is_whole ? 0 : first,
                            is_whole ? WIDTH : task.N);
            }
        } else {
            load_rounds<WIDTH, SHARED_GROUP>(v, task, deal, round);
#pragma unroll
            for (int i = 0; i < SHARED_GROUP; i++) store<WIDTH>(v + i * WIDTH, here + i * tile, 0, WIDTH);
        }
        add<SHARED_GROUP * WIDTH>(sum, v);
    }
    int end = shared_end;
    for (; deal.tile(end) < task.N; end += REST_GROUP) {
        alignas(16) float v[REST_GROUP * WIDTH];
        load_rounds<WIDTH, REST_GROUP>(v, task, deal, end);
        add<REST_GROUP * WIDTH>(sum, v);
    }

    sum = exchange_in_grid<WIDTH>(sum, task);
    const float inverse = 1.0f / sum.l;

    for (int round = end - REST_GROUP; round >= shared_end; round -= REST_GROUP) {
        alignas(16) float v[REST_GROUP * WIDTH];
        load_rounds<WIDTH, REST_GROUP>(v, task, deal, round);
        finish<REST_GROUP * WIDTH>(v, sum, inverse);
        store_rounds<WIDTH, REST_GROUP, ONCE>(v, task, deal, round);
    }
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        scale<LONG_CHUNK>(x + i * LONG_CHUNK, exp_of(maxima[i] - sum.m) * inverse);
    }
    store_rounds<WIDTH, ROUNDS, ONCE>(x, task, deal, 0);
    for (int round = ROUNDS; round < shared_end && deal.tile(round) < task.N; round++) {
        alignas(16) float v[WIDTH];
        const long long first = deal.first(round);
        const bool is_whole = first + WIDTH <= task.N;
        load<WIDTH>(v, is_whole ? kept + (round - ROUNDS) * tile : task.input, is_whole ? 0 : first,
                    is_whole ? WIDTH : task.N);
        finish<WIDTH>(v, sum, inverse);
        store<WIDTH, ONCE>(v, task.output, first, task.N);
    }
}

// ---- the launch -----------------------------------------------------------------------------------------

std::atomic<unsigned long long> calls{0};

struct Device {
    int id, multiprocessors, shared_bytes;
    bool has_clusters;
};

// Asked once by each host thread that changes to another device.
const Device& this_device() {
    thread_local Device device{-1, 0, 0, false};
    int id = 0, major = 0;
    cudaGetDevice(&id);
    if (id != device.id) {
        cudaDeviceGetAttribute(&device.multiprocessors, cudaDevAttrMultiProcessorCount, id);
        cudaDeviceGetAttribute(&device.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, id);
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, id);
        device.has_clusters = major >= 9;
#ifdef CUDACPU
        device.has_clusters = false;
#endif
        device.id = id;
    }
    return device;
}

int divide_up(long long a, long long b) { return static_cast<int>((a + b - 1) / b); }

// Whether it was launched: a GPU in use may have no room for a cluster, or none of that size.
template <int ITEMS>
bool launch_cluster(const Task& task, int blocks) {
#ifdef CUDACPU
    return false;
#else
    const auto kernel = softmax_kernel<CLUSTER, ITEMS>;
    if (blocks > PORTABLE_CLUSTER) {
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    }
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(divide_up(task.N, blocks * ITEMS * WARP_SIZE) * WARP_SIZE);
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (cudaLaunchKernelEx(&config, kernel, task) == cudaSuccess) return true;
    cudaGetLastError();  // the grid that follows must not be blamed for it
    return false;
#endif
}

template <int ITEMS>
void launch_grid(Task task) {
    task.call = ++calls;
    softmax_kernel<GRID, ITEMS><<<divide_up(task.N, THREADS * ITEMS), THREADS>>>(task);
}

template <int ITEMS, int WIDTH>
void launch_long(Task task, int blocks, int shared_bytes) {
    constexpr int TILE_BYTES = LONG_THREADS * WIDTH * 4;
    int tiles = (shared_bytes - SHARED_RESERVE) / TILE_BYTES;
    if (tiles > MAX_SHARED_TILES) tiles = MAX_SHARED_TILES;
    tiles = tiles / SHARED_GROUP * SHARED_GROUP;
    const auto kernel = long_softmax_kernel<ITEMS, WIDTH>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, tiles * TILE_BYTES);
    task.call = ++calls;
    kernel<<<blocks, LONG_THREADS, tiles * TILE_BYTES>>>(task, tiles);
}

void launch(const Task& task) {
    const Device& device = this_device();
    const int blocks = device.multiprocessors < MAX_BLOCKS ? device.multiprocessors : MAX_BLOCKS;
    const long long at_once = static_cast<long long>(blocks) * THREADS;
    const bool is_aligned =
        (reinterpret_cast<uintptr_t>(task.input) | reinterpret_cast<uintptr_t>(task.output)) % 16 == 0;
    if (!is_aligned) {
        launch_long<LONG_CHUNK, 1>(task, blocks, device.shared_bytes);
    } else if (task.N <= THREADS * 4) {
        softmax_kernel<BLOCK, 4><<<1, divide_up(task.N, 4 * WARP_SIZE) * WARP_SIZE>>>(task);
    } else if (device.has_clusters && task.N <= PORTABLE_CLUSTER * CLUSTER_THREADS * 4 &&
               launch_cluster<4>(task, PORTABLE_CLUSTER)) {
        return;
    } else if (device.has_clusters && task.N <= MAX_CLUSTER * CLUSTER_THREADS * 8 &&
               launch_cluster<8>(task, MAX_CLUSTER)) {
        return;
    } else if (task.N <= at_once * 4) {
        launch_grid<4>(task);
    } else if (task.N <= at_once * 8) {
        launch_grid<8>(task);
    } else if (task.N <= at_once * 16) {
        launch_grid<16>(task);
    } else if (task.N <= at_once * 32) {
        launch_grid<32>(task);
    } else {
        launch_long<LONG_ITEMS, 4>(task, blocks, device.shared_bytes);
    }
}

extern "C" void solve(const float* input, float* output, int N) {
    if (input == nullptr || output == nullptr || N <= 0) return;
    launch(Task{input, output, N, 0});
    cudaDeviceSynchronize();
}
