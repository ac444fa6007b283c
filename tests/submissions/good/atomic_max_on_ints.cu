// expect: accepted
// kind: good
// The maximum by atomics on integers: floats are ordered as their bits are, negative ones the other way round.
#include <cfloat>

__device__ int bits_of_maximum;
__device__ float total;

__global__ void reset() {
    bits_of_maximum = __float_as_int(-FLT_MAX);
    total = 0.0f;
}

__device__ void atomic_max(float value) {
    if (value >= 0) atomicMax(&bits_of_maximum, __float_as_int(value));
    else atomicMin(reinterpret_cast<unsigned int*>(&bits_of_maximum), __float_as_uint(value));
}

__global__ void find_maximum(const float* input, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float m = i < N ? input[i] : -FLT_MAX;
    for (int offset = 16; offset > 0; offset /= 2) m = fmaxf(m, __shfl_down_sync(0xffffffff, m, offset));
    if (threadIdx.x % 32 == 0) atomic_max(m + 0.0f);  // + 0: a negative zero has the bits of a very small integer
}

__global__ void add(const float* input, float* output, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float e = 0;
    if (i < N) output[i] = e = expf(input[i] - __int_as_float(bits_of_maximum));
    for (int offset = 16; offset > 0; offset /= 2) e += __shfl_down_sync(0xffffffff, e, offset);
    __shared__ float warps[8];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = e;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) e += warps[w];
        atomicAdd(&total, e);
    }
}

__global__ void divide(float* output, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) output[i] /= total;
}

extern "C" void solve(const float* input, float* output, int N) {
    int blocks = (N + 255) / 256;
    reset<<<1, 1>>>();
    find_maximum<<<blocks, 256>>>(input, N);
    add<<<blocks, 256>>>(input, output, N);
    divide<<<blocks, 256>>>(output, N);
    cudaDeviceSynchronize();
}
