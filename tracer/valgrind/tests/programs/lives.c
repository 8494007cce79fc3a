// Ways of a program to live and to die: argv[2] says which.
#include <cpuid.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "pool.h"

static char* pool;

static void* in_thread(void* argument) {
  AT(int, pool + 64 * (long)argument) = (int)(long)argument;
  return 0;
}

static void on_signal(int number) { AT(int, pool + 64) = number; }

int main(int argc, char** argv) {
  (void)argc;
  const char* how = argv[2];
  pool = map(open_file(argv[1], 8192), 8192, 0);
  AT(int, pool) = 1;
  if (strcmp(how, "exit") == 0) exit(42);
  if (strcmp(how, "crash") == 0) AT(int, 8) = 1;
  if (strcmp(how, "killed") == 0) raise(SIGKILL);
  if (strcmp(how, "signal") == 0) {
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
  }
  if (strcmp(how, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      AT(int, pool + 64) = 2;
      _exit(7);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    AT(int, pool + 128) = 3;
  }
  if (strcmp(how, "exec") == 0) {
    execl("/nowhere", "nowhere", (char*)0);
    AT(int, pool + 64) = 4;
    execl(argv[0], argv[0], argv[1], "exit", (char*)0);
  }
  if (strcmp(how, "spawn") == 0) {
    int status;
    const pid_t child = fork();
    if (child == 0) execl(argv[0], argv[0], argv[1], "exit", (char*)0);
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 42);
    AT(int, pool + 128) = 3;
  }
  if (strcmp(how, "threads") == 0) {
    for (long i = 1; i <= 3; ++i) {
      pthread_t thread;
      CHECK(pthread_create(&thread, 0, in_thread, (void*)i) == 0 && pthread_join(thread, 0) == 0);
    }
  }
  if (strcmp(how, "loads") == 0) {
    int sum = AT(int, pool + 4) + AT(char, pool + 100);
    __atomic_fetch_add((int*)(pool + 200), sum, __ATOMIC_SEQ_CST);
    CHECK(write(open("/dev/null", O_WRONLY), pool + 300, 5) == 5);
  }
  if (strcmp(how, "cpuid") == 0) {
    unsigned eax, ebx, ecx, edx;
    CHECK(__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx));
    CHECK((ebx >> 24 & 1) && (ebx >> 23 & 1));
    CHECK(__get_cpuid(1, &eax, &ebx, &ecx, &edx) && (edx >> 26 & 1));
  }
  if (strcmp(how, "fxsave") == 0) {
    __asm__ volatile("fxsave (%0)" : : "r"(pool + 512) : "memory");
    __asm__ volatile("fldpi; fstpt (%0)" : : "r"(pool + 64) : "memory");
    __asm__ volatile("cld; rep movsb" : : "D"(pool + 120), "S"("0123456789abcdef"), "c"(16L) : "memory");
  }
  return 0;
}
