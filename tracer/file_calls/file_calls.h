/* The table of the system calls on files of x86-64 Linux: what each call does, and the roles of its arguments.
 *
 * Four tracers dispatch from the table: the Valgrind tool, the Pintool, the preloaded runtime with its filter of a
 * run's calls, and the listener for names of files (other_files/). The house test tests/house/test_file_calls.py holds
 * that each tracer handles or names every kind of call. The code is plain C without a C library, and C++ as old as a
 * Pin kit's. */
#ifndef POWERCUT_TRACER_FILE_CALLS_FILE_CALLS_H_
#define POWERCUT_TRACER_FILE_CALLS_FILE_CALLS_H_

#ifdef __cplusplus
extern "C" {
#endif

enum powercut_call_does {
  kPowercutNoFileCall,  /* the call is not in the table */
  kPowercutReads,       /* from a descriptor to memory */
  kPowercutWrites,      /* from memory to a descriptor */
  kPowercutCopies,      /* from a descriptor to another one */
  kPowercutAllocates,   /* gives a range of a file its blocks, or zeroes, or takes the blocks away */
  kPowercutResizes,     /* by descriptor or path */
  kPowercutSyncs,       /* one file */
  kPowercutSyncsRange,  /* starts to write a range of a file, or waits; promises no durability */
  kPowercutSyncsAll,    /* all files, or those of the descriptor's file system */
  kPowercutSyncsMemory, /* a range of mappings */
  kPowercutMaps,        /* the result is the address */
  kPowercutUnmaps,      /* a range of mappings */
  kPowercutRemaps,      /* the result is the new address */
  kPowercutProtects,    /* changes what may be done to a range of mappings */
  kPowercutSeeks,       /* moves the position of a descriptor */
  kPowercutOpens,       /* the result is a descriptor; its flags may make or empty the file */
  kPowercutCloses,      /* a descriptor, also one that another takes the place of */
  kPowercutMakes,       /* a name that must not be there, of a folder, node or link */
  kPowercutLinks,       /* a second name of a file */
  kPowercutRenames,     /* the second path gets the file; by its flags the two change places */
  kPowercutTakes,       /* a name away, of a file or (unlinkat) of a folder */
  kPowercutTakesFolder, /* a folder's name away */
  kPowercutLooks,       /* at what a name leads to, unless AT_SYMLINK_NOFOLLOW is among the flags */
  kPowercutLooksAtLink, /* at what stands at a name, a link itself */
  kPowercutLists,       /* the names in a folder */
  kPowercutExecutes,    /* replaces the program by that of a name */
  kPowercutControls,    /* a descriptor, by a request number */
  kPowercutRings,       /* opens a queue by which any call can be made out of sight */
  kPowercutSubmits,     /* hands reads and writes to the kernel, which does them later */
  kPowercutHides        /* leads to files by something else than their names, or changes what names mean */
};

/* name · number · what it does · the roles of its arguments, one letter each:
 *
 *   d   descriptor that is read, written, resized, synced or listed; of a copy: the descriptor written to
 *   s   descriptor that a copy comes from
 *   F   descriptor of the folder from which the next path is seen
 *   p   path
 *   G   descriptor of the folder of the second path
 *   q   second path: the new name
 *   b   buffer              v  array of buffers (struct iovec)
 *   n   length in bytes, or how many buffers, or the new length in place of `w`
 *   w   length that a mapping had
 *   o   offset in the file  i  pointer to the offset in `s`      e  pointer to the offset in `d`
 *   z   new size            a  address of a mapping
 *   l   flags, also the mode of fallocate
 *   r   protection, or the number of a request
 *   -   anything else */
#define POWERCUT_FILE_CALLS(CALL)                         \
  CALL(read, 0, kPowercutReads, "dbn")                    \
  CALL(write, 1, kPowercutWrites, "dbn")                  \
  CALL(open, 2, kPowercutOpens, "pl-")                    \
  CALL(close, 3, kPowercutCloses, "d")                    \
  CALL(stat, 4, kPowercutLooks, "pb")                     \
  CALL(lstat, 6, kPowercutLooksAtLink, "pb")              \
  CALL(lseek, 8, kPowercutSeeks, "do-")                   \
  CALL(mmap, 9, kPowercutMaps, "anrldo")                  \
  CALL(mprotect, 10, kPowercutProtects, "anr")            \
  CALL(munmap, 11, kPowercutUnmaps, "an")                 \
  CALL(ioctl, 16, kPowercutControls, "dr-")               \
  CALL(pread64, 17, kPowercutReads, "dbno")               \
  CALL(pwrite64, 18, kPowercutWrites, "dbno")             \
  CALL(readv, 19, kPowercutReads, "dvn")                  \
  CALL(writev, 20, kPowercutWrites, "dvn")                \
  CALL(access, 21, kPowercutLooks, "p-")                  \
  CALL(mremap, 25, kPowercutRemaps, "awnl-")              \
  CALL(msync, 26, kPowercutSyncsMemory, "anl")            \
  CALL(dup2, 33, kPowercutCloses, "-d")                   \
  CALL(sendfile, 40, kPowercutCopies, "dsin")             \
  CALL(execve, 59, kPowercutExecutes, "p--")              \
  CALL(fsync, 74, kPowercutSyncs, "d")                    \
  CALL(fdatasync, 75, kPowercutSyncs, "d")                \
  CALL(truncate, 76, kPowercutResizes, "pz")              \
  CALL(ftruncate, 77, kPowercutResizes, "dz")             \
  CALL(getdents, 78, kPowercutLists, "dbn")               \
  CALL(chdir, 80, kPowercutLooks, "p")                    \
  CALL(rename, 82, kPowercutRenames, "pq")                \
  CALL(mkdir, 83, kPowercutMakes, "p-")                   \
  CALL(rmdir, 84, kPowercutTakesFolder, "p")              \
  CALL(creat, 85, kPowercutOpens, "p-")                   \
  CALL(link, 86, kPowercutLinks, "pq")                    \
  CALL(unlink, 87, kPowercutTakes, "p")                   \
  CALL(symlink, 88, kPowercutMakes, "-p")                 \
  CALL(readlink, 89, kPowercutLooksAtLink, "pbn")         \
  CALL(chmod, 90, kPowercutLooks, "p-")                   \
  CALL(chown, 92, kPowercutLooks, "p--")                  \
  CALL(lchown, 94, kPowercutLooksAtLink, "p--")           \
  CALL(utime, 132, kPowercutLooks, "p-")                  \
  CALL(mknod, 133, kPowercutMakes, "p--")                 \
  CALL(statfs, 137, kPowercutLooks, "pb")                 \
  CALL(pivot_root, 155, kPowercutHides, "--")             \
  CALL(chroot, 161, kPowercutHides, "-")                  \
  CALL(sync, 162, kPowercutSyncsAll, "")                  \
  CALL(getxattr, 191, kPowercutLooks, "p---")             \
  CALL(lgetxattr, 192, kPowercutLooksAtLink, "p---")      \
  CALL(listxattr, 194, kPowercutLooks, "p--")             \
  CALL(llistxattr, 195, kPowercutLooksAtLink, "p--")      \
  CALL(io_submit, 209, kPowercutSubmits, "---")           \
  CALL(getdents64, 217, kPowercutLists, "dbn")            \
  CALL(utimes, 235, kPowercutLooks, "p-")                 \
  CALL(openat, 257, kPowercutOpens, "Fpl-")               \
  CALL(mkdirat, 258, kPowercutMakes, "Fp-")               \
  CALL(mknodat, 259, kPowercutMakes, "Fp--")              \
  CALL(fchownat, 260, kPowercutLooks, "Fp--l")            \
  CALL(newfstatat, 262, kPowercutLooks, "Fpbl")           \
  CALL(unlinkat, 263, kPowercutTakes, "Fpl")              \
  CALL(renameat, 264, kPowercutRenames, "FpGq")           \
  CALL(linkat, 265, kPowercutLinks, "FpGql")              \
  CALL(symlinkat, 266, kPowercutMakes, "-Fp")             \
  CALL(readlinkat, 267, kPowercutLooksAtLink, "Fpbn")     \
  CALL(fchmodat, 268, kPowercutLooks, "Fp-")              \
  CALL(faccessat, 269, kPowercutLooks, "Fp-")             \
  CALL(splice, 275, kPowercutCopies, "siden-")            \
  CALL(sync_file_range, 277, kPowercutSyncsRange, "donl") \
  CALL(utimensat, 280, kPowercutLooks, "Fp-l")            \
  CALL(fallocate, 285, kPowercutAllocates, "dlon")        \
  CALL(dup3, 292, kPowercutCloses, "-d-")                 \
  CALL(preadv, 295, kPowercutReads, "dvno-")              \
  CALL(pwritev, 296, kPowercutWrites, "dvno-")            \
  CALL(open_by_handle_at, 304, kPowercutHides, "---")     \
  CALL(syncfs, 306, kPowercutSyncsAll, "d")               \
  CALL(setns, 308, kPowercutHides, "--")                  \
  CALL(renameat2, 316, kPowercutRenames, "FpGql")         \
  CALL(execveat, 322, kPowercutExecutes, "Fp---")         \
  CALL(copy_file_range, 326, kPowercutCopies, "siden-")   \
  CALL(preadv2, 327, kPowercutReads, "dvno-l")            \
  CALL(pwritev2, 328, kPowercutWrites, "dvno-l")          \
  CALL(pkey_mprotect, 329, kPowercutProtects, "anr")      \
  CALL(statx, 332, kPowercutLooks, "Fpl-b")               \
  CALL(io_uring_setup, 425, kPowercutRings, "--")         \
  CALL(openat2, 437, kPowercutOpens, "Fp--")              \
  CALL(faccessat2, 439, kPowercutLooks, "Fp-l")

typedef struct powercut_file_call {
  unsigned short number;
  unsigned char does; /* enum powercut_call_does */
  char arguments[7];  /* the roles of the arguments, in their order */
  char name[18];
} powercut_file_call;

/* The rows, in ascending order of their numbers. */
static const powercut_file_call powercut_file_calls[] = {
#define POWERCUT_ROW(name, number, does, arguments) {number, does, arguments, #name},
    POWERCUT_FILE_CALLS(POWERCUT_ROW)
#undef POWERCUT_ROW
};

enum {
#define POWERCUT_ROW(name, number, does, arguments) kPowercutRowOf_##name,
  POWERCUT_FILE_CALLS(POWERCUT_ROW)
#undef POWERCUT_ROW
      kPowercutFileCalls /* how many rows there are */
};

/* Returns the row of the call with this number; null if the call is none on files. */
static inline const powercut_file_call* powercut_file_call_of(unsigned long number) {
  switch (number) {
#define POWERCUT_ROW(name, number, does, arguments) \
  case number:                                      \
    return &powercut_file_calls[kPowercutRowOf_##name];
    POWERCUT_FILE_CALLS(POWERCUT_ROW)
#undef POWERCUT_ROW
    default:
      return 0;
  }
}

static inline enum powercut_call_does powercut_call_does_what(const powercut_file_call* call) {
  return call == 0 ? kPowercutNoFileCall : (enum powercut_call_does)call->does;
}

/* Returns the index of the argument that has this role; -1 if no argument has the role. */
static inline int powercut_argument(const powercut_file_call* call, char role) {
  int i;
  for (i = 0; call->arguments[i] != '\0'; ++i) {
    if (call->arguments[i] == role) return i;
  }
  return -1;
}

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_FILE_CALLS_FILE_CALLS_H_ */
