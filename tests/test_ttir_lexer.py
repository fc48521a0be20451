"""Tokens of IR text, its hash, and the source lines that its locations name."""

from __future__ import annotations

import pytest
from kvproof.checkers.ttir import SourceLine
from kvproof.checkers.ttir_lexer import TtirSyntaxError, tokenize, ttir_hash, unquote
from kvproof.checkers.ttir_locations import Locations

TEXT = """#loc = loc("a.py":3:1)
module {
  tt.func public @k(%n: i32 loc("n"(#loc))) attributes {noinline = false} {
    %0 = arith.addi %n, %n : i32 loc(#loc1)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("a.py":4:8)
"""


def test_whole_types_splats_and_locations_are_one_token_each():
    tokens = tokenize('%a = x dense<-1> : tensor<4x!tt.ptr<bf16>> loc(callsite("f"(#l) at #m))')
    assert tokens.texts == [
        "%a",
        "=",
        "x",
        "dense<-1>",
        ":",
        "tensor<4x!tt.ptr<bf16>>",
        'loc(callsite("f"(#l) at #m))',
        "",
    ]
    assert tokens.kinds[-2:] == ["loc", "end"]


def test_tokens_keep_their_lines_and_aliases_stand_aside():
    tokens = tokenize(TEXT)
    assert tokens.lines[tokens.texts.index("arith.addi")] == 4
    assert tokens.locations == {"#loc": 'loc("a.py":3:1)', "#loc1": 'loc("a.py":4:8)'}


def test_a_stray_character_is_told_with_its_line():
    with pytest.raises(TtirSyntaxError, match=r"TTIR line 2: unexpected character ';'") as caught:
        tokenize("module {\n  ; }")
    assert caught.value.line == 2


def test_an_alias_has_one_meaning():
    tokenize('#loc = loc("a.py":1:1)\n#loc1 = loc("a.py":1:1)')
    with pytest.raises(TtirSyntaxError, match="#loc is defined twice"):
        tokenize('#loc = loc("a.py":1:1)\n#loc = loc("a.py":2:1)')


@pytest.mark.parametrize(
    ("token", "text"),
    (
        (r'"plain"', "plain"),
        (r'"a\0Ab\09c"', "a\nb\tc"),
        (r'"say \22no\22"', 'say "no"'),
        (r'"back\\slash"', "back\\slash"),
        (r'"\C3\A9"', "é"),
        (r'"\"q\""', '"q"'),
    ),
)
def test_strings_are_unescaped(token, text):
    assert unquote(token) == text


@pytest.mark.parametrize(
    ("old", "new"),
    (
        ('"a.py":4:8', '"elsewhere/b.py":40:0'),
        ("loc(#loc1)", 'loc("n"("a.py":9:9))'),
        (" loc(#loc1)", ""),
        ('#loc1 = loc("a.py":4:8)\n', ""),
        (': i32 loc("n"(#loc))', ': i32 loc("m"(#loc))'),
        ("    tt.return", "  tt.return  // done\n"),
    ),
)
def test_the_hash_does_not_see_locations_comments_and_spacing(old, new):
    assert old in TEXT
    assert ttir_hash(TEXT.replace(old, new)) == ttir_hash(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    (
        ("arith.addi", "arith.subi"),
        ("%n, %n", "%n, %0"),
        ("i32 loc(#loc1)", "i64 loc(#loc1)"),
        ("@k", "@j"),
        ("noinline = false", "noinline = true"),
        ("    tt.return", "    %1 = arith.addi %n, %0 : i32\n    tt.return"),
    ),
)
def test_the_hash_sees_every_change_of_the_code(old, new):
    assert old in TEXT
    assert ttir_hash(TEXT.replace(old, new)) != ttir_hash(TEXT)


LIBRARY = '"site-packages/triton/language/standard.py":10:2'


def resolve(location, aliases=""):
    return Locations(tokenize(aliases)).of(f"loc({location})", 1)


@pytest.mark.parametrize(
    ("location", "line"),
    (
        ("unknown", None),
        ('"name"', None),
        ('"a.py":3:7', SourceLine("a.py", 3, 7)),
        ('"a.py":3:7 to :9', SourceLine("a.py", 3, 7)),
        ('"value"("a.py":3:7)', SourceLine("a.py", 3, 7)),
        ('"x"("y"("a.py":3:7))', SourceLine("a.py", 3, 7)),
        ('callsite("own.py":5:1 at "a.py":3:7)', SourceLine("own.py", 5, 1)),
        (f'callsite({LIBRARY} at "a.py":3:7)', SourceLine("a.py", 3, 7)),
        (
            f'callsite({LIBRARY} at "m"(callsite({LIBRARY} at "a.py":3:7)))',
            SourceLine("a.py", 3, 7),
        ),
        (f"callsite({LIBRARY} at unknown)", SourceLine(LIBRARY.split('"')[1], 10, 2)),
        ('callsite(unknown at "a.py":3:7)', SourceLine("a.py", 3, 7)),
        (f'fused[{LIBRARY}, "a.py":3:7]', SourceLine("a.py", 3, 7)),
        ('fused<"why, so">["a.py":3:7, "b.py":1:1]', SourceLine("a.py", 3, 7)),
        ('"engine/ops/triton/rows.py":3:7', SourceLine("engine/ops/triton/rows.py", 3, 7)),
        (
            f'callsite("engine/ops/triton/rows.py":3:7 at {LIBRARY})',
            SourceLine("engine/ops/triton/rows.py", 3, 7),
        ),
    ),
)
def test_a_location_is_the_innermost_line_outside_triton(location, line):
    assert resolve(location) == line


def test_an_alias_leads_to_its_location():
    aliases = '#a = loc("x"(#b))\n#b = loc("a.py":3:7)\n#c = loc("x"(#c))'
    assert resolve("#a", aliases) == SourceLine("a.py", 3, 7)
    with pytest.raises(TtirSyntaxError, match="circular location #c"):
        resolve("#c", aliases)
    with pytest.raises(TtirSyntaxError, match="undefined location #d"):
        resolve("#d", aliases)


@pytest.mark.parametrize("location", ('callsite("a.py":1:1)', "fused", '"a.py":x:1', "here"))
def test_what_is_no_location_is_told(location):
    with pytest.raises(TtirSyntaxError, match="unreadable location"):
        resolve(location)
