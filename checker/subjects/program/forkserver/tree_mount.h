/* A mount namespace in which a FUSE file system lies over one folder: made, and entered by processes whose runs are to
 * find that file system there. No other process sees the mount. It ends with the last process and descriptor of its
 * namespace. */
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_TREE_MOUNT_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_TREE_MOUNT_H_

/* First words of powercut-run-server.
 *   --mount SOCKET FOLDER: makes the namespace, hands its descriptors over the socket, and ends.
 *   --inside MOUNTS USERS CPU TREE FOLDER WORD…: enters the namespaces of these descriptors (USERS may be -1), stays on
 * this processor (-1: on any), and goes on in FOLDER with the other words. TREE is the folder over which the mount
 * lies. */
#define POWERCUT_TREE_MOUNT "--mount"
#define POWERCUT_TREE_INSIDE "--inside"
/* The folder of a run, where the folder lies in the tree: each run enters it anew. */
#define POWERCUT_FORK_FOLDER "POWERCUT_FORK_FOLDER"

/* The descriptors, in the order in which they come. Where one is missing, an errno comes in its place; the namespace of
 * users is missing with 0 where none was needed. */
enum powercut_tree_part { kPowercutTreeDevice, kPowercutTreeMounts, kPowercutTreeUsers, kPowercutTreeParts };

/* Returns the exit status of the process. */
int powercut_mount_tree(int socket, const char* folder);
/* Ends the process with status 127 and a sentence when a namespace cannot be entered. */
void powercut_enter_tree(int mounts, int users, int cpu, const char* tree, const char* folder);
/* Refuses calls to this process, and to all that it starts, that the server of the tree would not hear of. Returns 0,
 * or -1 with errno. */
int powercut_refuse_untold_calls(void);
/* Enters POWERCUT_FORK_FOLDER, where the environment has it. Only in a run. */
void powercut_enter_folder(void);

#endif /* POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_TREE_MOUNT_H_ */
