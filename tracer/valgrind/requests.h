/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Client requests: powercut's own (targets/include/powercut/mark.h) and pmemcheck's. */
#ifndef POWERCUT_TRACER_VALGRIND_REQUESTS_H_
#define POWERCUT_TRACER_VALGRIND_REQUESTS_H_

#include "pub_tool_basics.h"

Bool pc_client_request(ThreadId tid, UWord* args, UWord* answer);

#endif
