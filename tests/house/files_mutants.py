"""Mutants of the trees that a power cut may leave of a folder."""

from tests.house.mutant import Mutant


def _of_trees(name: str, file: str, old: str, new: str) -> Mutant:
    return Mutant(name=name, file=f"replayer/media/files/{file}", old=old, new=new, suites=("trees",))


MUTANTS = (
    _of_trees(
        name="blocks-that-were-cut-off-stay",
        file="disk.cc",
        old="sector.written = sector.allocated = false;",
        new="",
    ),
    _of_trees(
        name="allocated-blocks-show-old-data",
        file="disk.cc",
        old="if (!sector.written && !sector.allocated && switches_.stale",
        new="if (!sector.written && switches_.stale",
    ),
    _of_trees(
        name="a-truncation-is-no-operation",
        file="disk.cc",
        old="  bring(inode);\n}\n\n// Zeroes of",
        new="}\n\n// Zeroes of",
    ),
    _of_trees(
        name="a-log-loses-what-was-there-before",
        file="disk.cc",
        old="if (earlier.operation < number.operation) raise_step(earlier, raise);",
        new="",
    ),
    _of_trees(
        name="a-name-is-durable-without-its-folder",
        file="disk.cc",
        old="raise_first_name(step(found->second).entry->first.folder, raise);",
        new="",
    ),
    _of_trees(
        name="a-range-has-the-size-before",
        file="disk.cc",
        old="if (inode.size_at(number).size < end) needed = number + 1;",
        new="if (inode.size_at(number).size < end) needed = number;",
    ),
    _of_trees(
        name="a-range-ends-within-a-page",
        file="disk.cc",
        old="const uint64_t high = up(sync.offset + sync.size, units_.page) * units_.page;",
        new="const uint64_t high = sync.offset + sync.size;",
    ),
    _of_trees(
        name="a-durable-rename-forgets-the-data",
        file="disk.cc",
        old="inode.replaced.raise_to(found->second);",
        new="",
    ),
    _of_trees(
        name="an-overwrite-changes-the-inode",
        file="disk.cc",
        old="if (blocks) inode.changed = inode.resized = now;",
        new="inode.changed = inode.resized = now;",
    ),
    _of_trees(
        name="a-rename-moves-no-data-with-it",
        file="disk.cc",
        old="for (const uint64_t sector : inode.open) replacement.sectors[sector] = inode.sectors.at(sector).newest();",
        new="",
    ),
    _of_trees(
        name="a-call-is-forgotten-with-its-version",
        file="disk.cc",
        old="if (version.call != 0) inode.sure_calls.insert(version.call);",
        new="",
    ),
    _of_trees(
        name="late-sizes-wait-for-nothing",
        file="file_view.cc",
        old="while (last_size_ > first_size_ && on_disk.prefix &&",
        new="while (false && on_disk.prefix &&",
    ),
    _of_trees(
        name="a-bound-version-ends-no-choices",
        file="file_view.cc",
        old="if (sector[version].bound && on_disk.prefix) legal.high = version - 1;",
        new="",
    ),
    _of_trees(
        name="a-call-may-be-half-missing",
        file="file_view.cc",
        old="if (version > legal.high) off_.insert(call);",
        new="",
    ),
    _of_trees(
        name="a-call-may-be-half-there",
        file="file_view.cc",
        old="if (version <= legal.low) on_.insert(call);",
        new="",
    ),
    _of_trees(
        name="all-sizes-are-one-chain",
        file="file_view.cc",
        old="if (!inode_->size_at(number).chained) end = number - 1;",
        new="",
    ),
    _of_trees(
        name="files-with-other-names-lie-in-folders",
        file="choices.cc",
        old="if (below && staying_inodes(entries).empty()) continue;",
        new="if (below) continue;",
    ),
    _of_trees(
        name="renames-are-split",
        file="choices.cc",
        old="return disk_.switches().rename == Rename::kAtomic ? StepNumber{step.operation, 0} : step;",
        new="return step;",
    ),
    _of_trees(
        name="a-prefix-has-one-more",
        file="choices.cc",
        old="if (step.operation < length || steps.contains(step)) inode =",
        new="if (step.operation <= length || steps.contains(step)) inode =",
    ),
    _of_trees(
        name="only-whole-prefixes",
        file="choices.cc",
        old="if (operation >= disk_.prefix()) out.push_back(operation);",
        new="",
    ),
    _of_trees(
        name="order-never-matters-for-files-that-stay",
        file="choices.cc",
        old="if (depends_on_order(disk_.inode(inode), lengths.front())) staying.insert(inode);",
        new="",
    ),
    _of_trees(
        name="other-files-are-equal",
        file="readings.cc",
        old="if (shown_[other.alternative][path].inode != inode) return sector;",
        new="",
    ),
    _of_trees(
        name="a-call-is-missing-once",
        file="versions_shown.cc",
        old="missing.insert(place, {call, false});",
        new="",
    ),
    _of_trees(
        name="excluded-sizes-come-back",
        file="readings.cc",
        old="next.excluded = with(part.excluded, file.excluded_by(sector, version));",
        new="",
    ),
    _of_trees(
        name="renames-change-no-view",
        file="views.cc",
        old="for (const auto& [operation, replacement] : inode.replacements) at.push_back(operation + 1);",
        new="",
    ),
    _of_trees(
        name="no-inode-is-bad",
        file="legal_trees.cc",
        old="return shown.may_be_bad ? files + 1 : files;",
        new="return files;",
    ),
    _of_trees(
        name="a-count-is-kept-for-ever",
        file="legal_trees.cc",
        old="if (kept.stamp != disk_.inode(number).stamp)",
        new="if (kept.stamp == 0)",
    ),
    _of_trees(
        name="a-sync-adds-no-tree",
        file="crash_points.cc",
        old="changed_ = disk_.switches().order == Order::kSynced;",
        new="changed_ = false;",
    ),
    _of_trees(
        name="writes-of-several-records-are-cut",
        file="trace_effects.cc",
        old="if (at_hand_) at_hand_->data += text(event.value);",
        new="",
    ),
    _of_trees(
        name="holes-at-the-end-are-lost",
        file="trace_effects.cc",
        old="if (!started_) effect.kind = kContent;",
        new="if (!started_) return;",
    ),
    _of_trees(
        name="sizes-are-kept-by-no-mode",
        file="trace_effects.cc",
        old="return keep ? Allocation::kKeep : Allocation::kExtend;",
        new="return Allocation::kExtend;",
    ),
    _of_trees(
        name="an-asynchronous-msync-waits",
        file="trace_effects.cc",
        old="return waits ? SyncKind::kRange : SyncKind::kStarted;",
        new="return SyncKind::kRange;",
    ),
    _of_trees(
        name="nothing-overtakes",
        file="disk.cc",
        old="overtaking_.emplace_back(with.steps.begin(), with.steps.end());",
        new="",
    ),
    _of_trees(
        name="a-sync-flushes-data",
        file="disk.cc",
        old="if (switches_.sync == Sync::kNames) {",
        new="if (false) {",
    ),
)
