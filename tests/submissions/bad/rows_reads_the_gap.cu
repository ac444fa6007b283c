// expect: wrong-answer
// kind: reads-outside
// problem: softmax_rows
// says: output\[row \d+, column \d+\] is
// The last vector of two takes in what lies between the rows where the number of columns is odd.
__global__ void softmax(const float* input, float* output, int n_cols, long long in, long long out) {
    const float* x = input + blockIdx.x * in;
    float* y = output + blockIdx.x * out;
    float m = -INFINITY, sum = 0.0f;
    int columns = blockIdx.x + 1 < gridDim.x && n_cols < in ? (n_cols + 1) / 2 * 2 : n_cols;
    for (int i = 0; i < columns; i++) m = fmaxf(m, x[i]);
    for (int i = 0; i < n_cols; i++) sum += expf(x[i] - m);
    for (int i = 0; i < n_cols; i++) y[i] = expf(x[i] - m) / sum;
}
extern "C" void solve(const float* input, float* output, int n_rows, int n_cols, int in, int out) {
    softmax<<<n_rows, 1>>>(input, output, n_cols, in, out);
    cudaDeviceSynchronize();
}
