// Includes CUDACPU_HEADER, one of NVIDIA's CCCL (Thrust, cuda::std), as plain C++: Thrust's device is then
// the host, in its own sequential back end. The rewriter writes this for #include <thrust/...> and for parts
// of libcu++, with an error where the header is not there.
#if __has_include(CUDACPU_HEADER)
#pragma push_macro("__CUDACC__")
#pragma push_macro("__CUDA_ARCH__")
#undef __CUDACC__
#undef __CUDA_ARCH__
#ifndef THRUST_DEVICE_SYSTEM
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#endif
#include CUDACPU_HEADER
#ifdef THRUST_VERSION
#include "thrust_policies.h"
#endif
#pragma pop_macro("__CUDACC__")
#pragma pop_macro("__CUDA_ARCH__")
#endif
#undef CUDACPU_HEADER
