// One feature of CUDA after another, each compared with the values that its documentation promises. The same
// files are built by nvcc for a GPU and by the host's compiler for the CPU. `solve` runs what the file holds
// and writes a line for each feature, "name<tab>ok" or "name<tab>what differs", to the file that
// CONFORMANCE_REPORT names.
#pragma once

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace conformance {
inline std::string& complaint() {
    static std::string text;
    return text;
}
inline void complain(const char* what, size_t index, double got, double expected) {
    if (!complaint().empty()) return;
    char line[300];
    snprintf(line, sizeof line, "%s: value %zu is %.17g, expected %.17g", what, index, got, expected);
    complaint() = line;
}
inline void expect_success(cudaError_t error, const char* what) {
    if (error == cudaSuccess || !complaint().empty()) return;
    complaint() = std::string(what) + ": " + cudaGetErrorName(error);
}

// Device memory with values that the compiler cannot know.
template <class T>
struct Input {
    T* data = nullptr;
    Input(std::initializer_list<T> values) : Input(std::vector<T>(values)) {}
    explicit Input(const std::vector<T>& values) {
        expect_success(cudaMalloc(&data, values.size() * sizeof(T)), "cudaMalloc");
        expect_success(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
                       "cudaMemcpy");
    }
    ~Input() { cudaFree(data); }
    Input(const Input&) = delete;
    operator T*() const { return data; }
};

// Device memory for results, all bits set before the kernel runs.
template <class T>
struct Output {
    T* data = nullptr;
    size_t count;
    explicit Output(size_t count) : count(count) {
        expect_success(cudaMalloc(&data, count * sizeof(T)), "cudaMalloc");
        expect_success(cudaMemset(data, 0xff, count * sizeof(T)), "cudaMemset");
    }
    ~Output() { cudaFree(data); }
    Output(const Output&) = delete;
    operator T*() const { return data; }

    std::vector<T> get() const {
        std::vector<T> values(count);
        expect_success(cudaGetLastError(), "launch");
        expect_success(cudaDeviceSynchronize(), "kernel");
        expect_success(cudaMemcpy(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost),
                       "cudaMemcpy");
        return values;
    }
    // The same bits; a NaN only has to be one.
    void expect(const std::vector<T>& expected, const char* what = "result") const {
        const std::vector<T> got = get();
        for (size_t i = 0; i < count; ++i) {
            const bool nans = got[i] != got[i] && expected.at(i) != expected.at(i);
            if (!nans && memcmp(&got[i], &expected.at(i), sizeof(T)) != 0)
                complain(what, i, got[i], expected[i]);
        }
    }
    void expect(std::initializer_list<T> expected) const { expect(std::vector<T>(expected)); }
    void expect_all(T value) const { expect(std::vector<T>(count, value)); }
    // At most so many units in the last place off.
    void expect_near(std::initializer_list<double> expected, double ulps) const {
        const std::vector<T> got = get();
        size_t i = 0;
        for (double value : expected) {
            const T nearest = static_cast<T>(value);
            const double ulp =
                fabs(static_cast<double>(nextafter(nearest, static_cast<T>(INFINITY))) - nearest);
            if (!(fabs(static_cast<double>(got[i]) - value) <= ulps * ulp))
                complain("result", i, got[i], value);
            ++i;
        }
    }
    void expect_close(std::initializer_list<double> expected, double relative) const {
        const std::vector<T> got = get();
        size_t i = 0;
        for (double value : expected) {
            if (!(fabs(static_cast<double>(got[i]) - value) <= relative * fabs(value)))
                complain("result", i, got[i], value);
            ++i;
        }
    }
};

inline void equal(double got, double expected, const char* what) {
    if (!(got == expected)) complain(what, 0, got, expected);
}

struct Feature {
    const char* name;
    void (*run)();
};
inline std::vector<Feature>& features() {
    static std::vector<Feature> all;
    return all;
}
struct Registration {
    Registration(const char* name, void (*run)()) { features().push_back({name, run}); }
};
}  // namespace conformance

#define FEATURE(name)                                                               \
    static void feature_##name();                                                   \
    static conformance::Registration registration_of_##name(#name, feature_##name); \
    static void feature_##name()
#define EQUAL(got, expected) conformance::equal(static_cast<double>(got), static_cast<double>(expected), #got)

using conformance::Input;
using conformance::Output;

extern "C" void solve(const float*, float*, int) {
    FILE* report = fopen(getenv("CONFORMANCE_REPORT"), "w");
    for (const conformance::Feature& feature : conformance::features()) {
        conformance::complaint().clear();
        feature.run();
        fprintf(report, "%s\t%s\n", feature.name,
                conformance::complaint().empty() ? "ok" : conformance::complaint().c_str());
        fflush(report);
        cudaGetLastError();
    }
    fclose(report);
}
