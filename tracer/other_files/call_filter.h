/* A filter for the kernel (seccomp) that hands calls on names of files to a listener before they are made. It holds for
 * the process that installs it and for all that it starts, whatever they are: threads, children, static programs.
 *
 * A call is not held back by the listener for longer than it takes to look at it. When the listener is closed such
 * calls fail with ENOSYS: it stays open as long as one of the processes lives. */
#ifndef POWERCUT_TRACER_OTHER_FILES_CALL_FILTER_H_
#define POWERCUT_TRACER_OTHER_FILES_CALL_FILTER_H_

#ifdef __cplusplus
extern "C" {
#endif

enum powercut_told_calls {
  kPowercutToldChanges = 0, /* calls that may change a file, or make or take away a name */
  kPowercutToldAll = 1,     /* those that look at names and list folders, too */
};

/* The listener's descriptor, which an exec closes, or -1 with errno. */
int powercut_tell_file_calls(enum powercut_told_calls told);

/* Hands `listener` over a Unix socket, or the errno of one that there is not. False: nobody listens. */
int powercut_send_listener(int socket, int listener, int error);
/* The other side. -1 with errno where there is none. */
int powercut_receive_listener(int socket);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_OTHER_FILES_CALL_FILTER_H_ */
