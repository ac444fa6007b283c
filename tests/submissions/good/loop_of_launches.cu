// expect: accepted
// kind: good
// The host halves the vector, launch after launch, between two buffers.
#include <utility>

template <bool MAXIMUM>
__global__ void halve(const float* from, float* to, int n, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= half) return;
    float a = from[i];
    if (i + half < n) a = MAXIMUM ? fmaxf(a, from[i + half]) : a + from[i + half];
    to[i] = a;
}
__global__ void exponentials(const float* input, const float* m, float* e, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) e[i] = expf(input[i] - *m);
}
__global__ void divide(float* output, const float* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] /= *sum;
}

template <bool MAXIMUM>
static const float* reduce(const float* from, float* a, float* b, int n) {
    while (n > 1) {
        int half = (n + 1) / 2;
        halve<MAXIMUM><<<(half + 255) / 256, 256>>>(from, a, n, half);
        from = a;
        std::swap(a, b);
        n = half;
    }
    return from;
}

extern "C" void solve(const float* input, float* output, int N) {
    float *a, *b, *c, *d;
    for (float** p : {&a, &b, &c, &d}) cudaMalloc(p, N * sizeof(float));
    const float* m = reduce<true>(input, a, b, N);
    exponentials<<<(N + 255) / 256, 256>>>(input, m, output, N);
    divide<<<(N + 255) / 256, 256>>>(output, reduce<false>(output, c, d, N), N);
    for (float* p : {a, b, c, d}) cudaFree(p);
}
