// expect: runtime-error
// kind: crash
// says: SIGSEGV|stack
// flags: --case N=1025/uniform
// The host runs out of stack.
static volatile int depth;
static int down(int n) {
    volatile char frame[4096];
    frame[0] = char(n);
    depth = n;
    return down(n + 1) + frame[0];
}
extern "C" void solve(const float* input, float* output, int N) { depth = down(0); }
