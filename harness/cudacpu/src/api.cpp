// The runtime API but for memory: errors, the device, streams, events, attributes of kernels.
#include "cudacpu/api.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "api_state.h"

namespace cudacpu {
namespace {
thread_local cudaError_t last_error = cudaSuccess;

std::mutex limits_mutex;
std::map<const void*, size_t> limits;
std::set<const void*> with_large_clusters;  // non-portable ones

constexpr int kVersion = 12040;  // CUDART_VERSION

std::mutex sticky_mutex;
std::atomic<cudaError_t> sticky{cudaSuccess};
char sticky_words[400];

std::mutex streams_mutex;
std::set<cudaStream_t> streams;

// Modelled on an H100 with 80 GB and SXM5. The numbers have not been compared with those that one reports.
cudaDeviceProp h100() {
    cudaDeviceProp p = {};
    strcpy(p.name, "NVIDIA H100 80GB HBM3");
    p.totalGlobalMem = kMemoryTotal;
    p.sharedMemPerBlock = kSharedDefault;
    p.regsPerBlock = 65536;
    p.warpSize = 32;
    p.memPitch = 0x7fffffff;
    p.maxThreadsPerBlock = 1024;
    p.maxThreadsDim[0] = 1024, p.maxThreadsDim[1] = 1024, p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 0x7fffffff, p.maxGridSize[1] = 65535, p.maxGridSize[2] = 65535;
    p.clockRate = 1980000;
    p.totalConstMem = 65536;
    p.major = 9;
    p.minor = 0;
    p.textureAlignment = 512;
    p.texturePitchAlignment = 32;
    p.surfaceAlignment = 512;  // of textures and surfaces, which are unsupported, no more is said
    p.deviceOverlap = 1;
    p.multiProcessorCount = 132;
    p.canMapHostMemory = 1;
    p.concurrentKernels = 1;
    p.ECCEnabled = 1;
    p.asyncEngineCount = 3;
    p.unifiedAddressing = 1;
    p.memoryClockRate = 2619000;
    p.memoryBusWidth = 5120;
    p.l2CacheSize = 50 * 1024 * 1024;
    p.persistingL2CacheMaxSize = 32 * 1000 * 1000;
    p.maxThreadsPerMultiProcessor = 2048;
    p.streamPrioritiesSupported = 1;
    p.globalL1CacheSupported = 1;
    p.localL1CacheSupported = 1;
    p.sharedMemPerMultiprocessor = 228 * 1024;
    p.regsPerMultiprocessor = 65536;
    p.managedMemory = 1;
    p.concurrentManagedAccess = 1;
    p.computePreemptionSupported = 1;
    p.singleToDoublePrecisionPerfRatio = 2;
    p.cooperativeLaunch = 1;
    p.clusterLaunch = 1;
    p.memoryPoolsSupported = 1;
    p.sharedMemPerBlockOptin = kSharedMost;
    p.maxBlocksPerMultiProcessor = 32;
    p.reservedSharedMemPerBlock = 1024;
    return p;
}

// Registers are not known here; threads, blocks and shared memory are what limits.
int blocks_of_multiprocessor(int block_size, size_t shared_bytes) {
    const cudaDeviceProp p = h100();
    const int threads = (block_size + p.warpSize - 1) / p.warpSize * p.warpSize;
    const size_t by_shared = p.sharedMemPerMultiprocessor / (shared_bytes + p.reservedSharedMemPerBlock);
    return std::min(
        {p.maxThreadsPerMultiProcessor / threads, p.maxBlocksPerMultiProcessor, static_cast<int>(by_shared)});
}
}  // namespace

cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

void set_sticky_error(cudaError_t error, const char* sentence) {
    std::lock_guard<std::mutex> lock(sticky_mutex);
    if (sticky != cudaSuccess) return;
    snprintf(sticky_words, sizeof sticky_words, "%s", sentence);
    sticky = error;
}
cudaError_t sticky_error() { return sticky.load(std::memory_order_relaxed); }
const char* sticky_sentence() { return sticky_words; }
void clear_sticky_error() { sticky = cudaSuccess; }

bool stream_exists(cudaStream_t stream) {
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return true;
    std::lock_guard<std::mutex> lock(streams_mutex);
    return streams.count(stream) != 0;
}

uint64_t most_resident_blocks(dim3 block, size_t shared_bytes) {
    const int size = static_cast<int>(block.x * block.y * block.z);
    return static_cast<uint64_t>(blocks_of_multiprocessor(size, shared_bytes) * h100().multiProcessorCount);
}

cudaError_t take_last_error() { return std::exchange(last_error, cudaSuccess); }

size_t shared_limit(const void* entry) {
    std::lock_guard<std::mutex> lock(limits_mutex);
    size_t limit = kSharedDefault;
    for (const auto& [kernel, bytes] : limits) {
        if (entry == nullptr || entry == kernel) limit = std::max(limit, bytes);
    }
    return limit;
}

uint64_t cluster_limit(const void* entry) {
    std::lock_guard<std::mutex> lock(limits_mutex);
    const bool large =
        entry == nullptr ? !with_large_clusters.empty() : with_large_clusters.count(entry) != 0;
    return large ? 16 : 8;
}
}  // namespace cudacpu

using namespace cudacpu;

struct CUstream_st {};
struct CUevent_st {
    std::chrono::steady_clock::time_point when;
    bool recorded = false, timed = true;
};

// ---- errors ---------------------------------------------------------------------------------------------

// What the last failing call returned, once: an error that lasts is told again by the next call, not by
// these.
cudaError_t cudaGetLastError() { return take_last_error(); }
cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define CUDACPU_ERROR(name, number, text) \
    case name:                            \
        return #name;
#include "cudacpu/errors.def"
#undef CUDACPU_ERROR
    }
    return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define CUDACPU_ERROR(name, number, text) \
    case name:                            \
        return text;
#include "cudacpu/errors.def"
#undef CUDACPU_ERROR
    }
    return "unrecognized error code";
}

extern "C" const char* cudacpu_error_string(int error) {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}

// ---- the device -----------------------------------------------------------------------------------------

cudaError_t cudaGetDevice(int* device) {
    if (device == nullptr) return remember(cudaErrorInvalidValue);
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : remember(cudaErrorInvalidDevice); }
cudaError_t cudaGetDeviceCount(int* count) {
    if (count == nullptr) return remember(cudaErrorInvalidValue);
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (properties == nullptr) return remember(cudaErrorInvalidValue);
    if (device != 0) return remember(cudaErrorInvalidDevice);
    *properties = h100();
    return cudaSuccess;
}

static bool attribute_of(const cudaDeviceProp& p, cudaDeviceAttr attribute, int* value) {
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock:
            return *value = p.maxThreadsPerBlock, true;
        case cudaDevAttrMaxBlockDimX:
            return *value = p.maxThreadsDim[0], true;
        case cudaDevAttrMaxBlockDimY:
            return *value = p.maxThreadsDim[1], true;
        case cudaDevAttrMaxBlockDimZ:
            return *value = p.maxThreadsDim[2], true;
        case cudaDevAttrMaxGridDimX:
            return *value = p.maxGridSize[0], true;
        case cudaDevAttrMaxGridDimY:
            return *value = p.maxGridSize[1], true;
        case cudaDevAttrMaxGridDimZ:
            return *value = p.maxGridSize[2], true;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            return *value = static_cast<int>(p.sharedMemPerBlock), true;
        case cudaDevAttrTotalConstantMemory:
            return *value = static_cast<int>(p.totalConstMem), true;
        case cudaDevAttrWarpSize:
            return *value = p.warpSize, true;
        case cudaDevAttrMaxRegistersPerBlock:
            return *value = p.regsPerBlock, true;
        case cudaDevAttrClockRate:
            return *value = p.clockRate, true;
        case cudaDevAttrMultiProcessorCount:
            return *value = p.multiProcessorCount, true;
        case cudaDevAttrMemoryClockRate:
            return *value = p.memoryClockRate, true;
        case cudaDevAttrGlobalMemoryBusWidth:
            return *value = p.memoryBusWidth, true;
        case cudaDevAttrL2CacheSize:
            return *value = p.l2CacheSize, true;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            return *value = p.maxThreadsPerMultiProcessor, true;
        case cudaDevAttrComputeCapabilityMajor:
            return *value = p.major, true;
        case cudaDevAttrComputeCapabilityMinor:
            return *value = p.minor, true;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            return *value = static_cast<int>(p.sharedMemPerMultiprocessor), true;
        case cudaDevAttrMaxRegistersPerMultiprocessor:
            return *value = p.regsPerMultiprocessor, true;
        case cudaDevAttrCooperativeLaunch:
            return *value = p.cooperativeLaunch, true;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            return *value = static_cast<int>(p.sharedMemPerBlockOptin), true;
        case cudaDevAttrMaxBlocksPerMultiprocessor:
            return *value = p.maxBlocksPerMultiProcessor, true;
        case cudaDevAttrMaxPitch:
            return *value = static_cast<int>(p.memPitch), true;
        case cudaDevAttrTextureAlignment:
            return *value = static_cast<int>(p.textureAlignment), true;
        case cudaDevAttrGpuOverlap:
            return *value = p.deviceOverlap, true;
        case cudaDevAttrKernelExecTimeout:
            return *value = p.kernelExecTimeoutEnabled, true;
        case cudaDevAttrIntegrated:
            return *value = p.integrated, true;
        case cudaDevAttrCanMapHostMemory:
            return *value = p.canMapHostMemory, true;
        case cudaDevAttrComputeMode:
            return *value = p.computeMode, true;
        case cudaDevAttrConcurrentKernels:
            return *value = p.concurrentKernels, true;
        case cudaDevAttrEccEnabled:
            return *value = p.ECCEnabled, true;
        case cudaDevAttrAsyncEngineCount:
            return *value = p.asyncEngineCount, true;
        case cudaDevAttrUnifiedAddressing:
            return *value = p.unifiedAddressing, true;
        case cudaDevAttrStreamPrioritiesSupported:
            return *value = p.streamPrioritiesSupported, true;
        case cudaDevAttrGlobalL1CacheSupported:
            return *value = p.globalL1CacheSupported, true;
        case cudaDevAttrLocalL1CacheSupported:
            return *value = p.localL1CacheSupported, true;
        case cudaDevAttrManagedMemory:
            return *value = p.managedMemory, true;
        case cudaDevAttrIsMultiGpuBoard:
            return *value = p.isMultiGpuBoard, true;
        case cudaDevAttrHostNativeAtomicSupported:
            return *value = p.hostNativeAtomicSupported, true;
        case cudaDevAttrPageableMemoryAccess:
            return *value = p.pageableMemoryAccess, true;
        case cudaDevAttrConcurrentManagedAccess:
            return *value = p.concurrentManagedAccess, true;
        case cudaDevAttrReservedSharedMemoryPerBlock:
            return *value = static_cast<int>(p.reservedSharedMemPerBlock), true;
        case cudaDevAttrMemoryPoolsSupported:
            return *value = p.memoryPoolsSupported, true;
        case cudaDevAttrClusterLaunch:
            return *value = p.clusterLaunch, true;
    }
    return false;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (value == nullptr) return remember(cudaErrorInvalidValue);
    if (device != 0) return remember(cudaErrorInvalidDevice);
    return attribute_of(h100(), attribute, value) ? cudaSuccess : remember(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceSynchronize() { return remember(sticky_error()); }
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
cudaError_t cudaDeviceReset() { return cudaSuccess; }
static cudaError_t give_version(int* version) {
    if (version == nullptr) return remember(cudaErrorInvalidValue);
    *version = kVersion;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return give_version(version); }
cudaError_t cudaRuntimeGetVersion(int* version) { return give_version(version); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    if (can == nullptr) return remember(cudaErrorInvalidValue);
    if (device != 0 || peer != 0) return remember(cudaErrorInvalidDevice);
    *can = 0;
    return cudaSuccess;
}
// Limits are kept and given back. The stack of a thread stays what it is.
static size_t limit_values[7] = {1024, 1 << 20, 8 << 20, 0, 2048, 64, 0};
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    if (limit < 0 || limit > cudaLimitPersistingL2CacheSize) return remember(cudaErrorInvalidValue);
    limit_values[limit] = value;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    if (value == nullptr || limit < 0 || limit > cudaLimitPersistingL2CacheSize) {
        return remember(cudaErrorInvalidValue);
    }
    *value = limit_values[limit];
    return cudaSuccess;
}

// ---- streams and events ---------------------------------------------------------------------------------

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    if (cudaError_t error = sticky_error()) return remember(error);
    if (stream == nullptr) return remember(cudaErrorInvalidValue);
    *stream = new CUstream_st;
    std::lock_guard<std::mutex> lock(streams_mutex);
    streams.insert(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return flags > cudaStreamNonBlocking ? remember(cudaErrorInvalidValue) : cudaStreamCreate(stream);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(streams_mutex);
    if (streams.erase(stream) == 0) return remember(cudaErrorInvalidResourceHandle);
    delete stream;
    return cudaSuccess;
}
static cudaError_t check_stream(cudaStream_t stream) {
    if (!stream_exists(stream)) return remember(cudaErrorInvalidResourceHandle);
    return remember(sticky_error());
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return check_stream(stream); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { return check_stream(stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return event == nullptr ? remember(cudaErrorInvalidResourceHandle) : check_stream(stream);
}
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue* value) {
    return value == nullptr ? remember(cudaErrorInvalidValue) : check_stream(stream);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    if (function == nullptr) return remember(cudaErrorInvalidValue);
    if (cudaError_t error = check_stream(stream)) return error;
    function(data);
    return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
    if (callback == nullptr) return remember(cudaErrorInvalidValue);
    if (cudaError_t error = check_stream(stream)) return error;
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    if (cudaError_t error = sticky_error()) return remember(error);
    if (event == nullptr) return remember(cudaErrorInvalidValue);
    *event = new CUevent_st;
    (*event)->timed = (flags & cudaEventDisableTiming) == 0;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    if (event == nullptr) return remember(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (event == nullptr) return remember(cudaErrorInvalidResourceHandle);
    if (cudaError_t error = check_stream(stream)) return error;
    event->when = std::chrono::steady_clock::now();
    event->recorded = true;
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return event == nullptr ? remember(cudaErrorInvalidResourceHandle) : remember(sticky_error());
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (milliseconds == nullptr) return remember(cudaErrorInvalidValue);
    if (start == nullptr || end == nullptr || !start->recorded || !end->recorded || !start->timed ||
        !end->timed) {
        return remember(cudaErrorInvalidResourceHandle);
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->when - start->when).count();
    return cudaSuccess;
}

// ---- kernels --------------------------------------------------------------------------------------------

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
    if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
        std::lock_guard<std::mutex> lock(limits_mutex);
        if (value != 0) with_large_clusters.insert(kernel);
        if (value == 0) with_large_clusters.erase(kernel);
        return cudaSuccess;
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        size_t(value) > kSharedMost) {
        return remember(cudaErrorInvalidValue);
    }
    std::lock_guard<std::mutex> lock(limits_mutex);
    limits[kernel] = size_t(value);
    return cudaSuccess;
}
// What only nvcc knows (registers, local and static shared memory) is left at plausible values.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
    if (attributes == nullptr) return remember(cudaErrorInvalidValue);
    if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
    *attributes = {};
    attributes->maxThreadsPerBlock = h100().maxThreadsPerBlock;
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 10 * h100().major + h100().minor;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(shared_limit(kernel));
    attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
    return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int block_size,
                                                          size_t shared_bytes) {
    if (blocks == nullptr || block_size <= 0) return remember(cudaErrorInvalidValue);
    if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
    const bool fits = block_size <= h100().maxThreadsPerBlock && shared_bytes <= shared_limit(kernel);
    *blocks = fits ? blocks_of_multiprocessor(block_size, shared_bytes) : 0;
    return cudaSuccess;
}
