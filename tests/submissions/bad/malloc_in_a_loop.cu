// expect: out-of-memory
// kind: memory
// backend: cpu
// flags: --case N=1/uniform
// Host memory until malloc gives null, which is written to.
#include <cstdlib>
#include <cstring>
extern "C" void solve(const float* input, float* output, int N) {
    for (;;) memset(malloc(1 << 26), 1, 1 << 26);
}
