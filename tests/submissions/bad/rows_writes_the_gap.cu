// expect: out-of-bounds
// kind: writes-outside
// problem: softmax_rows
// says: wrote output\[\d+\], 1 past the end of row \d+ \(\d+ columns\) and \d+ before row \d+
// Writes one column too many, but never past the last row.
__global__ void softmax(const float* input, float* output, int n_cols, long long in, long long out) {
    const float* x = input + blockIdx.x * in;
    float* y = output + blockIdx.x * out;
    float m = -INFINITY, sum = 0.0f;
    for (int i = 0; i < n_cols; i++) m = fmaxf(m, x[i]);
    for (int i = 0; i < n_cols; i++) sum += expf(x[i] - m);
    int columns = blockIdx.x + 1 < gridDim.x && n_cols < out ? n_cols + 1 : n_cols;
    for (int i = 0; i < columns; i++) y[i] = i < n_cols ? expf(x[i] - m) / sum : 0.0f;
}
extern "C" void solve(const float* input, float* output, int n_rows, int n_cols, int in, int out) {
    softmax<<<n_rows, 1>>>(input, output, n_cols, in, out);
    cudaDeviceSynchronize();
}
