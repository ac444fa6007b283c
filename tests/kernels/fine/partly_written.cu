// problem: subtract_one
// idiom: padding, tails of vectors and copies of memory that was written only in part
struct Pair {
    char kind;
    double value;
};
__global__ void subtract(const float* input, float* output, Pair* pairs, float4* vectors, int N) {
    __shared__ Pair shared[64];
    extern __shared__ float room[];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (i >= N) return;
    shared[t].kind = 1;
    shared[t].value = input[i];
    pairs[i] = shared[t];
    room[2 * t] = 1.0f;
    vectors[i].x = 1.0f;
    const float4 v = vectors[i];
    const Pair pair = pairs[i];
    output[i] = static_cast<float>(pair.value) - (pair.kind == 1 ? v.x * room[2 * t] : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    Pair *pairs, *copies;
    float4* vectors;
    cudaMalloc(&pairs, 2 * N * sizeof(Pair));
    cudaMalloc(&copies, 2 * N * sizeof(Pair));
    cudaMalloc(&vectors, N * sizeof(float4));
    subtract<<<(N + 63) / 64, 64, 128 * sizeof(float)>>>(input, output, pairs, vectors, N);
    cudaMemcpy(copies, pairs, 2 * N * sizeof(Pair), cudaMemcpyDeviceToDevice);
    cudaFree(pairs);
    cudaFree(copies);
    cudaFree(vectors);
}
