#define _GNU_SOURCE
#include "checker/subjects/program/forkserver/tree_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/other_files/call_filter.h"

static bool write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  close(fd);
  return done;
}

/* A user who may not mount becomes the only user of a namespace of users, under the number that he has. */
static bool leave_users(bool* left) {
  *left = false;
  if (unshare(CLONE_NEWNS) == 0) return true;
  if (errno != EPERM) return false;
  const unsigned user = geteuid(), group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  *left = true;
  char users[64], groups[64];
  snprintf(users, sizeof users, "%u %u 1\n", user, user);
  snprintf(groups, sizeof groups, "%u %u 1\n", group, group);
  return write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", users) &&
         write_file("/proc/self/gid_map", groups);
}

/* Returns the device, or -1 with errno. */
static int mount_over(const char* folder) {
  /* The kernel wants the device opened in the namespace of users in which it is mounted. */
  const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (device < 0) return -1;
  char options[128];
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", device, geteuid(),
           getegid());
  if (mount("powercut", folder, "fuse", MS_NOSUID | MS_NODEV | MS_NOATIME, options) == 0) return device;
  const int error = errno;
  close(device);
  errno = error;
  return -1;
}

int powercut_mount_tree(int socket, const char* folder) {
  bool left = false;
  /* A mount made here must not come to the namespace that this process comes from. */
  int device = -1;
  if (leave_users(&left) && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) device = mount_over(folder);
  powercut_send_listener(socket, device, errno);
  if (device < 0) return 1;
  const int mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  powercut_send_listener(socket, mounts, errno);
  const int users = left ? open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC) : -1;
  powercut_send_listener(socket, users, left ? errno : 0);
  return 0;
}

static void give_up(const char* what) {
  dprintf(STDERR_FILENO, "powercut: the command cannot run where its folder is the image: %s (%s)\n", what,
          strerror(errno));
  _exit(127);
}

void powercut_enter_tree(int mounts, int users, int cpu, const char* tree, const char* folder) {
  if (users >= 0 && setns(users, CLONE_NEWUSER) != 0) give_up("setns of users");
  if (setns(mounts, CLONE_NEWNS) != 0) give_up("setns of mounts");
  if (users >= 0) close(users);
  close(mounts);
  if (cpu >= 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  /* Until the kernel has asked whose the folder is, it counts as the superuser's, and in a namespace of users nobody
   * may write there. */
  struct stat status;
  if (stat(tree, &status) != 0) give_up(tree);
  if (chdir(folder) != 0) give_up(folder);
  if (powercut_refuse_untold_calls() != 0) give_up("a filter of calls");
}
