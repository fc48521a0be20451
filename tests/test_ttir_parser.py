"""The parser on the IR that three compilers print for our own kernels, and on spoilt texts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from kvproof.checkers.ttir import FloatType, IntType, Op, PtrType, SourceLine, Successor, Type
from kvproof.checkers.ttir_parser import TtirSyntaxError, parse_ttir, ttir_hash

FIXTURES = Path(__file__).parent / "fixtures" / "ttir"
VERSIONS = ("3.6.0", "3.8.0", "3.9.0")
NAMES = tuple(sorted(path.stem for path in (FIXTURES / VERSIONS[0]).glob("*.ttir")))
I32 = Type(IntType(32))
# Of a statement over several lines, 3.6.0 names a line inside and the later versions the first.
LONG_STATEMENTS = ("fp8_cast", "hinted")


def text_of(name, version="3.8.0"):
    return (FIXTURES / version / f"{name}.ttir").read_text()


def parsed(name, version="3.8.0"):
    return parse_ttir(text_of(name, version))


def ops(program, name):
    return [op for op in program.walk() if op.name == name]


def module(*lines, args="%p: !tt.ptr<i32>, %n: i32, %c: i1"):
    body = "\n".join(f"    {line}" for line in lines)
    return f"module {{\n  tt.func public @k({args}) {{\n{body}\n    tt.return\n  }}\n}}\n"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_every_fixture_is_read_whole(name, version):
    text = text_of(name, version)
    program = parse_ttir(text)
    code = [line.strip() for line in text.splitlines() if not line.startswith(("#", "module"))]
    printed = [
        line
        for line in code
        if line and not line.startswith(("}", "^", "tt.func")) and "} else {" not in line
    ]
    assert len(list(program.walk())) == len(printed)
    assert program.text_hash == ttir_hash(text)
    assert all(len(op.results) == len(op.result_types) for op in program.walk())
    assert all(len(op.operands) == len(op.operand_types) for op in program.walk())
    assert not any("?" in str(kind) for op in program.walk() for kind in op.result_types)


def test_the_fixtures_are_the_same_kernels_in_every_version():
    for version in VERSIONS:
        assert {path.stem for path in (FIXTURES / version).glob("*.ttir")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_versions_agree_on_memory_and_control(name):
    def shape(version):
        program = parsed(name, version)
        kinds = Counter(
            op.name
            for op in program.walk()
            if op.name.startswith(("scf.", "cf.", "tt.load", "tt.store", "tt.atomic", "tt.assert"))
        )
        accesses = [
            (
                op.name,
                len(op.operands),
                str(op.operand_types[0]),
                name in LONG_STATEMENTS or str(op.line),
            )
            for op in program.walk()
            if op.name in ("tt.load", "tt.store")
        ]
        return program.kernel, [str(kind) for _, kind in program.args], kinds, accesses

    first, *others = (shape(version) for version in VERSIONS)
    assert all(other == first for other in others)


def test_a_row_copy_in_full():
    program = parsed("row_copy")
    assert program.kernel == "row_copy"
    assert program.args[0] == ("%src", Type(PtrType(FloatType("bf16"))))
    assert program.args[3] == ("%src_stride", I32)
    assert program.arg_attrs["%src"] == {"tt.divisibility": 16}
    assert "%loc" not in program.arg_attrs
    assert program.attrs == {"noinline": False}
    (store,) = ops(program, "tt.store")
    assert store.operand_types == (
        Type(PtrType(FloatType("bf16")), (128,)),
        Type(FloatType("bf16"), (128,)),
        Type(IntType(1), (128,)),
    )
    assert [op.attrs["axis"] for op in ops(program, "tt.get_program_id")] == [0, 1]
    assert [op.attrs["predicate"] for op in ops(program, "arith.cmpi")] == ["slt", "ne"]
    (lanes,) = ops(program, "tt.make_range")
    assert (lanes.attrs["start"], lanes.attrs["end"]) == (0, 128)


def test_lines_are_those_of_the_kernels_source():
    source = (Path(__file__).parent / "fixtures" / "kernels.py").read_text().splitlines()
    for name in ("row_copy", "two_segments", "paged", "lanes_2d"):
        for store in ops(parsed(name), "tt.store"):
            assert store.line is not None
            assert store.line.file == "kernels.py"
            assert "tl.store(" in source[store.line.line - 1]


def test_ops_of_the_library_have_the_line_that_calls_it():
    source = (Path(__file__).parent / "fixtures" / "kernels.py").read_text().splitlines()
    for op in ops(parsed("scaled_row"), "tt.reduce"):
        assert op.line is not None
        assert any(name in source[op.line.line - 1] for name in ("tl.max(", "tl.sum("))


@pytest.mark.parametrize("version", VERSIONS)
def test_constants_are_exact(version):
    zero, half_zero = (0, 0) if version != "3.9.0" else (0x80000000, 0x8000)
    values = Counter(
        (str(op.result_types[0]), op.attrs["value"])
        for op in ops(parsed("constants", version), "arith.constant")
    )
    expected = [
        ("f32", zero),
        ("f32", 0x7F800000),
        ("f32", 0x7FC00000),
        ("tensor<2xf32>", 0xFF800000),
        ("bf16", 0x43E0),
        ("bf16", 0xFF80),
        ("tensor<2xbf16>", half_zero),
        ("f16", 0x7BFF),
        ("f64", 0x3FB999999999999A),
        ("i64", -1),
        ("i64", (1 << 63) - 1),
        ("tensor<2xi64>", -(1 << 63)),
        ("tensor<2xi8>", 0),
    ]
    assert not [entry for entry in expected if entry not in values]


def test_control_flow_of_an_early_return():
    program = parsed("early_return")
    entry, leave, rest = program.body.blocks
    assert [block.label for block in program.body.blocks] == ["^bb0", "^bb1", "^bb2"]
    branch = entry.ops[-1]
    assert branch.name == "cf.cond_br"
    assert branch.successors == (Successor("^bb1"), Successor("^bb2"))
    assert branch.operands == entry.ops[-2].results
    assert [op.name for op in leave.ops] == ["tt.return"]
    assert rest.ops[-1].name == "tt.return"


def test_a_three_way_if_has_results_and_both_regions():
    outer, inner = ops(parsed("two_segments"), "scf.if")
    assert outer.result_types == inner.result_types == (Type(FloatType("bf16"), (128,)),)
    assert inner in list(outer.regions[1].walk())
    assert [region.blocks[0].ops[-1].name for region in outer.regions] == ["scf.yield"] * 2


def test_loops_name_their_counter_and_what_they_carry():
    outer, inner = ops(parsed("persistent"), "scf.for")
    assert outer.regions[0].blocks[0].args == (("%row", I32),)
    assert outer.attrs == {"unsigned": False}
    assert len(outer.operands) == 3
    assert inner in list(outer.walk())
    (loop,) = ops(parsed("carried"), "scf.for")
    args = loop.regions[0].blocks[0].args
    assert [kind for _, kind in args] == [I32, Type(FloatType("f32"), (16,)), I32]
    assert len(loop.operands) == 5
    assert loop.results == ("%seen#0", "%seen#1")
    assert loop.attrs["tt.num_stages"] == 2


def test_a_while_loop_has_two_regions():
    (loop,) = ops(parsed("while_loop"), "scf.while")
    before, after = loop.regions
    (condition,) = ops(parsed("while_loop"), "scf.condition")
    assert before.blocks[0].ops[-1] == condition
    assert condition.operand_types == (Type(IntType(1)), I32, I32)
    assert [kind for _, kind in after.blocks[0].args] == [I32, I32]
    assert len(loop.operands) == len(loop.results) == 2


def test_attributes_have_their_documented_names():
    casts = ops(parsed("fp8_cast"), "tt.fp_to_fp")
    assert [op.attrs["rounding"] for op in casts] == ["rtne", "rtne"]
    messages = [op.attrs["message"] for op in ops(parsed("lanes_2d"), "tt.assert")]
    assert 'slot beyond the pool: "loc"\n' in messages
    (assembly,) = ops(parsed("inline_asm"), "tt.elementwise_inline_asm")
    assert assembly.attrs["asm"] == ('{ .reg .b32 t; mov.b32 t, $1;\n\tmov.b32 $0, t; } // "copy"')
    assert (assembly.attrs["constraints"], assembly.attrs["pure"]) == ("=r,r", True)
    (external,) = ops(parsed("calls"), "tt.extern_elementwise")
    assert (external.attrs["symbol"], external.attrs["pure"]) == ("__nv_rintf", True)
    (turn,) = ops(parsed("shapes"), "tt.trans")
    assert turn.attrs["order"] == (1, 0)
    first, second = ops(parsed("counters"), "tt.atomic_rmw")
    assert [first.attrs[key] for key in ("rmw_op", "sem", "scope")] == ["add", "relaxed", "gpu"]
    assert (second.attrs["rmw_op"], len(second.operands)) == ("max", 3)
    scan = ops(parsed("scaled_row"), "tt.scan")[0]
    assert (scan.attrs["axis"], scan.attrs["reverse"]) == (0, False)
    split = ops(parsed("shapes"), "tt.split")[0]
    assert split.result_types == (Type(FloatType("f16"), (256,)),) * 2


def test_a_called_function_is_kept_beside_the_kernel():
    program = parsed("calls")
    (call,) = ops(program, "tt.call")
    helper = program.functions[call.attrs["callee"]]
    assert helper.args == (("%value", I32), ("%factor", I32))
    assert helper.result_types == (I32,)
    assert len(helper.body.blocks) == 3


def test_an_unknown_op_is_kept_with_its_name_and_line():
    text = module(
        '%0 = acme.twist %n, %p {turns = 3 : i32} : i32, !tt.ptr<i32> loc("a.py":7:1)',
        "%1 = acme.twist %n : i32 -> i64",
        '"acme.note"(%1) <{text = "a"}> ({',
        "^bb0(%x: i32):",
        "  acme.end %x",
        "}) : (i64) -> ()",
        "acme.quiet",
    )
    first, second, note, end, quiet, _ = parse_ttir(text).walk()
    assert (first.name, first.operands) == ("acme.twist", ("%n", "%p"))
    assert (first.attrs, first.line) == ({"turns": 3}, SourceLine("a.py", 7, 1))
    assert str(first.result_types[0]) == "?"
    assert second.result_types == (Type(IntType(64)),)
    assert (note.attrs, note.regions[0].blocks[0].args) == ({"text": "a"}, (("%x", I32),))
    assert (end.name, quiet) == ("acme.end", Op("acme.quiet"))


def test_a_block_may_use_a_value_of_a_block_that_is_printed_later():
    text = module(
        "cf.br ^bb2",
        "^bb1:",
        "%1 = arith.addi %0, %n : i32",
        "tt.return",
        "^bb2:",
        "%0 = arith.muli %n, %n : i32",
        "cf.cond_br %c, ^bb1, ^bb3",
        "^bb3:",
    )
    (add,) = ops(parse_ttir(text), "arith.addi")
    assert add.operand_types == (I32, I32)
    with pytest.raises(TtirSyntaxError, match="%0 is used before it is defined") as caught:
        parse_ttir(module("%1 = arith.addi %0, %n : i32", "%0 = arith.muli %n, %n : i32"))
    assert caught.value.line == 3


def test_block_arguments_and_flags():
    text = module(
        "%0 = arith.addi %n, %n overflow<nsw, nuw> : i32",
        "%1 = arith.extui %n nneg : i32 to i64",
        "%f = arith.uitofp %n : i32 to f32",
        "%2 = arith.mulf %f, %f fastmath<nnan,ninf> : f32",
        "cf.cond_br %c, ^bb1(%0, %1 : i32, i64), ^bb2",
        "^bb1(%a: i32, %b: i64):",
        "cf.br ^bb2",
        "^bb2:",
    )
    program = parse_ttir(text)
    assert ops(program, "arith.addi")[0].attrs == {"flags": ("nsw", "nuw")}
    assert ops(program, "arith.extui")[0].attrs == {"flags": ("nneg",)}
    assert ops(program, "arith.mulf")[0].attrs == {"fastmath": "nnan,ninf"}
    assert program.body.blocks[0].ops[-1].successors[0] == Successor("^bb1", ("%0", "%1"))
    assert program.body.blocks[1].args == (("%a", I32), ("%b", Type(IntType(64))))
