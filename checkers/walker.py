"""Walks a TTIR program once, in a domain: values, control flow and memory accesses.

Control flow is a path condition. `scf.if` runs both regions under a condition and its negation;
the blocks of an early return run under the union of the edges that reach them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .domain import Domain, Path, Trace, Unsupported, Value, line_of
from .effects import nested, touches_memory
from .optable import OPS, is_pure
from .ttir import Block, Op, Program, PtrType, Region

#: Inline assembly up to Triton 3.8, ops of their own from 3.9 on.
_WAITS = ("griddepcontrol.wait", "tt.grid_dependency_wait")
_TRIGGERS = ("griddepcontrol.launch_dependents", "tt.grid_dependency_launch_dependents")


class Walker:
    """One walk of a program in a domain.

    Args:
        program: the parsed IR.
        domain: the abstract machine.
        arguments: a value of the domain for every kernel argument, keyed with its "%".
    """

    def __init__(self, program: Program, domain: Domain, arguments: Mapping[str, Value]) -> None:
        self.program = program
        self.domain = domain
        self.trace = Trace()
        self._arguments = arguments
        self._simple: dict[str, Callable[[Op, tuple[Value, ...]], Value]] = {
            "tt.get_program_id": lambda op, v: domain.program_id(_axis(op)),
            "tt.get_num_programs": lambda op, v: domain.num_programs(_axis(op)),
            "tt.splat": lambda op, v: domain.splat(op, v[0]),
            "tt.broadcast": lambda op, v: domain.broadcast(op, v[0]),
            "tt.reshape": lambda op, v: domain.reshape(op, v[0]),
            "tt.addptr": lambda op, v: domain.addptr(op, v[0], v[1]),
            "tt.expand_dims": lambda op, v: domain.expand_dims(op, v[0], _axis(op)),
            "tt.trans": lambda op, v: domain.transpose(op, v[0], _order(op)),
            "arith.constant": lambda op, v: domain.constant(op, _int(op, "value")),
            "tt.make_range": lambda op, v: domain.make_range(
                op, _int(op, "start"), _int(op, "end")
            ),
        }

    def run(self) -> Trace:
        """Walk the whole program and return what was seen; accesses are the domain's."""
        env: dict[str, Value] = dict(self._arguments)
        self._region(self.program.body, env, True, ())
        return self.trace

    def _region(
        self, region: Region, env: dict[str, Value], path: Path, args: tuple[Value, ...]
    ) -> tuple[Value, ...]:
        """Run a region under `path`; return what its terminator yields."""
        done: set[str] = set()
        incoming: dict[str, list[tuple[Path, tuple[Value, ...]]]] = {}
        yielded: tuple[Value, ...] = ()
        for position, block in enumerate(region.in_flow()):
            done.add(block.label)
            if position == 0:
                here, values = path, args
            else:
                edges = incoming.get(block.label, [])
                if not edges:
                    continue
                here, values = self._join(block, edges)
            for (name, _), value in zip(block.args, values, strict=False):
                env[name] = value
            for op in block.ops:
                self.trace.order += 1
                if op.name in ("scf.yield", "scf.condition", "tt.reduce.return", "tt.return"):
                    yielded = tuple(env[name] for name in op.operands)
                elif op.name in ("cf.br", "cf.cond_br"):
                    self._branch(op, env, here, incoming, done)
                else:
                    self._op(op, env, here)
        return yielded

    def _join(
        self, block: Block, edges: list[tuple[Path, tuple[Value, ...]]]
    ) -> tuple[Path, tuple[Value, ...]]:
        here, values = edges[0]
        for condition, others in edges[1:]:
            values = tuple(
                self.domain.merge(kind, condition, new, old)
                for (_, kind), new, old in zip(block.args, others, values, strict=True)
            )
            here = self.domain.either(here, condition)
        return here, values

    def _branch(
        self,
        op: Op,
        env: dict[str, Value],
        path: Path,
        incoming: dict[str, list[tuple[Path, tuple[Value, ...]]]],
        done: set[str],
    ) -> None:
        conditions: tuple[Path, ...] = (path,)
        if op.name == "cf.cond_br":
            self.trace.conditions.append((op, env[op.operands[0]], path))
            try:
                taken = self.domain.truth(env[op.operands[0]])
            except Unsupported as why:
                # Where control goes is unknown, and so is what is stored.
                self.trace.effects.append(why)
                return
            conditions = (
                self.domain.both(path, taken),
                self.domain.both(path, self.domain.negate(taken)),
            )
        for condition, successor in zip(conditions, op.successors, strict=True):
            if self.domain.never(condition):
                continue
            if successor.block in done:
                self._effect(op, "a branch backwards")
                continue
            values = tuple(env[name] for name in successor.operands)
            incoming.setdefault(successor.block, []).append((condition, values))

    def _effect(self, op: Op, reason: str) -> None:
        self.trace.effects.append(Unsupported(op.name, line_of(op), reason))

    def _op(self, op: Op, env: dict[str, Value], path: Path) -> None:
        operands = tuple(env[name] for name in op.operands)
        try:
            results = self._evaluate(op, operands, env, path)
        except Unsupported as why:
            # A region that was not walked may load and store: nothing is known of memory.
            if any(touches_memory(inner) for inner in (op, *nested(op))):
                self.trace.effects.append(why)
            results = tuple(self.domain.opaque(op, kind, why) for kind in op.result_types)
        except (TypeError, KeyError, NotImplementedError) as error:
            why = Unsupported(op.name, line_of(op), str(error))
            if touches_memory(op):
                self.trace.effects.append(why)
            results = tuple(self.domain.opaque(op, kind, why) for kind in op.result_types)
        for name, value in zip(op.results, results, strict=True):
            env[name] = value

    def _evaluate(
        self, op: Op, operands: tuple[Value, ...], env: dict[str, Value], path: Path
    ) -> tuple[Value, ...]:
        domain = self.domain
        simple = self._simple.get(op.name)
        if simple is not None:
            return (simple(op, operands),)
        if op.name in ("tt.bitcast", "arith.select") and isinstance(
            op.result_types[0].elem, PtrType
        ):
            return (self._pointer(op, operands),)
        row = OPS.get("arith.bitcast" if op.name == "tt.bitcast" else op.name)
        if row is not None:
            return (domain.pointwise(row, op, operands),)
        if op.name == "tt.load":
            self.trace.loads.append((self.trace.order, op))
            return (domain.load(op, operands, path),)
        if op.name == "tt.store":
            self.trace.stores.append((self.trace.order, op))
            domain.store(op, operands, path)
            return ()
        if op.name == "scf.if":
            return self._if(op, operands[0], env, path)
        if op.name == "scf.for":
            return self._for(op, operands, env, path)
        if op.name == "scf.while":
            return self._while(op, operands, env, path)
        if op.name == "tt.reduce":
            return domain.reduce(op, operands, _axis(op))
        if op.name == "tt.assert":
            self.trace.asserts.append((op, str(op.attrs.get("message", ""))))
            domain.check(op, operands[0], path)
            return ()
        if self._dependency(op):
            why = Unsupported(op.name, line_of(op), "the result of a dependency instruction")
            return tuple(domain.opaque(op, kind, why) for kind in op.result_types)
        if op.name in ("tt.print", "gpu.barrier", "ttg.barrier"):
            return ()
        if op.name == "tt.call":
            return self._call(op, operands, path)
        why = Unsupported(op.name, line_of(op))
        if not is_pure(op):
            self.trace.effects.append(why)
        return tuple(domain.opaque(op, kind, why) for kind in op.result_types)

    def _pointer(self, op: Op, operands: tuple[Value, ...]) -> Value:
        if op.name == "tt.bitcast":
            return self.domain.pointer_cast(op, operands[0])
        return self.domain.pointwise(OPS["arith.select"], op, operands)

    def _dependency(self, op: Op) -> bool:
        """Record a dependency wait or trigger; tell whether the op was one."""
        text = op.name
        if op.name == "tt.elementwise_inline_asm":
            text = str(op.attrs.get("asm", "")).partition(";")[0].strip()
        if text in _WAITS:
            self.trace.waits.append(self.trace.order)
        elif text in _TRIGGERS:
            self.trace.triggers.append(self.trace.order)
        return text in _WAITS or text in _TRIGGERS

    def _if(self, op: Op, condition: Value, env: dict[str, Value], path: Path) -> tuple[Value, ...]:
        domain = self.domain
        self.trace.conditions.append((op, condition, path))
        taken = domain.truth(condition)
        sides: list[tuple[Value, ...]] = []
        paths = (domain.both(path, taken), domain.both(path, domain.negate(taken)))
        for region, here in zip(op.regions, paths, strict=False):
            if domain.never(here):
                why = Unsupported(op.name, line_of(op), "a branch that is never taken")
                sides.append(tuple(domain.opaque(op, kind, why) for kind in op.result_types))
            else:
                sides.append(self._region(region, dict(env), here, ()))
        if not op.results:
            return ()
        return tuple(
            domain.merge(kind, taken, a, b)
            for kind, a, b in zip(op.result_types, sides[0], sides[1], strict=True)
        )

    def _for(
        self, op: Op, operands: tuple[Value, ...], env: dict[str, Value], path: Path
    ) -> tuple[Value, ...]:
        def body(iv: Value, carried: tuple[Value, ...], here: Path) -> tuple[Value, ...]:
            return self._region(op.regions[0], dict(env), here, (iv, *carried))

        lower, upper, step = operands[:3]
        self.trace.conditions += [(op, bound, path) for bound in operands[:3]]
        return self.domain.loop(op, (lower, upper, step), operands[3:], path, body)

    def _while(
        self, op: Op, operands: tuple[Value, ...], env: dict[str, Value], path: Path
    ) -> tuple[Value, ...]:
        def before(carried: tuple[Value, ...], here: Path) -> tuple[Value, tuple[Value, ...]]:
            condition, *rest = self._region(op.regions[0], dict(env), here, carried)
            return condition, tuple(rest)

        def after(carried: tuple[Value, ...], here: Path) -> tuple[Value, ...]:
            return self._region(op.regions[1], dict(env), here, carried)

        return self.domain.repeat(op, operands, path, before, after)

    def _call(self, op: Op, operands: tuple[Value, ...], path: Path) -> tuple[Value, ...]:
        function = self.program.functions.get(str(op.attrs.get("callee", "")).lstrip("@"))
        if function is None or len(function.body.blocks) != 1:
            self._effect(op, "a call that cannot be followed")
            why = Unsupported(op.name, line_of(op), "a call that cannot be followed")
            return tuple(self.domain.opaque(op, kind, why) for kind in op.result_types)
        env = {name: value for (name, _), value in zip(function.args, operands, strict=True)}
        return self._region(function.body, env, path, ())


def _int(op: Op, key: str) -> int:
    value: Any = op.attrs[key]
    return int(value)


def _axis(op: Op) -> int:
    return _int(op, "axis")


def _order(op: Op) -> tuple[int, ...]:
    order: Any = op.attrs["order"]
    return tuple(int(axis) for axis in order)
