// expect: compile-error
// kind: compile
// says: return
// The caller would have to pass the place of the result, which shifts the parameters.
struct Result {
    float values[16];
};
extern "C" Result solve(const float* input, float* output, int N) { return Result{}; }
