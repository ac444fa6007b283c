// expect: out-of-bounds
// kind: patches
// says: at switches_the_checks_off.cu:17
// flags: --case N=1025/uniform
// backend: cpu
// Looks for what the judge tells the CPU layer by, to have no bounds checked; the control is handed out only once.
#include <dlfcn.h>
struct Control {
    void (*attach)(void*);
    void (*set_buffer)(int, size_t, size_t, size_t, size_t, int);
    void (*clear_buffers)();
};
__global__ void subtract(const float* input, float* output, int N) {
    float sum = 0.0f;
    for (int i = 0; i < N; ++i) sum += expf(input[i]);
    for (int i = 0; i < N; ++i) output[i] = expf(input[i]) / sum;
    if (input[N] == 0.123f) output[0] = 0.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    for (const char* name : {"cudacpu_clear_buffers", "_ZN7cudacpu13clear_buffersEv"}) {
        if (void* clear = dlsym(RTLD_DEFAULT, name)) reinterpret_cast<void (*)()>(clear)();
    }
    if (void* take = dlsym(RTLD_DEFAULT, "cudacpu_take_control")) {
        const Control* control = reinterpret_cast<const Control* (*)()>(take)();
        if (control != nullptr) control->clear_buffers();
    }
    subtract<<<1, 1>>>(input, output, N);
}
