// expect: out-of-memory
// kind: memory
// backend: cpu
// flags: --case N=1/uniform
// Host memory without end.
#include <vector>
extern "C" void solve(const float* input, float* output, int N) {
    std::vector<char*> kept;
    for (;;) kept.push_back(new char[1 << 28]);
}
