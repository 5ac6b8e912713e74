import contextlib
import os
import stat
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dikmeans.datasets import CorruptFileError, DataError, MissingDataError, UnsafeFileError
from dikmeans.datasets.files.tree import ZipLimits, natural_key, open_tree
from tests.datasets.published import write_files, write_zip

FILES = {"b/img10": b"10", "b/img2": b"2", "a/x": b"x"}
HIDDEN = {".hidden": b"", "a/.DS_Store": b"", "__MACOSX/a/x": b"", ".git/config": b""}


@pytest.fixture(params=["folder", "zip"])
def write(request):
    """Write files as a folder or as a zip, and give its path."""
    if request.param == "folder":
        return lambda path, files: write_files(path, files)
    return lambda path, files: write_zip(path.with_suffix(".zip"), files)


def test_a_folder_and_a_zip_of_it_look_the_same(tmp_path, write):
    with open_tree(write(tmp_path / "tree", FILES)) as tree:
        assert tree.names == ("a/x", "b/img2", "b/img10")
        assert [tree.read(name) for name in tree.names] == [b"x", b"2", b"10"]


def test_hidden_files_and_those_of_macos_archives_are_left_out(tmp_path, write):
    with open_tree(write(tmp_path / "tree", FILES | HIDDEN)) as tree:
        assert tree.names == ("a/x", "b/img2", "b/img10")


@given(st.lists(st.text("ab01.é²", max_size=6), unique=True), st.randoms())
def test_natural_order_does_not_depend_on_the_order_of_discovery(names, random):
    shuffled = random.sample(names, len(names))
    assert sorted(names, key=natural_key) == sorted(shuffled, key=natural_key)


@given(st.integers(0, 10**30), st.integers(0, 10**30))
def test_natural_order_counts(a, b):
    assert (natural_key(f"x{a}") < natural_key(f"x{b}")) == (a < b)


def test_a_name_with_more_digits_than_an_integer_may_have_is_sorted_all_the_same():
    assert natural_key("9" * 10_000) > natural_key("8")


@pytest.mark.parametrize(
    "name", ["../out.png", "a/../../out.png", "/out.png", "..\\out.png", "\\out.png", "C:\\out.png"]
)
def test_a_zip_with_a_name_outside_of_it_is_refused_and_nothing_is_written(tmp_path, name):
    path = write_zip(tmp_path / "in" / "evil.zip", {"good.png": b"", name: b"evil"})
    with pytest.raises(UnsafeFileError, match=r"points outside"):
        open_tree(path)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["evil.zip", "in"]


def test_a_zip_with_a_link_is_refused(tmp_path):
    path = tmp_path / "link.zip"
    link = zipfile.ZipInfo("link.png")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(UnsafeFileError, match="symbolic link"):
        open_tree(path)


def test_a_zip_bomb_is_refused_unopened(tmp_path):
    path = write_zip(tmp_path / "bomb.zip", {f"{n}.png": bytes(1 << 20) for n in range(4)})
    assert path.stat().st_size < 1 << 14
    with pytest.raises(UnsafeFileError, match=r"'0.png', of 1,048,576 bytes"):
        open_tree(path, ZipLimits(member_bytes=1 << 19))
    with pytest.raises(UnsafeFileError, match=r"4 files of 4,194,304 bytes"):
        open_tree(path, ZipLimits(total_bytes=1 << 21))
    with pytest.raises(UnsafeFileError, match=r"4 files"):
        open_tree(path, ZipLimits(members=3))


def test_a_zip_with_false_sizes_gives_no_more_than_it_claims(tmp_path):
    path = write_zip(tmp_path / "liar.zip", {"x.png": bytes(1 << 20)})
    content = path.read_bytes()
    small = (10).to_bytes(4, "little")
    path.write_bytes(content.replace((1 << 20).to_bytes(4, "little"), small))
    with open_tree(path) as tree, pytest.raises(CorruptFileError, match=r"x\.png"):
        tree.read("x.png")


def test_a_damaged_member_is_named(tmp_path):
    path = tmp_path / "damaged.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.png", b"content to be damaged")
    path.write_bytes(path.read_bytes().replace(b"content", b"CONTENT"))
    with open_tree(path) as tree, pytest.raises(CorruptFileError, match=r"x\.png .*CRC"):
        tree.read("x.png")


def test_an_encrypted_member_is_named(tmp_path):
    path = write_zip(tmp_path / "secret.zip", {"x.png": b"x"})
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with open_tree(path) as tree, pytest.raises(CorruptFileError, match=r"x\.png .*encrypted"):
        tree.read("x.png")


def test_a_file_that_is_not_a_zip_and_a_missing_path_give_different_errors(tmp_path):
    (tmp_path / "notes.txt").write_text("no zip")
    with pytest.raises(CorruptFileError, match="neither a folder nor a readable zip"):
        open_tree(tmp_path / "notes.txt")
    with pytest.raises(MissingDataError, match="absent does not exist"):
        open_tree(tmp_path / "absent")


def test_a_loop_of_links_between_folders_ends(tmp_path):
    write_files(tmp_path, {"a/x": b"x"})
    os.symlink(tmp_path, tmp_path / "a" / "loop")
    with open_tree(tmp_path) as tree:
        assert tree.names == ("a/x",)


def test_a_file_that_vanished_is_named(tmp_path):
    with open_tree(write_files(tmp_path, {"x": b"x"})) as tree:
        os.unlink(tmp_path / "x")
        with pytest.raises(CorruptFileError, match=r"x in .* cannot be read"):
            tree.read("x")


@given(st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_a_damaged_zip_is_read_or_refused_and_nothing_else(tmp_path_factory, damages):
    path = write_zip(tmp_path_factory.mktemp("zip") / "x.zip", FILES)
    content = bytearray(path.read_bytes())
    for position, byte in damages:
        content[position % len(content)] = byte
    path.write_bytes(content)
    with contextlib.suppress(DataError), open_tree(path) as tree:
        for name in tree.names:
            tree.read(name)
