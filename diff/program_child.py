"""Runs random programs in Triton's interpreter: one JSON program a line in, one JSON answer out.

It runs as a process of its own, because the interpreter is chosen when triton is imported:
`TRITON_INTERPRET=1 python -m kvproof.diff.program_child`. An answer holds the final memory, or why
the interpreter refused the program.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

_HEAD = "import triton\nimport triton.language as tl\n\n\n"
_TORCH = {
    "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
    "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
}  # fmt: skip


def run(program: dict[str, Any], folder: Path, number: int) -> dict[str, Any]:
    """Run one program and return {"memory": name -> hexadecimal} or {"refused": reason}."""
    import torch

    file = folder / f"program{number}.py"
    file.write_text(_HEAD + program["source"], encoding="utf-8")
    tensors: dict[str, Any] = {}
    for name, (elem, text) in program["inputs"].items():
        data = torch.frombuffer(bytearray.fromhex(text), dtype=torch.uint8)
        tensors[name] = data.view(getattr(torch, _TORCH[elem]))
    for name, (elem, count) in program["outputs"].items():
        data = torch.full((count * int(elem[1:]) // 8,), program["fill"], dtype=torch.uint8)
        tensors[name] = data.view(getattr(torch, _TORCH[elem]))
    try:
        spec = importlib.util.spec_from_file_location(f"program{number}", file)
        assert spec is not None and spec.loader is not None  # noqa: PT018 - one fact
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.kernel[tuple(program["grid"])](**tensors)
    except Exception as problem:  # noqa: BLE001 - whatever the interpreter raises is its answer
        cause = problem.__cause__ or problem
        text = str(cause).strip().splitlines() or [""]
        return {"refused": f"{type(cause).__name__}: {text[-1][:90]}"}
    finally:
        file.unlink()
    return {
        "memory": {
            name: bytes(tensor.view(torch.uint8).tolist()).hex() for name, tensor in tensors.items()
        }
    }


def main() -> None:
    """Answer programs until the input ends."""
    os.environ["TRITON_INTERPRET"] = "1"
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for number, line in enumerate(sys.stdin):
            answer = run(json.loads(line), Path(folder), number)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
