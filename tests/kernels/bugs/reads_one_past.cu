// problem: subtract_one
// bug: reads the right neighbour of the last element
// found: out-of-bounds, read .* at input.* 1 past the end in subtract at 7
__global__ void subtract(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= N) return;
    const float here = input[i], right = input[i + 1];
    output[i] = right == here + 0.123f ? 0.0f : here - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
