// problem: subtract_one
// bug: two threads store different values to one element of shared memory
// found: race in collide at 7
__global__ void collide(const float* input, float* output, int N) {
    __shared__ int owner[128];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    owner[t % 128] = t;
    __syncthreads();
    if (i < N) output[i] = input[i] - (owner[t % 128] % 128 == t % 128 ? 1.0f : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    collide<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
