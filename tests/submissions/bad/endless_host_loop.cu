// expect: time-limit-exceeded
// kind: endless
// flags: --timeout 1
extern "C" void solve(const float* input, float* output, int N) {
    for (volatile int i = 0;; i = i + 1) {
    }
}
