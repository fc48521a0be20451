"""SGLang's latent-row (MLA) writers, releases 0.5.16 to 0.5.23, read from the released files."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..spec.call import Switches
from .entries import Axes, Engine, EngineModule, Parameters, Platform, Row, Shard, Unproved, Writer

_FILE: Final = "sglang/kernels/ops/kvcache/mla_buffer.py"
_NAME: Final = "sglang.kernels.ops.kvcache.mla_buffer"


def _module(versions: str) -> EngineModule:
    return EngineModule("sglang", versions, _FILE, _NAME, ("sglang",))


#: One entry for each text that differs in more than a comment, or that reads other modules.
_M16: Final = _module("==0.5.16")
_M17: Final = _module(">=0.5.17,<=0.5.18")
_M19: Final = _module("==0.5.19")
_M20: Final = _module("==0.5.20")
_M21: Final = _module("==0.5.21")
_M22: Final = _module(">=0.5.22,<=0.5.23")

# What the files read from the machine. Programmatic dependent launch (PDL) needs SM90 or newer.
_JIT16: Final = "sglang.jit_kernel"
_JIT: Final = "sglang.kernels.jit"
_TMA16: Final = "sglang.jit_kernel.set_mla_kv_buffer"
_TMA: Final = "sglang.kernels.ops.kvcache.set_mla_kv_buffer"
_TRITON: Final = "sglang.srt.platforms.current_platform.capabilities.supports_triton"
_PARALLEL: Final = "sglang.srt.runtime_context.get_parallel"


def _machine(jit: str, tma: str, *, pdl: bool, bulk: bool) -> Switches:
    return {
        f"{jit}.utils.is_arch_support_pdl": ("call", pdl),
        f"{tma}.can_use_set_mla_kv_buffer": ("call", bulk),
    }


_HAS_TRITON: Final[Switches] = {_TRITON: ("value", True)}
_NO_TRITON: Final[Switches] = {_TRITON: ("value", False)}

_PLAIN: Final = "before SM90"
_GDC: Final = "SM90, PDL"
_P16: Final = (
    Platform(_PLAIN, _machine(_JIT16, _TMA16, pdl=False, bulk=False)),
    Platform(_GDC, _machine(_JIT16, _TMA16, pdl=True, bulk=False)),
)
_P17: Final = (
    Platform(_PLAIN, _machine(_JIT, _TMA, pdl=False, bulk=False)),
    Platform(_GDC, _machine(_JIT, _TMA, pdl=True, bulk=False)),
)
_P22: Final = (
    Platform(_PLAIN, {**_machine(_JIT, _TMA, pdl=False, bulk=False), **_HAS_TRITON}),
    Platform(_GDC, {**_machine(_JIT, _TMA, pdl=True, bulk=False), **_HAS_TRITON}),
)
_ANY: Final = (Platform("any GPU"),)


def _rank(rank: int, world: int) -> Shard:
    attributes = {"attn_dcp_rank": rank, "attn_dcp_size": world, "dcp_enabled": world > 1}
    return Shard(rank, world, {_PARALLEL: ("call-object", attributes)})


_WHOLE: Final = (Shard(0, 1),)
_WHOLE_READ: Final = (_rank(0, 1),)
_RANKS: Final = (
    _rank(0, 2),
    _rank(1, 2),
    _rank(0, 4),
    _rank(1, 4),
    _rank(2, 4),
    _rank(3, 4),
)
_WHOLE_OR_RANKS: Final = (*_RANKS, *_WHOLE_READ)
_RANKS_PASSED: Final = (Shard(0, 1), Shard(0, 2), Shard(1, 2), Shard(0, 4), Shard(3, 4))

_ROPE: Final = (
    Row(512, 64, "bf16", "bf16", use="bf16 latent rows"),
    Row(528, 64, "bf16", "bf16", use="a nope width that is no power of two"),
    Row(512, 64, "f16", "f16", use="f16 latent rows"),
    Row(512, 64, "f32", "f32", use="f32 latent rows"),
    Row(512, 64, "u8", "u8", use="fp8 latent rows, passed as bytes"),
    Row(528, 128, "u8", "u8", use="packed rows: 512 fp8, 4 f32 scales, 64 bf16 rope"),
    Row(256, 32, "u8", "u8", use="fp4 latent rows, two values a byte"),
)
_ROPE_SHARDED: Final = (_ROPE[0], _ROPE[5])
_WIDTH_0: Final = (
    Row(512, 0, "bf16", "bf16", use="bf16 latent rows, rope of width 0"),
    Row(512, 0, "u8", "u8", use="fp8 latent rows, passed as bytes, rope of width 0"),
    Row(528, 0, "u8", "u8", use="packed rows: 512 fp8, 4 f32 scales, rope of width 0"),
)
_BARE_ROW: Final = _WIDTH_0[:1]
_NO_ROPE: Final = (
    *_WIDTH_0,
    Row(512, None, "bf16", "bf16", use="bf16 latent rows, no rope tensor"),
    Row(512, None, "u8", "u8", use="fp8 latent rows, passed as bytes, no rope tensor"),
)
_NO_ROPE_SHARDED: Final = (_NO_ROPE[0], _NO_ROPE[3])
_QUANT: Final = (
    Row(512, 64, "bf16", "u8", "f8e4m3fn", use="fp8 latent rows, cast while stored"),
    Row(512, 64, "f16", "u8", "f8e4m3fn", use="fp8 latent rows, cast while stored"),
    Row(512, 0, "bf16", "u8", "f8e4m3fn", use="fp8 latent rows, cast, rope of width 0"),
)
_SCALES: Final = (
    Row(32, 4, "u8", "u8", use="scales of fp4 latent rows, one for 16 values"),
    Row(512, 64, "u8", "u8", use="byte scales at the row stride of a latent row"),
    Row(512, 64, "f32", "f32", use="float scales; no released caller passes them"),
    Row(512, 64, "bf16", "bf16", use="float scales; no released caller passes them"),
)

_SLOTS: Final = ("i64", "i32")

_PLACES: Final = ("kv_buffer", "loc", "cache_k_nope", "cache_k_rope")
_SKIP: Final = "reserved_skip_index"
_ARGS: Final = Parameters(*_PLACES, middle=(1,))
_ARGS_SKIP: Final = replace(_ARGS, reserved=_SKIP)
_ARGS_NAIVE: Final = replace(_ARGS_SKIP, world="dcp_world_size", rank="dcp_rank")

_BULK_768: Final = "SM90 or newer, row bytes a multiple of 16, one rank, 768 tokens or more"
_BULK_ALL: Final = "SM90 or newer, row bytes a multiple of 16, one rank"


def _bulk(tma: str, when: str, switches: Switches, fewest_tokens: int = 1) -> Unproved:
    name = f"{tma}.set_mla_kv_buffer"
    return Unproved("TMA bulk store", "cuda", name, when, switches, fewest_tokens)


_BULK16: Final = _bulk(_TMA16, _BULK_768, _machine(_JIT16, _TMA16, pdl=True, bulk=True), 768)
_BULK17: Final = _bulk(_TMA, _BULK_768, _machine(_JIT, _TMA, pdl=True, bulk=True), 768)
_BULK21: Final = _bulk(_TMA, _BULK_ALL, _machine(_JIT, _TMA, pdl=True, bulk=True))
_BULK22: Final = replace(_BULK21, switches={**_BULK21.switches, **_HAS_TRITON})
_EAGER: Final = Unproved(
    "torch scatter",
    "torch",
    f"{_NAME}.set_mla_kv_buffer_naive",
    "platforms that declare supports_triton = False",
    _NO_TRITON,
)

_NO_SKIP_NOTE: Final = "Has no reserved_skip_index: every slot it is given is written."
_ALL_SLOTS_NOTE: Final = (
    "The kernel without rope takes neither reserved_skip_index nor the shard, whatever is passed."
)
_SCALE_NOTE: Final = "Never sharded: it takes the slots as they are."

_ROW, _SHARDED = "mla-row", "mla-row-sharded"
_BARE, _BARE_SHARDED = "mla-row-norope", "mla-row-norope-sharded"
_MAIN, _DCP = "set_mla_kv_buffer_triton", "set_mla_kv_buffer_dcp_sharded_triton"


def _latent(
    contract: str,
    module: EngineModule,
    args: Parameters,
    axes: Axes,
    unproved: tuple[Unproved, ...],
    note: str = "",
    *,
    callable: str = _MAIN,  # noqa: A002  # the field's name
) -> Writer:
    return Writer(contract, module, callable, contract, args, axes, unproved=unproved, note=note)


def _scale(module: EngineModule, args: Parameters, note: str) -> Writer:
    axes = Axes(_SCALES, _SLOTS, _WHOLE, _ANY)
    args = replace(args, middle=())
    name = "set_mla_kv_scale_buffer_triton"
    return Writer("mla-scale", module, name, "mla-scale", args, axes, note=note)


def _quant(
    module: EngineModule, args: Parameters, platforms: tuple[Platform, ...], note: str
) -> Writer:
    axes = Axes(_QUANT, _SLOTS, _WHOLE, platforms)
    args = replace(args, cast="fp8_dtype")
    name = "set_mla_kv_buffer_triton_fp8_quant"
    return Writer("mla-row-fp8", module, name, "mla-row-fp8", args, axes, note=note)


def _naive(name: str, contract: str, rows: tuple[Row, ...], note: str) -> Writer:
    axes = Axes(rows, _SLOTS, _RANKS_PASSED, (Platform("no Triton", _NO_TRITON),))
    callable_ = "set_mla_kv_buffer_naive"
    return Writer(name, _M22, callable_, contract, _ARGS_NAIVE, axes, "torch", (), note)


def _until_19(
    module: EngineModule,
    args: Parameters,
    platforms: tuple[Platform, ...],
    bulk: Unproved,
    note: str,
) -> tuple[Writer, ...]:
    return (
        _latent(_ROW, module, args, Axes(_ROPE, _SLOTS, _WHOLE_READ, platforms), (bulk,), note),
        _latent(_BARE, module, args, Axes(_WIDTH_0, _SLOTS, _WHOLE_READ, platforms), (bulk,), note),
        _latent(_SHARDED, module, args, Axes(_ROPE_SHARDED, _SLOTS, _RANKS, platforms), (), note),
        _latent(_BARE_SHARDED, module, args, Axes(_BARE_ROW, _SLOTS, _RANKS, platforms), (), note),
        _quant(module, args, platforms, note),
        _scale(module, args, f"{_SCALE_NOTE} {note}".strip()),
    )


def _from_20(
    module: EngineModule,
    platforms: tuple[Platform, ...],
    bulk: Unproved,
    eager: tuple[Unproved, ...] = (),
) -> tuple[Writer, ...]:
    main = (
        _latent(_ROW, module, _ARGS_SKIP, Axes(_ROPE, _SLOTS, _WHOLE, platforms), (bulk, *eager)),
        _latent(
            _BARE,
            module,
            _ARGS_SKIP,
            Axes(_NO_ROPE, _SLOTS, _WHOLE, platforms),
            eager,
            _ALL_SLOTS_NOTE,
        ),
    )
    sharded = (
        _latent(
            _SHARDED,
            module,
            _ARGS_SKIP,
            Axes(_ROPE_SHARDED, _SLOTS, _WHOLE_OR_RANKS, platforms),
            (bulk, *eager),
            callable=_DCP,
        ),
        _latent(
            _BARE_SHARDED,
            module,
            _ARGS_SKIP,
            Axes(_NO_ROPE_SHARDED, _SLOTS, _WHOLE_OR_RANKS, platforms),
            eager,
            _ALL_SLOTS_NOTE,
            callable=_DCP,
        ),
    )
    quant = _quant(module, _ARGS_SKIP, platforms, "")
    return (*main, *sharded, quant, _scale(module, _ARGS_SKIP, _SCALE_NOTE))


_EAGER_NOTE: Final = "Without rope it keeps every slot of its rank, the reserved one included."

SGLANG: Final = Engine(
    name="sglang",
    releases=(
        "0.5.16",
        "0.5.17",
        "0.5.18",
        "0.5.19",
        "0.5.20",
        "0.5.21",
        "0.5.22",
        "0.5.23",
    ),
    modules=(_M16, _M17, _M19, _M20, _M21, _M22),
    writers=(
        *_until_19(_M16, _ARGS, _P16, _BULK16, _NO_SKIP_NOTE),
        *_until_19(_M17, _ARGS, _P17, _BULK17, _NO_SKIP_NOTE),
        *_until_19(_M19, _ARGS_SKIP, _P17, _BULK17, ""),
        *_from_20(_M20, _P17, _BULK17),
        *_from_20(_M21, _P17, _BULK21),
        *_from_20(_M22, _P22, _BULK22, (_EAGER,)),
        _naive("mla-row-naive", _SHARDED, _ROPE, ""),
        _naive("mla-row-norope-naive", _BARE_SHARDED, _NO_ROPE, _EAGER_NOTE),
    ),
)
