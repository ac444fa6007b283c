// expect: wrong-answer
// kind: reads-outside
// problem: softmax_rows
// says: x the tolerance
// Takes it that rows of the input follow one another.
__global__ void softmax(const float* input, float* output, int n_cols, long long out) {
    const float* x = input + (long long)blockIdx.x * n_cols;
    float* y = output + blockIdx.x * out;
    float m = -INFINITY, sum = 0.0f;
    for (int i = 0; i < n_cols; i++) m = fmaxf(m, x[i]);
    for (int i = 0; i < n_cols; i++) sum += expf(x[i] - m);
    for (int i = 0; i < n_cols; i++) y[i] = expf(x[i] - m) / sum;
}
extern "C" void solve(const float* input, float* output, int n_rows, int n_cols, int in, int out) {
    softmax<<<n_rows, 1>>>(input, output, n_cols, out);
    cudaDeviceSynchronize();
}
