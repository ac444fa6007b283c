// expect: runtime-error
// kind: crash
// says: SIGABRT.*too hard
// flags: --case N=1025/uniform
// A C++ exception that nobody catches.
#include <stdexcept>
extern "C" void solve(const float* input, float* output, int N) { throw std::runtime_error("too hard"); }
