// expect: compile-error
// kind: compile
// says: syntax_error\.cu.*7
// A semicolon is missing.
extern "C" void solve(const float* input, float* output, int N) {
    int i = N
    output[0] = i;
}
