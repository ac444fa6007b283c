// problem: subtract_one
// bug: a __device__ variable that all threads change
// found: race on the __device__ variable total in add at 7
__device__ int total;
__global__ void add(const float* input, float* output, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    total = total + i;
    if (i < N) output[i] = input[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    add<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
