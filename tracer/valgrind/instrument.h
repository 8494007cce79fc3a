/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef POWERCUT_TRACER_VALGRIND_INSTRUMENT_H_
#define POWERCUT_TRACER_VALGRIND_INSTRUMENT_H_

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

IRSB* pc_instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout, const VexGuestExtents* extents,
                    const VexArchInfo* arch, IRType guest_word, IRType host_word);

#endif
