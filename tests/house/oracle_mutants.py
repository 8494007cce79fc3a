"""Mutants of what judges answers, and of what edits a trace."""

from tests.house.mutant import Mutant

MUTANTS = (
    Mutant(
        name="unfinished-operations-must-have-happened",
        file="checker/oracle/history.cc",
        old="key.possible = kAbsent;",
        new="key.acknowledged = kAbsent;",
    ),
    Mutant(
        name="lost-items-are-legal",
        file="checker/oracle/invariants.cc",
        old="if (is_legal(key, traits, kAbsent)) return std::nullopt;",
        new="return std::nullopt;",
    ),
    Mutant(
        name="an-inspection-may-say-that-data-is-damaged",
        file="checker/oracle/invariants.cc",
        old="if (auto refused = refused_inspection(history, query, answer)) return refused;",
        new="",
    ),
    Mutant(
        name="one-copy-too-many-is-legal",
        file="checker/oracle/invariants.cc",
        old="if (copies.size() > traits.copy_bound) {",
        new="if (copies.size() > traits.copy_bound + 1) {",
    ),
    Mutant(
        name="edit-loses-inserts-behind-moved-events",
        file="checker/edit/trace_editor.cc",
        old="append_known(find(moved)->view());\n        append_inserts(moved);",
        new="append_known(find(moved)->view());",
    ),
    Mutant(
        name="edit-moves-past-the-same-bytes",
        file="checker/edit/trace_editor.cc",
        old="if (overlaps) {",
        new="if (false) {",
    ),
    Mutant(
        name="edit-moves-past-the-end-of-an-operation",
        file="checker/edit/trace_editor.cc",
        old="if (holds_up(passed, event.thread)) {",
        new="if (false) {",
    ),
    Mutant(
        name="edit-flushes-all-lines-but-the-last",
        file="checker/edit/trace_editor.cc",
        old="line <= last_line(*insert->flush); ++line",
        new="line < last_line(*insert->flush); ++line",
    ),
    Mutant(
        name="a-sync-keeps-nothing",
        file="checker/oracle/prefixes.cc",
        old="if (answer.status == POWERCUT_OK && (configuration.before & bit) != 0) continue;",
        new="",
    ),
    Mutant(
        name="a-dump-is-never-wrong",
        file="checker/oracle/invariants.cc",
        old="  if (!history.legal_tables()) return std::nullopt;\n  const std::vector<Answer> lookups",
        new="  if (history.legal_tables()) return std::nullopt;\n  const std::vector<Answer> lookups",
    ),
    Mutant(
        name="states-of-threads-forget-what-they-have-to-answer",
        file="checker/oracle/linearizations.cc",
        old="for (const std::optional<Answer>& owed : configuration.owed) {",
        new="for (const std::optional<Answer>& owed : std::vector<std::optional<Answer>>()) {",
    ),
)
