// expect: runtime-error
// kind: crash
// says: exited with status 0
// flags: --case N=1025/uniform
// Ends the process as if all was well.
#include <cstdlib>
extern "C" void solve(const float* input, float* output, int N) { exit(0); }
