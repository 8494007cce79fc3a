/* The runs of a program report what they read of the images. */
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_REPORT_READS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_REPORT_READS_H_

/* Before the first run, where the environment asks for it (serve.h). */
void powercut_prepare_reads(void);
/* In each run, last: it goes on with main. */
void powercut_begin_reads(void);

#endif /* POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_REPORT_READS_H_ */
