// problem: subtract_one
// idiom: bytes and 16-bit words of one 32-bit word by different threads
__global__ void mark(unsigned char* bytes, unsigned short* words, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) bytes[i] = i % 200;
    if (i < N) words[i] = i % 200;
}
__global__ void subtract(const float* input, float* output, const unsigned char* bytes,
                         const unsigned short* words, int N) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) output[i] = input[i] - (bytes[i] == words[i] ? 1.0f : 0.0f);
}
extern "C" void solve(const float* input, float* output, int N) {
    unsigned char* bytes;
    unsigned short* words;
    cudaMalloc(&bytes, N);
    cudaMalloc(&words, 2 * N);
    mark<<<(N + 255) / 256, 256>>>(bytes, words, N);
    subtract<<<(N + 255) / 256, 256>>>(input, output, bytes, words, N);
    cudaFree(bytes);
    cudaFree(words);
}
