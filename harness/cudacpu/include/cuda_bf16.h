// Stands in for CUDA's header of the same name: bfloat16.
#pragma once

#include "cuda_runtime.h"
#include "cudacpu/small_float.h"

#define CUDACPU_H __nv_bfloat16
#define CUDACPU_H2 __nv_bfloat162
#define CUDACPU_RAW __nv_bfloat16_raw
#define CUDACPU_RAW2 __nv_bfloat162_raw
#define CUDACPU_FORMAT cudacpu::BFloat16
#define CUDACPU_NAME(a, b) a##bfloat16##b
#define CUDACPU_NAME2(a, b) a##bfloat162##b
#define CUDACPU_SAME2 __bfloat162bfloat162
#include "cudacpu/small_float_ops.def"
#undef CUDACPU_H
#undef CUDACPU_H2
#undef CUDACPU_RAW
#undef CUDACPU_RAW2
#undef CUDACPU_FORMAT
#undef CUDACPU_NAME
#undef CUDACPU_NAME2
#undef CUDACPU_SAME2

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

static inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {float(v.x), float(v.y)}; }

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
