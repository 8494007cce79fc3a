/* Flush, fence and streaming intrinsics as calls of the runtime (tracer/runtime/hooks/callbacks.cc): -fsanitize=thread
 * has no callback for them. Not seen: the same in inline assembly. The kinds are those of tracer/runtime/hooks.h. */
#ifndef POWERCUT_CALLBACKS_INTRINSICS_H_
#define POWERCUT_CALLBACKS_INTRINSICS_H_

/* The compiler's functions first, all of them; then their names. */
#include_next <immintrin.h>

#ifdef __cplusplus
extern "C" {
#endif
void __powercut_do_flush(const void* address, unsigned kind);
void __powercut_do_fence(unsigned kind);
void __powercut_do_stream(void* address, const void* value, unsigned long size);
#ifdef __cplusplus
}
#endif

/* The value of the type that the intrinsic takes; the place in the program is that of the intrinsic. */
#define POWERCUT_STREAM(type, address, value)                                \
  __extension__({                                                            \
    type powercut_value = (value);                                           \
    __powercut_do_stream((address), &powercut_value, sizeof powercut_value); \
  })

#define _mm_clwb(address) __powercut_do_flush((address), 1u)
#define _mm_clflushopt(address) __powercut_do_flush((address), 2u)
#define _mm_clflush(address) __powercut_do_flush((address), 3u)
#define _mm_sfence() __powercut_do_fence(1u)
#define _mm_mfence() __powercut_do_fence(2u)
#define __builtin_ia32_clwb(address) __powercut_do_flush((address), 1u)
#define __builtin_ia32_clflushopt(address) __powercut_do_flush((address), 2u)
#define __builtin_ia32_clflush(address) __powercut_do_flush((address), 3u)
#define __builtin_ia32_sfence() __powercut_do_fence(1u)
#define __builtin_ia32_mfence() __powercut_do_fence(2u)
#define _mm_stream_si32(address, value) POWERCUT_STREAM(int, address, value)
#define _mm_stream_si64(address, value) POWERCUT_STREAM(long long, address, value)
#define _mm_stream_si128(address, value) POWERCUT_STREAM(__m128i, address, value)
#define _mm_stream_ps(address, value) POWERCUT_STREAM(__m128, address, value)
#define _mm_stream_pd(address, value) POWERCUT_STREAM(__m128d, address, value)
#ifdef __AVX__
#define _mm256_stream_si256(address, value) POWERCUT_STREAM(__m256i, address, value)
#define _mm256_stream_ps(address, value) POWERCUT_STREAM(__m256, address, value)
#define _mm256_stream_pd(address, value) POWERCUT_STREAM(__m256d, address, value)
#endif
#ifdef __AVX512F__
#define _mm512_stream_si512(address, value) POWERCUT_STREAM(__m512i, address, value)
#define _mm512_stream_ps(address, value) POWERCUT_STREAM(__m512, address, value)
#define _mm512_stream_pd(address, value) POWERCUT_STREAM(__m512d, address, value)
#endif

#endif /* POWERCUT_CALLBACKS_INTRINSICS_H_ */
