// The runtime API: memory, streams, events, errors, attributes.
#include "conformance.h"

__global__ void add(int* values, int n, int amount) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += amount;
}
__global__ void large_shared(int* out, int n) {
    extern __shared__ int buffer[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) *out = buffer[n - 1];
}

static int launch_error(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0) {
    add<<<grid, block, shared, stream>>>(nullptr, 0, 0);
    const int peeked = cudaPeekAtLastError(), got = cudaGetLastError();
    EQUAL(peeked, got);
    EQUAL(cudaGetLastError(), cudaSuccess);
    return got;
}
FEATURE(errors_of_a_launch) {
    EQUAL(launch_error(1, 1, 49 * 1024), cudaErrorInvalidValue);
    EQUAL(launch_error(1, 1024), cudaSuccess);
#if defined(CUDACPU) || CUDART_VERSION >= 13000
    EQUAL(launch_error(0, 1), cudaErrorInvalidValue);
    EQUAL(launch_error(1, 0), cudaErrorInvalidValue);
    EQUAL(launch_error(1, 2048), cudaErrorInvalidValue);
    EQUAL(launch_error(1, dim3(64, 32)), cudaErrorInvalidValue);
    EQUAL(launch_error(1, dim3(1, 1, 65)), cudaErrorInvalidValue);
    EQUAL(launch_error(dim3(1, 65536), 1), cudaErrorInvalidValue);
#endif
}

FEATURE(last_error_is_kept_until_asked_for) {
    int* pointer = nullptr;
    EQUAL(cudaMalloc(&pointer, (size_t)1 << 60), cudaErrorMemoryAllocation);
    EQUAL(cudaDeviceSynchronize(), cudaSuccess);
    EQUAL(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    EQUAL(cudaGetLastError(), cudaErrorMemoryAllocation);
    EQUAL(cudaGetLastError(), cudaSuccess);
    EQUAL(strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"), 0);
    EQUAL(strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument"), 0);
}

FEATURE(copies_and_fills) {
    int host[16], back[16];
    for (int i = 0; i < 16; ++i) host[i] = i;
    int *a, *b;
    EQUAL(cudaMalloc(&a, sizeof host), cudaSuccess), EQUAL(cudaMalloc((void**)&b, sizeof host), cudaSuccess);
    EQUAL((size_t)a % 256 + (size_t)b % 256, 0);
    EQUAL(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice), cudaSuccess);
    EQUAL(cudaMemcpy(b, a, sizeof host, cudaMemcpyDeviceToDevice), cudaSuccess);
    EQUAL(cudaMemset(b, 0, 8), cudaSuccess), EQUAL(cudaMemset(b + 2, 1, 4), cudaSuccess);
    EQUAL(cudaMemcpy(back, b, sizeof host, cudaMemcpyDefault), cudaSuccess);
    EQUAL(back[0] + back[1], 0), EQUAL(back[2], 0x01010101), EQUAL(back[15], 15);
    EQUAL(cudaFree(a) + cudaFree(b) + cudaFree(nullptr), cudaSuccess);
}

FEATURE(pitched_memory) {
    const int width = 10, height = 6;
    int host[height][width], back[height][width] = {};
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) host[y][x] = 100 * y + x;
    char* pitched;
    size_t pitch = 0;
    EQUAL(cudaMallocPitch(&pitched, &pitch, width * sizeof(int), height), cudaSuccess);
    EQUAL(pitch >= width * sizeof(int) && pitch % 256 == 0, 1);
    EQUAL(cudaMemset2D(pitched, pitch, 0, width * 4, height), cudaSuccess);
    EQUAL(cudaMemcpy2D(pitched, pitch, host, width * 4, 8 * 4, height, cudaMemcpyHostToDevice), cudaSuccess);
    EQUAL(cudaMemcpy2DAsync(back, width * 4, pitched, pitch, width * 4, height, cudaMemcpyDeviceToHost, 0),
          cudaSuccess);
    cudaDeviceSynchronize();
    EQUAL(back[5][7], 507), EQUAL(back[5][8], 0), EQUAL(back[0][0], 0), EQUAL(back[3][1], 301);
    EQUAL(cudaMemcpy2D(pitched, pitch, host, 8, 16, height, cudaMemcpyHostToDevice),
          cudaErrorInvalidPitchValue);
    cudaFree(pitched);
}

FEATURE(memory_of_every_kind) {
    int *managed, *pinned, *mapped, *ordered, registered[64] = {}, back[4];
    cudaStream_t stream;
    EQUAL(cudaStreamCreate(&stream), cudaSuccess);
    EQUAL(cudaMallocManaged(&managed, 1024), cudaSuccess);
    EQUAL(cudaMallocHost(&pinned, 1024) + cudaHostAlloc(&mapped, 1024, cudaHostAllocMapped), cudaSuccess);
    EQUAL(cudaMallocAsync(&ordered, 1024, stream), cudaSuccess);
    EQUAL(cudaHostRegister(registered, sizeof registered, cudaHostRegisterDefault), cudaSuccess);
    managed[0] = 1, pinned[0] = 2;
    add<<<1, 1, 0, stream>>>(managed, 1, 10);
    EQUAL(cudaMemcpyAsync(ordered, pinned, 16, cudaMemcpyHostToDevice, stream), cudaSuccess);
    add<<<1, 1, 0, stream>>>(ordered, 1, 20);
    EQUAL(cudaMemcpyAsync(back, ordered, 16, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    EQUAL(cudaMemsetAsync(ordered, 0, 16, stream), cudaSuccess);
    EQUAL(cudaStreamSynchronize(stream), cudaSuccess), EQUAL(cudaStreamQuery(stream), cudaSuccess);
    EQUAL(managed[0], 11), EQUAL(back[0], 22);
    EQUAL(cudaHostUnregister(registered), cudaSuccess);
    EQUAL(cudaFreeAsync(ordered, stream) + cudaFree(managed) + cudaFreeHost(pinned) + cudaFreeHost(mapped),
          cudaSuccess);
    EQUAL(cudaStreamDestroy(stream), cudaSuccess);
}

__constant__ float table[4];
__device__ int counter = 5;
__global__ void use_symbols(float* out) {
    out[threadIdx.x] = table[threadIdx.x] + atomicAdd(&counter, 1) * 0;
}
FEATURE(symbols) {
    const float values[4] = {1, 2, 3, 4};
    Output<float> out(4);
    EQUAL(cudaMemcpyToSymbol(table, values, sizeof values), cudaSuccess);
    EQUAL(cudaMemcpyToSymbol(table, values, 4, 12), cudaSuccess);
    use_symbols<<<1, 4>>>(out);
    out.expect({1, 2, 3, 1});
    int count = 0;
    EQUAL(cudaMemcpyFromSymbol(&count, counter, sizeof count), cudaSuccess), EQUAL(count, 9);
    void* address = nullptr;
    size_t size = 0;
    EQUAL(cudaGetSymbolAddress(&address, counter), cudaSuccess),
        EQUAL(cudaGetSymbolSize(&size, table), cudaSuccess), EQUAL(size, 16);
    add<<<1, 1>>>((int*)address, 1, 100);
    EQUAL(cudaMemcpyFromSymbol(&count, counter, sizeof count), cudaSuccess), EQUAL(count, 109);
    EQUAL(cudaMemcpyToSymbol(table, values, 20), cudaErrorInvalidValue);
    EQUAL(cudaMemcpyToSymbolAsync(counter, &size, sizeof counter), cudaSuccess);
    EQUAL(cudaMemcpyFromSymbolAsync(&count, counter, sizeof count), cudaSuccess);
    EQUAL(cudaDeviceSynchronize(), cudaSuccess), EQUAL(count, 16);
}

#if CUDART_VERSION >= 13000 || defined(CUDACPU)
FEATURE(places_of_managed_memory) {
    int* data;
    EQUAL(cudaMallocManaged(&data, 1 << 16), cudaSuccess);
    const cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    EQUAL(cudaMemAdvise(data, 1 << 16, cudaMemAdviseSetReadMostly, device), cudaSuccess);
    EQUAL(cudaMemPrefetchAsync(data, 1 << 16, device, 0), cudaSuccess);
    EQUAL(cudaDeviceSynchronize(), cudaSuccess), EQUAL(cudaFree(data), cudaSuccess);
}
#endif

FEATURE(default_memory_pool) {
    cudaMemPool_t pool;
    int supported = 0;
    EQUAL(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0), cudaSuccess);
    EQUAL(supported, 1);
    EQUAL(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
    unsigned long long kept = ~0ull;
    EQUAL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), cudaSuccess);
    int *first, *second, values[2] = {};
    EQUAL(cudaMallocAsync(&first, sizeof(int), nullptr), cudaSuccess);
    EQUAL(cudaMallocFromPoolAsync(&second, sizeof(int), pool, nullptr), cudaSuccess);
    EQUAL(cudaMemset(first, 1, sizeof(int)) + cudaMemset(second, 2, sizeof(int)), cudaSuccess);
    EQUAL(cudaMemcpy(values, first, sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
    EQUAL(cudaMemcpy(values + 1, second, sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
    EQUAL(values[0], 0x01010101), EQUAL(values[1], 0x02020202);
    EQUAL(cudaFreeAsync(first, nullptr) + cudaFreeAsync(second, nullptr), cudaSuccess);
    EQUAL(cudaDeviceSynchronize(), cudaSuccess);
    kept = 0;
    EQUAL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), cudaSuccess);
    EQUAL(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
}

FEATURE(stream_attributes) {
    cudaStream_t stream;
    EQUAL(cudaStreamCreate(&stream), cudaSuccess);
    Input<int> in({7});
    Output<int> out(1);
    cudaStreamAttrValue value = {};
    value.accessPolicyWindow.base_ptr = in.data;
    value.accessPolicyWindow.num_bytes = sizeof(int);
    value.accessPolicyWindow.hitRatio = 1;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    EQUAL(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value), cudaSuccess);
    EQUAL(cudaMemcpyPeerAsync(out.data, 0, in.data, 0, sizeof(int), stream), cudaSuccess);
    cudaEvent_t event;
    EQUAL(cudaEventCreate(&event), cudaSuccess);
    EQUAL(cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault), cudaSuccess);
    EQUAL(cudaEventSynchronize(event), cudaSuccess);
    EQUAL(cudaCtxResetPersistingL2Cache(), cudaSuccess);
    out.expect({7});
    EQUAL(cudaEventDestroy(event) + cudaStreamDestroy(stream), cudaSuccess);
}

FEATURE(streams_and_events) {
    cudaStream_t first, second;
    cudaEvent_t start, stop, untimed;
    EQUAL(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking) +
              cudaStreamCreateWithPriority(&second, cudaStreamDefault, 0),
          cudaSuccess);
    EQUAL(cudaEventCreate(&start) + cudaEventCreate(&stop) +
              cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming),
          cudaSuccess);
    Input<int> values({1, 2});
    EQUAL(cudaEventRecord(start, first), cudaSuccess);
    add<<<1, 2, 0, first>>>(values, 2, 5);
    EQUAL(cudaEventRecord(stop, first), cudaSuccess);
    EQUAL(cudaStreamWaitEvent(second, stop, 0), cudaSuccess);
    add<<<1, 2, 0, second>>>(values, 2, 10);
    EQUAL(cudaStreamSynchronize(second) + cudaEventSynchronize(stop) + cudaEventQuery(stop), cudaSuccess);
    float milliseconds = -1;
    EQUAL(cudaEventElapsedTime(&milliseconds, start, stop), cudaSuccess), EQUAL(milliseconds >= 0, 1);
    EQUAL(cudaEventRecord(untimed, first), cudaSuccess);
    EQUAL(cudaEventElapsedTime(&milliseconds, untimed, stop), cudaErrorInvalidResourceHandle);
    int back[2];
    cudaMemcpy(back, values, 8, cudaMemcpyDeviceToHost);
    EQUAL(back[0], 16), EQUAL(back[1], 17);
    EQUAL(cudaEventDestroy(start) + cudaEventDestroy(stop) + cudaEventDestroy(untimed) +
              cudaStreamDestroy(first) + cudaStreamDestroy(second),
          cudaSuccess);
}

FEATURE(dynamic_shared_memory_up_to_the_limit) {
    int most = 0, device = -1;
    EQUAL(cudaGetDevice(&device), cudaSuccess);
    EQUAL(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), cudaSuccess);
    Output<int> out(1);
    large_shared<<<1, 64, most>>>(out, most / 4);
    EQUAL(cudaGetLastError(), cudaErrorInvalidValue);
    EQUAL(cudaFuncSetAttribute(large_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1),
          cudaErrorInvalidValue);
    cudaGetLastError();
    EQUAL(cudaFuncSetAttribute((const void*)large_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
          cudaSuccess);
    large_shared<<<1, 64, most>>>(out, most / 4);
    out.expect({most / 4 - 1});
    cudaFuncAttributes attributes;
    EQUAL(cudaFuncGetAttributes(&attributes, large_shared), cudaSuccess);
    EQUAL(attributes.maxThreadsPerBlock, 1024), EQUAL(attributes.maxDynamicSharedSizeBytes, most);
}

FEATURE(the_device) {
    int count = 0, value = 0;
    cudaDeviceProp properties;
    EQUAL(cudaGetDeviceCount(&count), cudaSuccess), EQUAL(count >= 1, 1);
    EQUAL(cudaSetDevice(0), cudaSuccess), EQUAL(cudaSetDevice(count), cudaErrorInvalidDevice);
    EQUAL(cudaGetLastError(), cudaErrorInvalidDevice);
    EQUAL(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
    EQUAL(properties.warpSize, 32), EQUAL(properties.maxThreadsPerBlock, 1024),
        EQUAL(properties.sharedMemPerBlock, 49152), EQUAL(properties.maxThreadsDim[2], 64);
    EQUAL(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), cudaSuccess),
        EQUAL(value, properties.multiProcessorCount);
    size_t available = 0, total = 0;
    EQUAL(cudaMemGetInfo(&available, &total), cudaSuccess), EQUAL(available <= total && total > 0, 1);
    void* too_much = nullptr;
    EQUAL(cudaMalloc(&too_much, total + 1), cudaErrorMemoryAllocation);
    EQUAL(cudaGetLastError(), cudaErrorMemoryAllocation);
}

FEATURE(occupancy) {
    int blocks = 0, grid = 0, block = 0;
    EQUAL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0), cudaSuccess),
        EQUAL(blocks >= 1 && blocks <= 2, 1);
    EQUAL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 128, 40 * 1024), cudaSuccess),
        EQUAL(blocks >= 1 && blocks <= 5, 1);
    EQUAL(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add, 0, 0), cudaSuccess);
    EQUAL(block % 32 == 0 && block >= 128 && block <= 1024, 1), EQUAL(grid > 0, 1);
}

FEATURE(kernels_through_their_address) {
    Input<int> values({1, 2, 3, 4});
    int n = 4, amount = 7;
    void* arguments[] = {(void*)&values.data, &n, &amount};
    EQUAL(cudaLaunchKernel((void*)add, dim3(2), dim3(2), arguments, 0, 0), cudaSuccess);
    EQUAL(cudaLaunchKernel((const void*)&add, 1, 4, arguments), cudaSuccess);
    const void* kernel = reinterpret_cast<const void*>(add);
    EQUAL(cudaLaunchKernel(kernel, dim3(1), dim3(3), arguments, 0, nullptr), cudaSuccess);
    EQUAL(cudaLaunchKernel(kernel, dim3(1), dim3(4096), arguments, 0, nullptr) != cudaSuccess, true);
    EQUAL(cudaGetLastError() != cudaSuccess, true);
    void (*typed)(int*, int, int) = add;
    EQUAL(cudaLaunchKernel(typed, dim3(1), dim3(1), arguments, 0, nullptr), cudaSuccess);
    int back[4];
    cudaMemcpy(back, values, 16, cudaMemcpyDeviceToHost);
    EQUAL(back[0], 29), EQUAL(back[1], 23), EQUAL(back[2], 24), EQUAL(back[3], 18);
}

static void CUDART_CB note(void* data) { *(int*)data += 1; }
FEATURE(host_functions_in_a_stream) {
    int calls = 0;
    EQUAL(cudaLaunchHostFunc(0, note, &calls), cudaSuccess);
    EQUAL(cudaDeviceSynchronize(), cudaSuccess), EQUAL(calls, 1);
}
