// problem: subtract_one
// idiom: a padded tile, written by rows and read by columns
__global__ void transpose(const float* input, float* output, int N) {
    __shared__ float tile[16][17];
    const int first = blockIdx.x * 256, x = threadIdx.x, y = threadIdx.y;
    const int i = first + y * 16 + x, j = first + x * 16 + y;
    tile[y][x] = i < N ? input[i] : 0.0f;
    __syncthreads();
    if (j < N) output[j] = tile[x][y] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    transpose<<<(N + 255) / 256, dim3(16, 16)>>>(input, output, N);
    cudaDeviceSynchronize();
}
