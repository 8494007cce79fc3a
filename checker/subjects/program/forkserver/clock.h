/* Whether a run asks for the time. */
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_CLOCK_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_CLOCK_H_

#include "checker/subjects/program/forkserver/serve.h"

/* Begins to notice questions for the time: from here on the program's own code runs, and no server. */
void powercut_notice_clock(void);

#endif /* POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_CLOCK_H_ */
