// expect: wrong-answer
// kind: nothing-written
// says: output not written at index 0
// flags: --case N=1025/uniform
extern "C" void solve(const float* input, float* output, int N) {}
