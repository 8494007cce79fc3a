/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the bytes of files, page by page. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_FILE_PAGES_H_
#define POWERCUT_TRACER_VALGRIND_FILES_FILE_PAGES_H_

#include "pub_tool_basics.h"

enum { kFilePage = 4096 };
extern const UChar pc_zeros[kFilePage];

/* A function that is handed at most a page of the bytes of the file of `pool` at `offset`. */
typedef void FilePage(UInt pool, ULong offset, const UChar* bytes, UInt size);
/* Hands the bytes from `offset` to `end` to `visit`. Holes are passed over. */
void pc_each_page(const HChar* path, ULong offset, ULong end, FilePage* visit, UInt pool);
/* Writes a page to the stream as the pool's first content, unless the page is all zeroes. */
FilePage pc_content_page;
/* Writes all pages of a file of `size` bytes, as pc_content_page() does. */
void pc_file_content(UInt pool, const HChar* path, ULong size);

#endif
