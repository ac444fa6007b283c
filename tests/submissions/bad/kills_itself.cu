// expect: runtime-error
// kind: crash
// says: SIGKILL
// flags: --case N=1025/uniform
#include <csignal>
#include <unistd.h>
extern "C" void solve(const float* input, float* output, int N) { kill(getpid(), SIGKILL); }
