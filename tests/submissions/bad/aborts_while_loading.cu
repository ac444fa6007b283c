// expect: runtime-error
// kind: crash
// says: while the file was loaded
// backend: cpu
// flags: --case N=1025/uniform
// A static object whose constructor ends the process before solve is ever called.
#include <cstdlib>
struct Bad {
    Bad() { abort(); }
} bad;
extern "C" void solve(const float* input, float* output, int N) {}
