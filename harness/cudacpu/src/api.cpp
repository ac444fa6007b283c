// The runtime API but for memory: errors, the device, streams, events, attributes of kernels.
#include "cudacpu/api.h"

#include <string.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "api_state.h"

namespace cudacpu {
namespace {
thread_local cudaError_t last_error = cudaSuccess;

std::mutex limits_mutex;
std::map<const void*, size_t> limits;

// An A100 with 40 GB, from NVIDIA's published figures.
cudaDeviceProp a100() {
    cudaDeviceProp p = {};
    strcpy(p.name, "NVIDIA A100-SXM4-40GB");
    p.totalGlobalMem = size_t(40) << 30;
    p.sharedMemPerBlock = 48 * 1024;
    p.regsPerBlock = 65536;
    p.warpSize = 32;
    p.memPitch = 0x7fffffff;
    p.maxThreadsPerBlock = 1024;
    p.maxThreadsDim[0] = 1024, p.maxThreadsDim[1] = 1024, p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 0x7fffffff, p.maxGridSize[1] = 65535, p.maxGridSize[2] = 65535;
    p.clockRate = 1410000;
    p.totalConstMem = 65536;
    p.major = 8;
    p.minor = 0;
    p.textureAlignment = 512;
    p.deviceOverlap = 1;
    p.multiProcessorCount = 108;
    p.canMapHostMemory = 1;
    p.concurrentKernels = 1;
    p.ECCEnabled = 1;
    p.asyncEngineCount = 3;
    p.unifiedAddressing = 1;
    p.memoryClockRate = 1215000;
    p.memoryBusWidth = 5120;
    p.l2CacheSize = 40 * 1024 * 1024;
    p.persistingL2CacheMaxSize = 30 * 1024 * 1024;
    p.maxThreadsPerMultiProcessor = 2048;
    p.sharedMemPerMultiprocessor = 164 * 1024;
    p.regsPerMultiprocessor = 65536;
    p.managedMemory = 1;
    p.cooperativeLaunch = 1;
    p.sharedMemPerBlockOptin = 163 * 1024;
    p.maxBlocksPerMultiProcessor = 32;
    p.reservedSharedMemPerBlock = 1024;
    return p;
}
}  // namespace

cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
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
}  // namespace cudacpu

using namespace cudacpu;

struct CUstream_st {};
struct CUevent_st {
    std::chrono::steady_clock::time_point when;
    bool recorded = false;
};

// ---- errors ---------------------------------------------------------------------------------------------

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
    *properties = a100();
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
    }
    return false;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (value == nullptr) return remember(cudaErrorInvalidValue);
    if (device != 0) return remember(cudaErrorInvalidDevice);
    return attribute_of(a100(), attribute, value) ? cudaSuccess : remember(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaDeviceReset() { return cudaSuccess; }

// ---- streams and events ---------------------------------------------------------------------------------

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    if (stream == nullptr) return remember(cudaErrorInvalidValue);
    *stream = new CUstream_st;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (stream == nullptr) return remember(cudaErrorInvalidResourceHandle);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned) {
    return event == nullptr ? remember(cudaErrorInvalidResourceHandle) : cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    if (event == nullptr) return remember(cudaErrorInvalidValue);
    *event = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    if (event == nullptr) return remember(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    if (event == nullptr) return remember(cudaErrorInvalidResourceHandle);
    event->when = std::chrono::steady_clock::now();
    event->recorded = true;
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return event == nullptr ? remember(cudaErrorInvalidResourceHandle) : cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (milliseconds == nullptr) return remember(cudaErrorInvalidValue);
    if (start == nullptr || end == nullptr || !start->recorded || !end->recorded) {
        return remember(cudaErrorInvalidResourceHandle);
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->when - start->when).count();
    return cudaSuccess;
}

// ---- kernels --------------------------------------------------------------------------------------------

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
    if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        size_t(value) > kSharedMost) {
        return remember(cudaErrorInvalidValue);
    }
    std::lock_guard<std::mutex> lock(limits_mutex);
    limits[kernel] = size_t(value);
    return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int block_size,
                                                          size_t shared_bytes) {
    const cudaDeviceProp p = a100();
    if (blocks == nullptr || block_size <= 0) return remember(cudaErrorInvalidValue);
    if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
    if (block_size > p.maxThreadsPerBlock || shared_bytes > shared_limit(kernel))
        return *blocks = 0, cudaSuccess;
    // Registers are not known here; threads, blocks and shared memory are what limits.
    const int warps = (block_size + p.warpSize - 1) / p.warpSize;
    const size_t by_shared = p.sharedMemPerMultiprocessor / (shared_bytes + p.reservedSharedMemPerBlock);
    *blocks = std::min({p.maxThreadsPerMultiProcessor / (warps * p.warpSize), p.maxBlocksPerMultiProcessor,
                        static_cast<int>(by_shared)});
    return cudaSuccess;
}
