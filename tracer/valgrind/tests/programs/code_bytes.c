// Flushes in every form of operand, between bytes that only look like flushes; code that is written at run time.
#include <asm/prctl.h>
#include <sys/syscall.h>

#include "pool.h"

/* The bytes of clwb (%rax) in immediates, displacements, a jump table and plain data, all within .text. */
__asm__(
    ".text\n"
    "look_alikes:\n"
    "  movl $0x30ae0f66, %eax\n"
    "  movabsq $0x30ae0f6638ae0f66, %rcx\n"
    "  leaq 0x30ae0f66(%rax), %rdx\n"
    "  jmp 1f\n"
    "  .byte 0x66, 0x0f, 0xae, 0x30, 0x66, 0x0f, 0xae, 0x38, 0x66, 0x41, 0x0f, 0xae, 0x37\n"
    "  .quad 0x38ae0f66, 0x30ae0f66\n"
    "1:\n"
    "  xorq %rcx, %rax\n"
    "  addq %rdx, %rax\n"
    "  ret\n"
    "look_alikes_end:\n");
extern uint64_t look_alikes(void);
extern const unsigned char look_alikes_end[];

/* xsaveopt and clflush are not clwb and clflushopt, whatever stands before them. */
static void neighbours(char* pool) {
  __asm__ volatile("clflush (%0)" : : "r"(pool + 0x40) : "memory");
  __asm__ volatile(".byte 0x3e; clflush (%0)" : : "r"(pool + 0x80) : "memory");
}

static void operands(char* pool) {
  register char* high __asm__("r12") = pool;  // needs a SIB byte
  register char* odd __asm__("r13") = pool;   // needs a displacement
  register long index __asm__("r14") = 16;
  __asm__ volatile("clwb (%0)" : : "r"(pool + 0x100) : "memory");
  __asm__ volatile("clwb 0x140(%0)" : : "r"(high) : "memory");
  __asm__ volatile("clwb (%0)" : : "r"(odd) : "memory");
  __asm__ volatile("clwb 0x180(%0,%1,4)" : : "r"(odd), "r"(index) : "memory");
  __asm__ volatile("clflushopt 0x200(,%0,8)" : : "r"((long)pool / 8) : "memory");
  __asm__ volatile("clflushopt -0x40(%0,%1)" : : "r"(high), "r"(0x2c0L) : "memory");
  __asm__ volatile(".byte 0x66; .byte 0x2e; clwb 0x300(%0)" : : "r"(pool) : "memory");
  __asm__ volatile("movq %%rbp, %%rbx; movq %0, %%rbp; clwb 0x340(%%rbp); movq %%rbx, %%rbp"
                   :
                   : "r"(pool)
                   : "rbx", "memory");
  __asm__ volatile("movq %%rsp, %%rbx; movq %0, %%rsp; clwb 0x380(%%rsp); movq %%rbx, %%rsp"
                   :
                   : "r"(pool)
                   : "rbx", "memory");
  __asm__ volatile("addr32 clwb (%k0)" : : "r"(pool + 0x3c0) : "memory");
}

/* The pool's own page of the program's image: only there can an instruction be relative to the next one. */
__asm__(
    ".section .persistent, \"aw\", @progbits\n"
    ".balign 4096\n"
    "image: .zero 4096\n"
    ".text\n"
    "relative:\n"
    "  clwb image(%rip)\n"
    "  clflushopt image+0x47(%rip)\n"
    "  ret\n");
extern char image[];
extern void relative(void);

static void through_fs(char* pool) {
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, pool) == 0);
  __asm__ volatile("clwb %%gs:0x400" : : : "memory");
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, 0) == 0);
}

static void generated(char* pool) {
  static const unsigned char kCode[] = {0x66, 0x0f, 0xae, 0x37, 0x66, 0x0f, 0xae, 0x7f, 0x40, 0xc3};
  unsigned char* code =
      (unsigned char*)mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != (unsigned char*)MAP_FAILED);
  /* Once across a page boundary, and a second time with other instructions in the same place. */
  unsigned char* at = code + 4096 - 2;
  memcpy(at, kCode, sizeof kCode);
  ((void (*)(char*))at)(pool + 0x440);  // clwb (%rdi), clflushopt 0x40(%rdi)
  at[3] = 0x3f;
  ((void (*)(char*))at)(pool + 0x4c0);  // now clflushopt twice
  CHECK(memcmp(at + 4, kCode + 4, sizeof kCode - 4) == 0);
}

int main(int argc, char** argv) {
  (void)argc;
  char* pool = (char*)mmap((void*)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
                           open_file(argv[1], 4096), 0);
  CHECK(pool == (char*)0x10000000);
  CHECK(mmap(image, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, open_file(argv[2], 4096), 0) == image);
  unsigned char before[256];
  const unsigned char* text = (const unsigned char*)look_alikes;
  const size_t size = (size_t)(look_alikes_end - text);
  CHECK(size < sizeof before);
  memcpy(before, text, size);
  CHECK(look_alikes() == (0x30ae0f66ull ^ 0x30ae0f6638ae0f66ull) + 0x30ae0f66ull * 2);
  neighbours(pool);
  operands(pool);
  relative();
  through_fs(pool);
  generated(pool);
  /* The executed bytes are the bytes that the program can read: nothing was rewritten. */
  CHECK(memcmp(before, text, size) == 0);
  const unsigned char* code = (const unsigned char*)relative;
  CHECK(code[0] == 0x66 && code[1] == 0x0f && code[2] == 0xae && code[3] == 0x35);
  return 0;
}
