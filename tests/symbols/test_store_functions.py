"""Which functions' stores were reached, as programs leave it behind."""

from pathlib import Path

from powercut.symbols.store_functions import StoreFunction, of_event, of_folder


def left(folder: Path, name: str, functions: list[str], marks: list[int]) -> None:
    lines = "".join(f"{line}\n" for line in functions)
    (folder / name).write_bytes(f"{len(functions)}\n{lines}".encode() + bytes(marks))


def test_a_function_is_reached_where_any_copy_of_it_was(tmp_path: Path) -> None:
    """Modules that share a header, processes of several programs, instances of one template."""
    left(
        tmp_path,
        "a",
        ["put(int)\t/src/t.h\t3", "void Tree<int>::add(int)\t/src/t.h\t9", "erase\t/src/e.c\t1"],
        [0, 1, 0],
    )
    left(tmp_path, "b", ["put(int)\t/src/t.h\t3", "void Tree<long>::add(long)\t/src/t.h\t9"], [10, 0])
    stores = of_folder(tmp_path)
    assert [function.function for function in sorted(stores.reached)] == ["put", "Tree::add"]
    assert sorted(stores.missed) == [StoreFunction(file="/src/e.c", line=1, function="erase")]
    assert of_event(stores.record()["missed"]) == stores.missed


def test_a_file_that_a_killed_process_has_left_says_nothing(tmp_path: Path) -> None:
    for number, content in enumerate((b"", b"3", b"2\na\tb\t1\n", b"1\na\tb\t1\n", b"x\ny")):
        (tmp_path / str(number)).write_bytes(content)
    assert of_folder(tmp_path).empty


def test_marks_may_have_the_value_of_a_line_break(tmp_path: Path) -> None:
    left(tmp_path, "a", ["f\t/a.c\t1", "g\t/a.c\t2"], [10, 10])
    assert not of_folder(tmp_path).missed
