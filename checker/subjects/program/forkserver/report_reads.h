/* The runs of a program report their reads of the images. */
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_REPORT_READS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_REPORT_READS_H_

/* Prepares reports before the first run, where the environment asks for them (serve.h). */
void powercut_prepare_reads(void);
/* Begins the report of a run. Call it last in each run, before the run goes on with main. */
void powercut_begin_reads(void);

#endif /* POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_REPORT_READS_H_ */
