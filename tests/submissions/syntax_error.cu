// expect: compile-error
// says: syntax_error\.cu.*6
// A semicolon is missing.
extern "C" void solve(const float* input, float* output, int N) {
    int i = N
    output[0] = i;
}
