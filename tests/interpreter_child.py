"""Run one fixture kernel in Triton's interpreter: a JSON request on stdin, final bytes on stdout.

The request names the kernel, the grid, the constexprs, the scalars, and each tensor's dtype and
bytes. It runs as a program of its own, because the interpreter is chosen when triton is imported.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, str(Path(__file__).parent / "fixtures"))


def main() -> None:
    import kernels
    import op_kernels
    import torch

    request = json.load(sys.stdin)
    tensors = {
        name: torch.frombuffer(bytearray.fromhex(text), dtype=getattr(torch, kind))
        for name, (kind, text) in request["tensors"].items()
    }
    name = request["kernel"]
    kernel = getattr(kernels, name, None) or getattr(op_kernels, name)
    kernel[tuple(request["grid"])](**tensors, **request["scalars"], **request["constexprs"])
    memory = {
        name: bytes(tensor.view(torch.uint8).numpy()).hex() for name, tensor in tensors.items()
    }
    json.dump(memory, sys.stdout)


if __name__ == "__main__":
    main()
