// expect: runtime-error
// kind: crash
// says: SIGSEGV
// flags: --case N=1025/uniform
// Host code writes through a null pointer.
extern "C" void solve(const float* input, float* output, int N) { *static_cast<volatile int*>(nullptr) = N; }
