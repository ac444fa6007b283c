// problem: subtract_one
// idiom: many threads set one flag to one value
__global__ void search(const float* input, float* output, int* found, int N) {
    __shared__ bool any;
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (threadIdx.x == 0) any = false;
    __syncthreads();
    if (i < N && input[i] == input[i]) {
        any = true;
        *found = 1;
    }
    __syncthreads();
    if (i < N) output[i] = input[i] - (any ? 1.0f : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    int* found;
    cudaMalloc(&found, sizeof(int));
    cudaMemset(found, 0, sizeof(int));
    search<<<(N + 255) / 256, 256>>>(input, output, found, N);
    cudaFree(found);
}
