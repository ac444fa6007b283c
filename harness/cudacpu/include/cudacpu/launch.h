// Kernel launches. The rewriter turns `kernel<<<grid, block>>>(args)` into `CUDACPU_LAUNCH((kernel), grid,
// block)(args)`.
#pragma once

#include <type_traits>

#include "api.h"
#include "types.h"

namespace cudacpu {
struct Config {
    dim3 grid, block;
    size_t shared_bytes;
};
static inline Config config(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t = nullptr) {
    return Config{grid, block, shared_bytes};
}

// Checks the configuration as CUDA does, then runs thread(context) once for each thread of the grid, and
// returns when all are done. `entry` is the kernel's address, null where it is not known.
void launch(const char* name, const void* entry, const Config& config, void (*thread)(void*), void* context);

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
