// Cooperative groups: a whole grid, a block, a tile of a warp, the lanes that happen to be together.
#pragma once

#include <type_traits>

#include "atomics.h"
#include "cluster.h"
#include "integer.h"
#include "thread.h"
#include "warp.h"

namespace cudacpu {
// Waits until every thread of the grid is here. Only under cudaLaunchCooperativeKernel.
void grid_barrier();
bool grid_is_cooperative();

static inline unsigned block_rank_of_thread() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
static inline unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
static inline unsigned lane() { return block_rank_of_thread() % 32; }

// Exchanges a value of any trivially copyable type by words. shuffle_word(word) exchanges one.
template <class T, class Shuffle>
T by_words(const T& value, Shuffle shuffle_word) {
    static_assert(std::is_trivially_copyable<T>::value, "a shuffle takes a type that can be copied by bytes");
    unsigned words[(sizeof(T) + 3) / 4] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned& word : words) word = shuffle_word(word);
    T result;
    __builtin_memcpy(static_cast<void*>(&result), words, sizeof(T));
    return result;
}
}  // namespace cudacpu

namespace cooperative_groups {
// Any group; what it is made of says which.
class thread_group {
  public:
    unsigned long long size() const { return size_; }
    unsigned long long num_threads() const { return size_; }
    unsigned long long thread_rank() const {
        return kind_ == Kind::block ? cudacpu::block_rank_of_thread() : rank_in_warp();
    }
    void sync() const {
        if (kind_ == Kind::block) __syncthreads();
        if (kind_ == Kind::warp) __syncwarp(mask_);
    }

  protected:
    enum class Kind { block, warp };
    thread_group(Kind kind, unsigned size, unsigned mask) : kind_(kind), size_(size), mask_(mask) {}
    unsigned rank_in_warp() const {
        return static_cast<unsigned>(__popc(mask_ & ((1u << cudacpu::lane()) - 1)));
    }

    Kind kind_;
    unsigned size_;
    unsigned mask_;  // the lanes, of a group inside a warp
};

class thread_block : public thread_group {
  public:
    struct arrival_token {};
    static void sync() { __syncthreads(); }
    static unsigned thread_rank() { return cudacpu::block_rank_of_thread(); }
    static unsigned size() { return cudacpu::threads_of_block(); }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
    // Waiting is done where the result is needed.
    arrival_token barrier_arrive() const { return {}; }
    void barrier_wait(arrival_token&&) const { sync(); }

  private:
    thread_block() : thread_group(Kind::block, cudacpu::threads_of_block(), 0) {}
    friend thread_block this_thread_block();
};
inline thread_block this_thread_block() { return {}; }
// What tiles of more than a warp would need.
template <unsigned int MaxBlockSize = 1024>
struct block_tile_memory {};
template <unsigned int MaxBlockSize>
thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) {
    return this_thread_block();
}

class grid_group {
  public:
    struct arrival_token {};
    bool is_valid() const { return cudacpu::grid_is_cooperative(); }
    void sync() const { cudacpu::grid_barrier(); }
    arrival_token barrier_arrive() const { return {}; }
    void barrier_wait(arrival_token&&) const { sync(); }
    static unsigned long long block_rank() {
        return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
               blockIdx.x;
    }
    static unsigned long long num_blocks() {
        return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
    }
    static unsigned long long thread_rank() {
        return block_rank() * cudacpu::threads_of_block() + cudacpu::block_rank_of_thread();
    }
    static unsigned long long size() { return num_blocks() * cudacpu::threads_of_block(); }
    static unsigned long long num_threads() { return size(); }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};
inline grid_group this_grid() { return {}; }

// ---- groups inside a warp ---------------------------------------------------------------------------------

// Lanes in the order of their numbers.
class coalesced_group : public thread_group {
  public:
    coalesced_group(unsigned mask, unsigned meta_rank, unsigned meta_size)
        : thread_group(Kind::warp, static_cast<unsigned>(__popc(mask)), mask),
          meta_rank_(meta_rank),
          meta_size_(meta_size) {}

    void sync() const { __syncwarp(mask_); }
    unsigned size() const { return size_; }
    unsigned num_threads() const { return size_; }
    unsigned thread_rank() const { return rank_in_warp(); }
    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }

    template <class T>
    T shfl(T value, unsigned rank) const {
        return from_rank(value, rank % size_);
    }
    template <class T>
    T shfl_up(T value, unsigned delta) const {
        return from_rank(value, thread_rank() >= delta ? thread_rank() - delta : thread_rank());
    }
    template <class T>
    T shfl_down(T value, unsigned delta) const {
        return from_rank(value, thread_rank() + delta < size_ ? thread_rank() + delta : thread_rank());
    }
    int any(int predicate) const { return __any_sync(mask_, predicate); }
    int all(int predicate) const { return __all_sync(mask_, predicate); }
    unsigned ballot(int predicate) const { return by_rank(__ballot_sync(mask_, predicate)); }
    template <class T>
    unsigned match_any(T value) const {
        return by_rank(__match_any_sync(mask_, value));
    }
    template <class T>
    unsigned match_all(T value, int& predicate) const {
        return by_rank(__match_all_sync(mask_, value, &predicate));
    }

    unsigned cudacpu_mask() const { return mask_; }

  private:
    template <class T>
    T from_rank(const T& value, unsigned rank) const {
        const int lane = static_cast<int>(__fns(mask_, 0, static_cast<int>(rank) + 1));
        return cudacpu::by_words(value, [&](unsigned word) { return __shfl_sync(mask_, word, lane); });
    }
    // The bits of `lanes` moved together: bit i is the lane of rank i.
    unsigned by_rank(unsigned lanes) const {
        unsigned result = 0, rank = 0;
        for (unsigned rest = mask_; rest != 0; rest &= rest - 1, ++rank) {
            if ((lanes & rest & (0 - rest)) != 0) result |= 1u << rank;
        }
        return result;
    }

    unsigned meta_rank_, meta_size_;
};

// Inlined always, since lanes are told apart by the place of the call.
CUDACPU_INLINE coalesced_group coalesced_threads() { return {__activemask(), 0, 1}; }

template <unsigned int Size, class Parent = void>
class thread_block_tile : public thread_group {
    static_assert(Size <= 32, "cudacpu: unsupported: tiles of more than 32 threads");
    static_assert(Size > 0 && (Size & (Size - 1)) == 0, "the size of a tile is a power of two");

  public:
    thread_block_tile()
        : thread_group(Kind::warp, Size,
                       (Size == 32 ? ~0u : (1u << Size % 32) - 1) << (cudacpu::lane() & ~(Size - 1))) {}
    operator thread_block_tile<Size, void>() const { return {}; }

    void sync() const { __syncwarp(mask_); }
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    unsigned thread_rank() const { return cudacpu::lane() & (Size - 1); }
    unsigned meta_group_rank() const { return cudacpu::block_rank_of_thread() % parent_size() / Size; }
    unsigned meta_group_size() const { return (parent_size() + Size - 1) / Size; }

    template <class T>
    T shfl(T value, int rank) const {
        return cudacpu::by_words(value, [&](unsigned word) { return __shfl_sync(mask_, word, rank, Size); });
    }
    template <class T>
    T shfl_up(T value, unsigned delta) const {
        return cudacpu::by_words(value,
                                 [&](unsigned word) { return __shfl_up_sync(mask_, word, delta, Size); });
    }
    template <class T>
    T shfl_down(T value, unsigned delta) const {
        return cudacpu::by_words(value,
                                 [&](unsigned word) { return __shfl_down_sync(mask_, word, delta, Size); });
    }
    template <class T>
    T shfl_xor(T value, unsigned lanes) const {
        return cudacpu::by_words(value, [&](unsigned word) {
            return __shfl_xor_sync(mask_, word, static_cast<int>(lanes), Size);
        });
    }
    int any(int predicate) const { return __any_sync(mask_, predicate); }
    int all(int predicate) const { return __all_sync(mask_, predicate); }
    unsigned ballot(int predicate) const { return __ballot_sync(mask_, predicate) >> first(); }
    template <class T>
    unsigned match_any(T value) const {
        return __match_any_sync(mask_, value) >> first();
    }
    template <class T>
    unsigned match_all(T value, int& predicate) const {
        return __match_all_sync(mask_, value, &predicate) >> first();
    }

    unsigned cudacpu_mask() const { return mask_; }

  private:
    static unsigned first() { return cudacpu::lane() & ~(Size - 1); }
    static unsigned parent_size();
};
template <class Parent>
struct cudacpu_parent {
    static unsigned size() { return Parent::size(); }
};
template <>
struct cudacpu_parent<void> {
    static unsigned size() { return cudacpu::threads_of_block(); }
};
template <unsigned int Size, class Parent>
unsigned thread_block_tile<Size, Parent>::parent_size() {
    return cudacpu_parent<Parent>::size();
}

template <unsigned int Size>
thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
    return {};
}
template <unsigned int Size, unsigned int ParentSize, class Parent>
thread_block_tile<Size, thread_block_tile<ParentSize, void>> tiled_partition(
    const thread_block_tile<ParentSize, Parent>&) {
    static_assert(Size <= ParentSize, "a tile is no larger than what it is a part of");
    return {};
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
    unsigned mask = 0, rank = 0;
    for (unsigned rest = parent.cudacpu_mask(); rest != 0; rest &= rest - 1, ++rank) {
        if (rank / size == parent.thread_rank() / size) mask |= rest & (0 - rest);
    }
    return {mask, parent.thread_rank() / size, (parent.size() + size - 1) / size};
}
template <unsigned int ParentSize, class Parent>
coalesced_group tiled_partition(const thread_block_tile<ParentSize, Parent>& parent, unsigned size) {
    return tiled_partition(coalesced_group(parent.cudacpu_mask(), 0, 1), size);
}
inline coalesced_group tiled_partition(const thread_block&, unsigned size) {
    const unsigned first = cudacpu::lane() / size * size;
    const unsigned mask = (size >= 32 ? ~0u : (1u << size) - 1) << first;
    return {mask, cudacpu::block_rank_of_thread() / size, (cudacpu::threads_of_block() + size - 1) / size};
}

// Lanes with the same label. The groups are numbered by their lowest lanes.
template <class Group, class Label>
coalesced_group labeled_partition(const Group& parent, Label label) {
    const unsigned own = __match_any_sync(parent.cudacpu_mask(), label);
    const bool leads = (own & ((1u << cudacpu::lane()) - 1)) == 0;
    const unsigned leaders = __ballot_sync(parent.cudacpu_mask(), leads);
    const unsigned before = leaders & ((own & (0 - own)) - 1);
    return {own, static_cast<unsigned>(__popc(before)), static_cast<unsigned>(__popc(leaders))};
}
template <class Group>
coalesced_group binary_partition(const Group& parent, bool predicate) {
    return labeled_partition(parent, static_cast<int>(predicate));
}

class cudacpu_single_thread {
  public:
    static void sync() {}
    static unsigned thread_rank() { return 0; }
    static unsigned size() { return 1; }
    static unsigned num_threads() { return 1; }
};
inline cudacpu_single_thread this_thread() { return {}; }

template <class Group>
void sync(const Group& group) {
    group.sync();
}
template <class Group>
unsigned long long thread_rank(const Group& group) {
    return group.thread_rank();
}
template <class Group>
unsigned long long group_size(const Group& group) {
    return group.size();
}
template <class Group, class Function, class... Args>
void invoke_one(const Group& group, Function&& function, Args&&... args) {
    if (group.thread_rank() == 0) function(static_cast<Args&&>(args)...);
}
template <class Group, class Function, class... Args>
auto invoke_one_broadcast(const Group& group, Function&& function, Args&&... args) {
    decltype(function(static_cast<Args&&>(args)...)) result{};
    if (group.thread_rank() == 0) result = function(static_cast<Args&&>(args)...);
    return group.shfl(result, 0);
}

// The blocks of a cluster; where a launch has none, the block alone.
class cluster_group {
  public:
    struct arrival_token {};
    static void sync() { cudacpu::cluster_barrier(); }
    // Waiting is done where the others' work is needed.
    static arrival_token barrier_arrive() { return {}; }
    static void barrier_wait() { cudacpu::cluster_barrier(); }
    static void barrier_wait(arrival_token&&) { cudacpu::cluster_barrier(); }
    static unsigned query_shared_rank(const void* pointer) { return cudacpu::rank_of_shared(pointer); }
    template <class T>
    static T* map_shared_rank(T* pointer, int rank) {
        return static_cast<T*>(cudacpu::map_shared(pointer, static_cast<unsigned>(rank)));
    }
    static dim3 block_index() { return cudacpu::block_in_cluster(); }
    static unsigned block_rank() { return cudacpu::cluster_rank(); }
    static dim3 thread_index() {
        const dim3 at = block_index();
        return {at.x * blockDim.x + threadIdx.x, at.y * blockDim.y + threadIdx.y,
                at.z * blockDim.z + threadIdx.z};
    }
    static unsigned thread_rank() {
        return block_rank() * cudacpu::threads_of_block() + cudacpu::block_rank_of_thread();
    }
    static dim3 dim_blocks() { return cudacpu::cluster_shape(); }
    static unsigned num_blocks() { return cudacpu::cluster_size(); }
    static dim3 dim_threads() {
        const dim3 shape = dim_blocks();
        return {shape.x * blockDim.x, shape.y * blockDim.y, shape.z * blockDim.z};
    }
    static unsigned num_threads() { return num_blocks() * cudacpu::threads_of_block(); }
    static unsigned size() { return num_threads(); }
};
inline cluster_group this_cluster() { return {}; }
}  // namespace cooperative_groups
