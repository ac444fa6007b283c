// Stands in for CUDA's header of the same name: half precision.
#pragma once

#include "cuda_runtime.h"
#include "cudacpu/small_float.h"

#define CUDACPU_H __half
#define CUDACPU_H2 __half2
#define CUDACPU_RAW __half_raw
#define CUDACPU_RAW2 __half2_raw
#define CUDACPU_FORMAT cudacpu::Binary16
#define CUDACPU_NAME(a, b) a##half##b
#define CUDACPU_NAME2(a, b) a##half2##b
#define CUDACPU_SAME2 __half2half2
#include "cudacpu/small_float_ops.def"
#undef CUDACPU_H
#undef CUDACPU_H2
#undef CUDACPU_RAW
#undef CUDACPU_RAW2
#undef CUDACPU_FORMAT
#undef CUDACPU_NAME
#undef CUDACPU_NAME2
#undef CUDACPU_SAME2

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

static inline float2 __half22float2(__half2 v) { return {float(v.x), float(v.y)}; }

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
