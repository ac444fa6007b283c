// expect: wrong-answer
// kind: output
// says: output not written
// flags: --case N=1025/uniform
// 200 MB of output.
#include <cstdio>
extern "C" void solve(const float* input, float* output, int N) {
    static bool done = false;
    for (int i = 0; i < 200000 && !done; ++i) printf("%01000d\n", 0);
    done = true;
}
