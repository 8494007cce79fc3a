/* Times of an image that no engine can set, as a run sees them. */
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_FILE_TIMES_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_FILE_TIMES_H_

#include <sys/stat.h>

/* An image and its folder have one time each. The times of making, of status changes and of reads are all the time of
 * writing. The engine chooses that time for each run, so that a run which depends on any of these times comes to
 * another end. Known inaccuracy: programs that make the system calls themselves, or are linked statically, see the
 * kernel's times of all but the last change. */
void powercut_settle_times(struct stat* status);
void powercut_settle_statx(struct statx* status);

#endif /* POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_FILE_TIMES_H_ */
