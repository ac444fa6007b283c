// expect: runtime-error
// says: illegal memory access|SIGSEGV
// Writes where nothing is mapped: CUDA loses its context, a CPU the process. Later cases get a new worker.
__global__ void write(float* output, int N) {
    float* nowhere = reinterpret_cast<float*>(16);
    if (N > 1000) nowhere[threadIdx.x] = 1.0f;
    float sum = 0.0f;
    for (int i = 0; i < N; ++i) sum += 1.0f;
    for (int i = 0; i < N; ++i) output[i] = 1.0f / sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    write<<<1, 1>>>(output, N);
    cudaDeviceSynchronize();
}
