"""Mutants of what records the calls of a program on a folder."""

from tests.house.mutant import Mutant


def _of(name: str, file: str, old: str, new: str = "") -> Mutant:
    return Mutant(name=name, file=f"tracer/calls/{file}", old=old, new=new, suites=("calls",))


MUTANTS = (
    _of("append-is-at-the-position", "followed_call.cc", "    offset_ = static_cast<uint64_t>(status.st_size);\n"),
    _of("flags-of-a-write-are-not-heeded", "followed_call.cc", " || (flags & kDataThrough) != 0"),
    _of("a-rename-onto-the-same-file-is-one", "followed_call.cc", "from_.status.st_ino == to_.status.st_ino", "false"),
    _of("calls-that-failed-are-recorded", "followed_call.cc", "if (result < 0 && result >= -4095) return;"),
    _of("fsync-is-fdatasync", "followed_call.cc", "syncs_all_of_it() ? TreeSync::kFile :"),
    _of("the-limit-of-files-is-the-recorders", "followed_call.cc", " || thread.may_exceed_a_file_limit()"),
    _of(
        "memory-of-the-thread-is-there",
        "followed_call.cc",
        "if (!thread.read(value('b'), bytes, size)) return std::nullopt;",
        "thread.read(value('b'), bytes, size);",
    ),
    _of(
        "an-open-empties-nothing", "followed_call.cc", "if (log.tree().find(inode_)->size != 0) log.resized(inode_, 0);"
    ),
    _of(
        "a-mapping-is-not-compared-at-a-sync",
        "followed_call.cc",
        "      log.catch_up(inode_);\n      return true;",
        "      return true;",
    ),
    _of(
        "names-are-seen-from-the-recorder",
        "calling_thread.cc",
        'return (folder == AT_FDCWD ? proc + "/cwd/" :',
        'return (folder == AT_FDCWD ? "" :',
    ),
    _of("descriptors-are-those-of-the-process", "calling_thread.cc", "thread_, kOfThread)", "process_of_it_, 0)"),
    _of(
        "links-are-not-followed",
        "calling_thread.cc",
        "if (!follows || !out.exists",
        "if (!(follows && false) || !out.exists",
    ),
    _of(
        "calls-run-together", "recorder.cc", "if (running_ == 0) return run(thread, call);", "return run(thread, call);"
    ),
    _of("processes-outlive-the-command", "recorder.cc", "if (ended_at_ && now > *ended_at_ + kSettle) end_the_rest();"),
    _of("a-stop-of-a-process-is-passed-over", "recorder.cc", "trace_it(PTRACE_LISTEN, who, 0, 0);", "go_on(who);"),
    _of(
        "calls-of-32-bit-code-are-not-told",
        "recorder.cc",
        "if (info.seccomp.ret_data == kStopsAsForeign) {",
        "if (false) {",
    ),
    _of(
        "numbers-of-inodes-come-again",
        "tree_log.cc",
        "  kept_.push_back({key_of(place.status), std::move(kept), bytes});\n",
    ),
    _of(
        "a-file-from-outside-has-no-bytes",
        "tree_log.cc",
        "contents(TreeCall::kWrite, inode, file.number(),",
        "if (false) contents(TreeCall::kWrite, inode, file.number(),",
    ),
    _of("a-long-write-is-several", "tree_log.cc", "(done == 0 ? 0 : kTreeContinues)", "0"),
    _of(
        "calls-that-a-kill-cuts-off-were-not-made",
        "recorder.cc",
        "    if (thread.running->cut_off(log_)) return;\n",
        "    return;\n",
    ),
    _of("the-end-is-not-compared", "tree_log.cc", "tree_.differences(folder_, kMost)", "tree_.differences(folder_, 0)"),
    _of(
        "a-shrunk-file-keeps-its-bytes", "tree.cc", "if (size < file.size) zero(file, size, UINT64_MAX - kPage - size);"
    ),
    _of("bytes-are-not-compared", "tree.cc", "if (std::memcmp(real.data(), mine.data(), size) != 0) {", "if (false) {"),
    _of(
        "holes-of-one-are-holes-of-both",
        "tree.cc",
        "if (page != pages_.end()) next = std::min(next, *page * Tree::kPage);",
    ),
    _of("names-are-printed-as-they-are", "tree.cc", "printable ?", "true ?"),
    _of(
        "the-folder-itself-may-go",
        "followed_call.cc",
        "takes_the_folder_ = from_.exists && log.holds_the_folder(from_.status);",
    ),
    _of(
        "shared-mappings-are-not-seen",
        "filter.cc",
        "stop_with_bits(call.number, flags, MAP_SHARED)",
        "stop_with_bits(call.number, flags, 0)",
    ),
    _of("linux-aio-is-not-refused", "filter.cc", "  filter.stop_at(SYS_io_setup, kStopsAsRefused);\n"),
    _of("a-mark-is-any-write", "marks.cc", "if (reason) wrong_ = no_mark(line, *reason);"),
    _of("marks-of-all-threads-are-one-line", "marks.cc", "begun_[log.thread()]", "begun_[0]"),
    _of("a-line-without-an-end-is-fine", "marks.cc", "if (!line.empty())", "if (false)"),
    _of("an-operation-ends-in-any-thread", "marks.cc", "event.thread = *running_.begin();"),
    _of("a-word-is-as-it-is-written", "mark_line.cc", "if (word[i] != '%') {", "if (true) {"),
    _of("marks-compare-no-mappings", "followed_call.cc", "} else if (told_->is_an_instant()) {", "} else if (false) {"),
    _of("an-output-grows-by-its-last-write", "printed.cc", "offset + size", "std::max(offset, size)"),
    _of("a-place-has-one-stack", "code_places.cc", "if (known.words.stand_in(thread))", "if (true)"),
    _of(
        "libraries-that-come-later-are-not-seen",
        "code_places.cc",
        "mapping != nullptr || looked || !read_again(process)",
        "mapping != nullptr || looked || !read_again(process) || true",
    ),
    _of(
        "addresses-are-those-of-the-mapping",
        "code_places.cc",
        "return begin - offset + segment.p_offset - segment.p_vaddr;",
        "return begin - offset;",
    ),
    _of("stores-behind-the-end-are-bytes", "told_stores.cc", "if (record.offset >= size) return true;"),
    _of(
        "stores-are-of-whoever-tells-them",
        "told_stores.cc",
        "thread == threads_.end() ? writer : thread->second",
        "thread == threads_.end() ? writer : writer",
    ),
    _of(
        "told-stores-are-looked-for-too",
        "tree_log.cc",
        "  if (stores_are_told_) return;\n  const auto found",
        "  const auto found",
    ),
)
