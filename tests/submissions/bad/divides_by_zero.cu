// expect: runtime-error
// kind: crash
// says: SIGFPE
// flags: --case N=1025/uniform
// An integer division by zero on the host.
extern "C" void solve(const float* input, float* output, int N) {
    volatile int zero = 0;
    output[N / zero] = 0.0f;
}
