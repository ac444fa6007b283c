// expect: wrong-answer
// kind: tail
// says: N=(1025|4095|4097|[1-9]\d{3,5})/\S+: output not written at index 1024
// flags: --case N=1025/uniform
// One block of 1024 threads, an element each.
__global__ void softmax(const float* input, float* output, int N) {
    __shared__ float shared[1024];
    int i = threadIdx.x;
    float x = i < N ? input[i] : -INFINITY;
    shared[i] = x;
    for (int half = 512; half > 0; half /= 2) {
        __syncthreads();
        if (i < half) shared[i] = fmaxf(shared[i], shared[i + half]);
    }
    __syncthreads();
    float e = expf(x - shared[0]);
    __syncthreads();
    shared[i] = e;
    for (int half = 512; half > 0; half /= 2) {
        __syncthreads();
        if (i < half) shared[i] += shared[i + half];
    }
    __syncthreads();
    if (i < N) output[i] = e / shared[0];
}
extern "C" void solve(const float* input, float* output, int N) {
    softmax<<<1, 1024>>>(input, output, N);
    cudaDeviceSynchronize();
}
