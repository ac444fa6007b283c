// kind: nothing-written
// expect: wrong-answer
// says: output not written at index 0
extern "C" void solve(const float* input, float* output, int N) {}
