// Kernel launches. The rewriter turns `kernel<<<grid, block>>>(args)` into `CUDACPU_LAUNCH((kernel), grid,
// block)(args)`.
#pragma once

#include <type_traits>
#include <utility>

#include "api.h"
#include "types.h"

namespace cudacpu {
struct Config {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    bool cooperative;  // every block is resident at once, so that the grid can wait for all of itself
    dim3 cluster;      // blocks that run at the same time and reach each other's shared memory
};
static inline Config config(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
    return Config{grid, block, shared_bytes, stream, false, {}};
}
// Of a kernel declared with __cluster_dims__.
static inline Config clustered(dim3 cluster, Config config) {
    config.cluster = cluster;
    return config;
}
static inline Config config(const Config& ready) { return ready; }

// Host code of this program may touch the device's buffers from now on: algorithms of a library run there.
bool let_host_touch_buffers();

// Checks the configuration as CUDA does, then runs thread(context) once for each thread of the grid, and
// returns when all are done. `entry` is the kernel's address, null where it is not known.
cudaError_t launch(const char* name, const void* entry, const Config& config, void (*thread)(void*),
                   void* context);

// How a kernel whose type was lost is called with CUDA's array of pointers to its arguments.
using Caller = void (*)(const void* kernel, void** arguments);
// Remembers it for an address, and returns the address. `name` must live as long as the program.
const void* remember_kernel(const char* name, const void* kernel, Caller caller);
cudaError_t launch_remembered(const void* kernel, const Config& config, void** arguments);

template <class... Params, size_t... index>
void call_kernel(const void* kernel, void** arguments, std::index_sequence<index...>) {
    (void)arguments;
    reinterpret_cast<void (*)(Params...)>(const_cast<void*>(kernel))(
        *static_cast<std::remove_reference_t<Params>*>(arguments[index])...);
}
template <class... Params>
const void* kernel_address(const char* name, void (*kernel)(Params...)) {
    return remember_kernel(
        name, reinterpret_cast<const void*>(kernel), [](const void* address, void** arguments) {
            call_kernel<Params...>(address, arguments, std::index_sequence_for<Params...>());
        });
}
inline const void* kernel_address(const char*, const void* kernel) { return kernel; }

template <class Call>
struct Launcher {
    const char* name;
    const void* entry;
    Config config;
    Call call;

    template <class... Args>
    void run(Args&... args) const {
        auto thread = [&] { call(args...); };
        launch(
            name, entry, config, [](void* context) { (*static_cast<decltype(thread)*>(context))(); },
            &thread);
    }
};

// For a kernel whose parameter types are known: arguments convert to them as in a call (NULL, 0, {...}).
template <class Call, class... Params>
struct TypedLauncher : Launcher<Call> {
    void operator()(Params... args) const { this->run(args...); }

    // Fewer arguments than parameters: the rest have defaults.
    template <class... Args>
    std::enable_if_t<sizeof...(Args) != sizeof...(Params)> operator()(Args... args) const {
        this->run(args...);
    }
};

// For an overloaded kernel or a template whose parameters are deduced.
template <class Call>
struct DeducingLauncher : Launcher<Call> {
    template <class... Args>
    void operator()(Args... args) const {
        this->run(args...);
    }
};

template <class... Params>
auto address(void (*kernel)(Params...), int) {
    return kernel;
}
template <class Call, class... Params>
TypedLauncher<Call, Params...> typed(const char* name, const Config& config, Call call,
                                     void (*kernel)(Params...)) {
    return {{name, reinterpret_cast<const void*>(kernel), config, call}};
}
template <class Call, class Probe>
auto launcher(const char* name, const Config& config, Call call, Probe probe, int)
    -> decltype(typed(name, config, call, probe(0))) {
    return typed(name, config, call, probe(0));
}
template <class Call, class Probe>
DeducingLauncher<Call> launcher(const char* name, const Config& config, Call call, Probe, long) {
    return {{name, nullptr, config, call}};
}
}  // namespace cudacpu

// The second lambda finds out whether the kernel's name alone has an address: it has none that the compiler
// can choose where template arguments are deduced or kernels are overloaded.
#define CUDACPU_LAUNCH(kernel, ...)                                                                        \
    ::cudacpu::launcher(                                                                                   \
        #kernel, ::cudacpu::config(__VA_ARGS__), [&](auto&... cudacpu_args) { kernel(cudacpu_args...); },  \
        [&](auto cudacpu_probe) -> decltype(::cudacpu::address(kernel, cudacpu_probe)) { return kernel; }, \
        0)

namespace cudacpu {
// The rewriter writes this at the end of a function that lacks its `return`: a host's compiler takes such an
// end for one that is never reached, and lets the thread run on into whatever follows, where a GPU's returns
// garbage.
template <class T>
T not_returned() {
    T garbage;
    __builtin_memset(&garbage, 0xff, sizeof garbage);
    return garbage;
}
}  // namespace cudacpu

// The rewriter writes this for a kernel that is cast to void*, and for what cudaLaunchKernel is given.
#define CUDACPU_KERNEL(...) const_cast<void*>(::cudacpu::kernel_address(#__VA_ARGS__, __VA_ARGS__))

static inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                           size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
    return cudacpu::launch_remembered(kernel, {grid, block, shared_bytes, stream, false, {}}, arguments);
}
static inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block,
                                                      void** arguments, size_t shared_bytes = 0,
                                                      cudaStream_t stream = nullptr) {
    return cudacpu::launch_remembered(kernel, {grid, block, shared_bytes, stream, true, {}}, arguments);
}

// ---- a launch with attributes ---------------------------------------------------------------------------

enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore = 0,
    cudaLaunchAttributeAccessPolicyWindow = 1,
    cudaLaunchAttributeCooperative = 2,
    cudaLaunchAttributeSynchronizationPolicy = 3,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
    cudaLaunchAttributePriority = 8
};
union cudaLaunchAttributeValue {
    char pad[64];
    int cooperative;
    struct {
        unsigned int x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
    int priority;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute* attrs;
    unsigned int numAttrs;
};
namespace cudacpu {
Config config_of(const cudaLaunchConfig_t& config);
}
template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Params...), Args&&... args) {
    auto call = [&](Params... values) {
        void* arguments[] = {nullptr, const_cast<void*>(static_cast<const void*>(&values))...};
        return cudacpu::launch_remembered(cudacpu::kernel_address("kernel", kernel),
                                          cudacpu::config_of(*config), arguments + 1);
    };
    return call(std::forward<Args>(args)...);
}
// A kernel whose start may overlap the end of the one before it: here it never does.
static inline void cudaGridDependencySynchronize() {}
static inline void cudaTriggerProgrammaticLaunchCompletion() {}

static inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                              void** arguments) {
    return cudacpu::launch_remembered(kernel, cudacpu::config_of(*config), arguments);
}

namespace cudacpu {
cudaError_t most_clusters(int* count, const cudaLaunchConfig_t* launch);
cudaError_t largest_cluster(int* size, const void* kernel);
}  // namespace cudacpu
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveClusters(int* count, Kernel, const cudaLaunchConfig_t* launch) {
    return cudacpu::most_clusters(count, launch);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, Kernel kernel, const cudaLaunchConfig_t*) {
    return cudacpu::largest_cluster(size, reinterpret_cast<const void*>(kernel));
}
