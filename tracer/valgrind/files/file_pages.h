/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of files, read page by page. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_FILE_PAGES_H_
#define POWERCUT_TRACER_VALGRIND_FILES_FILE_PAGES_H_

#include "pub_tool_basics.h"

enum { kFilePage = 4096 };
extern const UChar pc_zeros[kFilePage];

/* Is handed at most a page of what the file of `pool` holds at `offset`. */
typedef void FilePage(UInt pool, ULong offset, const UChar* bytes, UInt size);
/* Hands on the bytes from `offset` to `end`. Holes are passed over. */
void pc_each_page(const HChar* path, ULong offset, ULong end, FilePage* visit, UInt pool);
/* Writes a page to the stream as what the pool held at first, unless it is all zeroes. */
FilePage pc_content_page;
/* The same for a whole file of this size. */
void pc_file_content(UInt pool, const HChar* path, ULong size);

#endif
