/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of Valgrind's core that are left out of this tool, by the linker's --wrap.
 *
 * The core's reader of DWARF line numbers knows less than today's compilers write (clang's DWARF 5). The reader gives
 * up on the whole process where it does not understand. The tool needs no reader: stacks are addresses, unwound by
 * .eh_frame, and become lines when a report is made. The tool also starts faster without the reader. */
#include "tracer/valgrind/core.h"

void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void);
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void) {}

void __wrap_vgModuleLocal_read_debuginfo_dwarf1(void);
void __wrap_vgModuleLocal_read_debuginfo_dwarf1(void) {}
