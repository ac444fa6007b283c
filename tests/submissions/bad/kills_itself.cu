// kind: crash
// expect: runtime-error
// says: SIGKILL
#include <csignal>
#include <unistd.h>
extern "C" void solve(const float* input, float* output, int N) { kill(getpid(), SIGKILL); }
