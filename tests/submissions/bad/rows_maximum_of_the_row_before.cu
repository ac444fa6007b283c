// expect: wrong-answer
// kind: arithmetic
// problem: softmax_rows
// says: of \d+ elements wrong
// One block walks all rows and never starts its maximum anew: exponentials underflow once a row had larger elements.
__global__ void softmax(const float* input, float* output, int n_rows, int n_cols, long long in, long long out) {
    float m = -INFINITY;
    for (int row = 0; row < n_rows; row++) {
        const float* x = input + row * in;
        float* y = output + row * out;
        float sum = 0.0f;
        for (int i = 0; i < n_cols; i++) m = fmaxf(m, x[i]);
        for (int i = 0; i < n_cols; i++) sum += expf(x[i] - m);
        for (int i = 0; i < n_cols; i++) y[i] = expf(x[i] - m) / sum;
    }
}
extern "C" void solve(const float* input, float* output, int n_rows, int n_cols, int in, int out) {
    softmax<<<1, 1>>>(input, output, n_rows, n_cols, in, out);
    cudaDeviceSynchronize();
}
