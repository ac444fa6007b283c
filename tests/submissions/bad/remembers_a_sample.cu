// expect: wrong-answer
// kind: remembers
// says: N=65537/uniform
// Takes vectors that agree at 64 places for the same vector.
#include <map>
#include <vector>
__device__ float block_reduce(float value, bool maximum) {
    __shared__ float shared[256];
    shared[threadIdx.x] = value;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            float other = shared[threadIdx.x + half];
            shared[threadIdx.x] = maximum ? fmaxf(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
        }
    }
    __syncthreads();
    value = shared[0];
    __syncthreads();
    return value;
}
__global__ void softmax(const float* input, float* output, int N) {
    float m = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += 256) m = fmaxf(m, input[i]);
    m = block_reduce(m, true);
    for (int i = threadIdx.x; i < N; i += 256) sum += expf(input[i] - m);
    sum = block_reduce(sum, false);
    for (int i = threadIdx.x; i < N; i += 256) output[i] = expf(input[i] - m) / sum;
}
extern "C" void solve(const float* input, float* output, int N) {
    static std::map<std::vector<float>, float*> answers;
    std::vector<float> key(65, float(N));
    for (int i = 0; i < 64; ++i) {
        long long at = (long long)i * (N - 1) / 63;
        cudaMemcpy(&key[i], input + at, sizeof(float), cudaMemcpyDeviceToHost);
    }
    if (!answers.count(key)) {
        cudaMalloc(&answers[key], N * sizeof(float));
        softmax<<<1, 256>>>(input, answers[key], N);
    }
    cudaMemcpy(output, answers[key], N * sizeof(float), cudaMemcpyDeviceToDevice);
}
