"""Archives: what is read, and what is refused rather than read."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile

import pytest
from kvproof.engines import archive
from kvproof.engines.archive import matches, read_members
from kvproof.spec.errors import KvproofError

from .fake_index import BODY, MEMBER, sdist, wheel

MEMBERS = {MEMBER: BODY, "demo/other.py": b"other"}


def made(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def zipped_sdist(top, members):
    return wheel({f"{top}/{name}": content for name, content in members.items()})


@pytest.mark.parametrize(
    ("name", "content"),
    (
        ("demo-1.0-py3-none-any.whl", wheel(MEMBERS)),
        ("demo-1.0.zip", zipped_sdist("demo-1.0", MEMBERS)),
        ("demo-1.0.tar.gz", sdist("demo-1.0", MEMBERS)),
    ),
)
def test_reads_the_chosen_members_of_each_kind(tmp_path, name, content):
    path = made(tmp_path, name, content)
    assert read_members(path, (MEMBER,)) == {MEMBER: BODY}
    assert read_members(path, ("demo/*.py",)) == MEMBERS
    assert read_members(path, ("none.py",)) == {}


@pytest.mark.parametrize(
    ("path", "pattern", "fits"),
    (
        ("a/b.py", "a/b.py", True),
        ("a/b.py", "a/*.py", True),
        ("a/b/c.py", "a/*.py", False),
        ("a/b/c.py", "a/*/*.py", True),
        ("a/b.py", "A/b.py", False),
    ),
)
def test_a_star_stays_in_its_folder(path, pattern, fits):
    assert matches(path, pattern) == fits


@pytest.mark.parametrize(
    ("name", "safe"),
    (
        ("demo/..hidden/x.py", True),
        ("demo/../../x.py", False),
        ("../x.py", False),
        ("/x.py", False),
        ("demo\\..\\x.py", False),
        ("c:/x.py", False),
        ("c:x.py", False),
    ),
)
@pytest.mark.parametrize("kind", ("whl", "tar.gz"))
def test_refuses_an_archive_with_a_path_that_leaves_it(tmp_path, name, safe, kind):
    """Refuse it even when the escaping member is not the one asked for."""
    members = {MEMBER: BODY, name: b"evil"}
    if kind == "whl":
        path, wanted = made(tmp_path, "demo-1.0-py3-none-any.whl", wheel(members)), MEMBER
    else:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as opened:
            for each, content in members.items():
                member = tarfile.TarInfo(each)
                member.size = len(content)
                opened.addfile(member, io.BytesIO(content))
        path, wanted = made(tmp_path, "demo-1.0.tar.gz", buffer.getvalue()), "writer.py"
    if safe:
        assert read_members(path, (wanted,)) == {wanted: BODY}
    else:
        with pytest.raises(KvproofError, match="leaves the folder"):
            read_members(path, (wanted,))


@pytest.mark.parametrize(("kind", "fits"), ((stat.S_IFREG, True), (stat.S_IFLNK, False)))
def test_reads_no_link_out_of_a_wheel(tmp_path, kind, fits):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:
        member = zipfile.ZipInfo(MEMBER)
        member.external_attr = (kind | 0o644) << 16
        opened.writestr(member, BODY)
    path = made(tmp_path, "demo-1.0-py3-none-any.whl", buffer.getvalue())
    if fits:
        assert read_members(path, (MEMBER,)) == {MEMBER: BODY}
    else:
        with pytest.raises(KvproofError, match="not a regular file"):
            read_members(path, (MEMBER,))


@pytest.mark.parametrize("kind", (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE))
def test_reads_no_link_or_pipe_out_of_an_sdist(tmp_path, kind):
    """Refuse one that is asked for, and leave one alone that is not."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as opened:
        file = tarfile.TarInfo(f"demo-1.0/{MEMBER}")
        file.size = len(BODY)
        opened.addfile(file, io.BytesIO(BODY))
        link = tarfile.TarInfo("demo-1.0/demo/link.py")
        link.type, link.linkname = kind, f"demo-1.0/{MEMBER}"
        opened.addfile(link)
    path = made(tmp_path, "demo-1.0.tar.gz", buffer.getvalue())
    assert read_members(path, (MEMBER,)) == {MEMBER: BODY}
    with pytest.raises(KvproofError, match="not a regular file"):
        read_members(path, ("demo/link.py",))


@pytest.mark.parametrize("extra", (0, 1))
def test_refuses_a_member_one_byte_too_large(tmp_path, monkeypatch, extra):
    monkeypatch.setattr(archive, "LARGEST", len(BODY) - extra)
    path = made(tmp_path, "demo-1.0-py3-none-any.whl", wheel({MEMBER: BODY}))
    if extra:
        with pytest.raises(KvproofError, match="more than"):
            read_members(path, (MEMBER,))
    else:
        assert read_members(path, (MEMBER,)) == {MEMBER: BODY}


@pytest.mark.parametrize("name", ("demo-1.0-py3-none-any.whl", "demo-1.0.tar.gz"))
def test_a_damaged_archive_is_one_line(tmp_path, name):
    content = wheel(MEMBERS) if name.endswith("whl") else sdist("demo-1.0", MEMBERS)
    assert read_members(made(tmp_path, name, content), (MEMBER,)) == {MEMBER: BODY}
    for damaged in (b"", b"no archive", content[: len(content) // 2]):
        with pytest.raises(KvproofError, match="damaged archive"):
            read_members(made(tmp_path, name, damaged), (MEMBER,))


def test_a_flipped_bit_in_a_wheel_is_seen(tmp_path):
    content = wheel({MEMBER: BODY})
    path = made(tmp_path, "demo-1.0-py3-none-any.whl", content.replace(BODY, BODY[:-1] + b" "))
    with pytest.raises(KvproofError, match="damaged archive"):
        read_members(path, (MEMBER,))
