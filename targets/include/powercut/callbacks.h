/* Included by `powercut cc` before a program's own code where its compiler has no plugin: -fsanitize=thread has no
 * callback for the stores of the C library. The folder callbacks/ stands before the compiler's own headers, and does
 * this for intrinsics. */
#ifndef POWERCUT_CALLBACKS_H_
#define POWERCUT_CALLBACKS_H_
#ifndef __ASSEMBLER__

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define POWERCUT_NOTHROW noexcept(true)
#else
#define POWERCUT_NOTHROW
#endif

/* The C library declares them again; the names in assembly stay ours. */
void* memcpy(void*, const void*, size_t) POWERCUT_NOTHROW __asm__("__powercut_memcpy");
void* memmove(void*, const void*, size_t) POWERCUT_NOTHROW __asm__("__powercut_memmove");
void* mempcpy(void*, const void*, size_t) POWERCUT_NOTHROW __asm__("__powercut_mempcpy");
void* memset(void*, int, size_t) POWERCUT_NOTHROW __asm__("__powercut_memset");
void bcopy(const void*, void*, size_t) POWERCUT_NOTHROW __asm__("__powercut_bcopy");
void bzero(void*, size_t) POWERCUT_NOTHROW __asm__("__powercut_bzero");
char* strcpy(char*, const char*) POWERCUT_NOTHROW __asm__("__powercut_strcpy");
char* stpcpy(char*, const char*) POWERCUT_NOTHROW __asm__("__powercut_stpcpy");
char* strncpy(char*, const char*, size_t) POWERCUT_NOTHROW __asm__("__powercut_strncpy");
char* stpncpy(char*, const char*, size_t) POWERCUT_NOTHROW __asm__("__powercut_stpncpy");
char* strcat(char*, const char*) POWERCUT_NOTHROW __asm__("__powercut_strcat");
char* strncat(char*, const char*, size_t) POWERCUT_NOTHROW __asm__("__powercut_strncat");
int sprintf(char*, const char*, ...) POWERCUT_NOTHROW __asm__("__powercut_sprintf");
int snprintf(char*, size_t, const char*, ...) POWERCUT_NOTHROW __asm__("__powercut_snprintf");
int vsprintf(char*, const char*, va_list) POWERCUT_NOTHROW __asm__("__powercut_vsprintf");
int vsnprintf(char*, size_t, const char*, va_list) POWERCUT_NOTHROW __asm__("__powercut_vsnprintf");

#undef POWERCUT_NOTHROW
#ifdef __cplusplus
}
#endif

#endif /* __ASSEMBLER__ */
#endif /* POWERCUT_CALLBACKS_H_ */
