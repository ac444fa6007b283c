// problem: subtract_one
// bug: a vector load that reaches over the end
// found: out-of-bounds, read 16 bytes at input.* past the end in subtract at 7
__global__ void subtract(const float* input, float* output, int N) {
    const int i = 4 * (blockIdx.x * 64 + threadIdx.x);
    if (i >= N) return;
    const float4 v = *reinterpret_cast<const float4*>(input + i);
    output[i] = v.x - 1.0f;
    if (i + 1 < N) output[i + 1] = v.y - 1.0f;
    if (i + 2 < N) output[i + 2] = v.z - 1.0f;
    if (i + 3 < N) output[i + 3] = v.w - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    subtract<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
