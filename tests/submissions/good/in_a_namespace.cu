// expect: accepted
// kind: good
// Declared before it is defined, inside a namespace, with the array's brackets; the status of every call is looked at.
#include <cstdio>
#include <cstdlib>
#define CHECK(call)                                                                              \
    do {                                                                                         \
        if (cudaError_t error = (call)) {                                                        \
            fprintf(stderr, "%s at %s:%d\n", cudaGetErrorString(error), __FILE__, __LINE__); \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)
namespace mine {
extern "C" void solve(const float input[], float output[], int N);
__global__ void softmax(const float* input, float* output, int N) {
    float m = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x % 32; i < N; i += 32) m = fmaxf(m, input[i]);
    for (int o = 16; o > 0; o /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
    for (int i = threadIdx.x % 32; i < N; i += 32) sum += expf(input[i] - m);
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
    for (int i = threadIdx.x; i < N; i += blockDim.x) output[i] = expf(input[i] - m) / sum;
}
extern "C" void solve(const float input[], float output[], int N) {
    int blocks = 0;
    CHECK(cudaSetDevice(0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, softmax, 256, 0));
    void* arguments[] = {&input, &output, &N};
    CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(softmax), dim3(1), dim3(blocks > 0 ? 256 : 32), arguments, 0, 0));
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}
}  // namespace mine
