// The rest of the runtime API for memory: pitched, managed and registered memory, two-dimensional copies.
#include <unistd.h>

#include "api_state.h"
#include "memory.h"

using namespace cudacpu;

namespace {
// Calls each_row(row) for every row until one of them fails.
template <class EachRow>
cudaError_t rows(size_t height, EachRow each_row) {
    for (size_t row = 0; row < height; ++row) {
        if (cudaError_t error = each_row(row)) return error;
    }
    return cudaSuccess;
}

cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                      size_t height, cudaMemcpyKind kind, const void* code) {
    if (width > to_pitch || width > from_pitch) return remember(cudaErrorInvalidPitchValue);
    return rows(height, [&](size_t row) {
        return copy_bytes(static_cast<char*>(to) + row * to_pitch,
                          static_cast<const char*>(from) + row * from_pitch, width, kind, code);
    });
}

cudaError_t fill_rows(void* to, size_t pitch, int value, size_t width, size_t height, const void* code) {
    if (width > pitch && height > 1) return remember(cudaErrorInvalidValue);
    return rows(height, [&](size_t row) {
        return fill_bytes(static_cast<char*>(to) + row * pitch, value, width, code);
    });
}
}  // namespace

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind,
                     before(__builtin_return_address(0)));
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t) {
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind,
                     before(__builtin_return_address(0)));
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return fill_rows(to, pitch, value, width, height, before(__builtin_return_address(0)));
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t) {
    return fill_rows(to, pitch, value, width, height, before(__builtin_return_address(0)));
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
    if (bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) {
        return remember(cudaErrorInvalidValue);
    }
    return cudaMalloc(pointer, bytes);
}
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    constexpr size_t kPitch = 512;
    if (pointer == nullptr || pitch == nullptr) return remember(cudaErrorInvalidValue);
    *pitch = (width + kPitch - 1) / kPitch * kPitch;
    return cudaMalloc(pointer, *pitch * height);
}
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
    return pointer == nullptr || bytes == 0 ? remember(cudaErrorInvalidValue) : cudaSuccess;
}
cudaError_t cudaHostUnregister(void* pointer) {
    return pointer == nullptr ? remember(cudaErrorInvalidValue) : cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
    if (device == nullptr || host == nullptr || flags != 0) return remember(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}
// Managed memory is told from device memory by nothing here, and host memory is never registered.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    if (attributes == nullptr) return remember(cudaErrorInvalidValue);
    Range range;
    const bool device = find_buffer(reinterpret_cast<uintptr_t>(pointer), &range);
    void* address = const_cast<void*>(pointer);
    attributes->type = device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    attributes->device = device ? 0 : cudaInvalidDeviceId;
    attributes->devicePointer = device ? address : nullptr;
    attributes->hostPointer = nullptr;
    return cudaSuccess;
}
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t, int, cudaStream_t) {
    return pointer == nullptr ? remember(cudaErrorInvalidValue) : cudaSuccess;
}
cudaError_t cudaMemAdvise(const void* pointer, size_t, cudaMemoryAdvise, int) {
    return pointer == nullptr ? remember(cudaErrorInvalidValue) : cudaSuccess;
}

struct CUmemPoolHandle_st {};
static CUmemPoolHandle_st default_pool;
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    if (pool == nullptr) return remember(cudaErrorInvalidValue);
    if (device != 0) return remember(cudaErrorInvalidDevice);
    *pool = &default_pool;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return cudaDeviceGetDefaultMemPool(pool, device);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void* value) {
    return pool != &default_pool || value == nullptr ? remember(cudaErrorInvalidValue) : cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
    return pool != &default_pool ? remember(cudaErrorInvalidValue) : cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    if (pool != &default_pool) return remember(cudaErrorInvalidValue);
    return cudaMallocAsync(pointer, bytes, stream);
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    if (free_bytes == nullptr || total_bytes == nullptr) return remember(cudaErrorInvalidValue);
    *total_bytes = kMemoryTotal;
    *free_bytes = kMemoryTotal - live_bytes();
    return cudaSuccess;
}
