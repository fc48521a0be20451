"""The fixed texts of a stand-alone script; all of them kvproof's own."""

from __future__ import annotations

CAST = '''
def encode(bits):
    """Convert SOURCE bits to TARGET bits: to nearest, ties to even."""
    sbits, sexp, sman, sfinite = SOURCE
    tbits, texp, tman, tfinite = TARGET
    sign, rest = bits >> (sbits - 1), bits & ((1 << (sbits - 1)) - 1)
    top = sign << (tbits - 1)
    sinf = ((1 << sexp) - 1) << sman
    if tfinite:
        largest, tnan = (1 << (tbits - 1)) - 2, (1 << (tbits - 1)) - 1
        over = largest if SATURATE else tnan
    else:
        largest = (((1 << texp) - 1) << tman) - 1
        tnan = largest + 1 | 1 << (tman - 1)
        over = largest if SATURATE else largest + 1
    if rest == (1 << (sbits - 1)) - 1 if sfinite else rest > sinf:
        return tnan if SATURATE and tfinite else top | tnan
    if not sfinite and rest == sinf:
        return top | over
    if rest == 0:
        return top
    field, fraction = rest >> sman, rest & ((1 << sman) - 1)
    bias = (1 << (sexp - 1)) - 1
    unit = (field or 1) - bias - sman
    whole = fraction | (1 << sman if field else 0)
    tbias = (1 << (texp - 1)) - 1
    lowest = 1 - tbias - tman
    exponent = max(whole.bit_length() - 1 + unit - tman, lowest)
    shift = exponent - unit
    if shift <= 0:
        code = whole << -shift
    else:
        code, left, half = whole >> shift, whole & ((1 << shift) - 1), 1 << (shift - 1)
        code += left > half or (left == half and code & 1)
    code += (exponent - lowest) << tman
    return top | (code if code <= largest else over)
'''

COPY = '''
def encode(bits):
    """Every element is stored bit for bit."""
    return bits
'''

HEAD = """
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types

import torch

GPU = torch.cuda.is_available()
if not GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported
"""

BODY = '''
def fingerprint(tensor, index):
    """Return a well-mixed pattern, never zero, infinite or NaN, for one element of a source."""
    stream, bits, (field, low) = tensor["stream"], 8 * tensor["size"], tensor["exponent"]
    mask = (1 << 64) - 1
    x = (index * 0x9E3779B97F4A7C15 + stream * 0xD1B54A32D192ED03 + SEED + 1) & mask
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ x >> 33) * factor & mask
    x ^= x >> 33
    x = x & ((1 << bits) - 1) or 1
    return x ^ low if field and x & field == field else x


def put(data, tensor, offset, bits):
    """Store one element at an offset, in elements, from a tensor's first."""
    size = tensor["size"]
    at = tensor["start"] + offset * size
    data[at : at + size] = bits.to_bytes(size, "little", signed=bits < 0)


def filled():
    """Return the bytes of every storage before the call."""
    memory = {name: bytearray(size) for name, size in STORAGES.items()}
    for name, data in memory.items():
        if name in CACHES:
            block = bytes(index * 37 % 251 + 2 for index in range(251))
            memory[name] = bytearray((block * (len(data) // 251 + 1))[: len(data)])
        elif name == SLOT_STORAGE:
            size = TENSORS[SLOT_TABLE]["size"]
            memory[name] = bytearray(TRAP.to_bytes(size, "little") * (len(data) // size))
        else:
            memory[name] = bytearray(b"\\xff" * len(data))  # NaN in every float format
    for row, slot in enumerate(SLOTS):
        put(memory[SLOT_STORAGE], TENSORS[SLOT_TABLE], row * SLOT_STRIDE, slot)
    for row in range(ROWS):
        for _, source, _, width, _, begin in SEGMENTS:
            tensor = TENSORS[source]
            for col in range(width):
                offset = begin(row, col)
                bits = PAYLOAD.get((source, row, col), fingerprint(tensor, offset))
                put(memory[tensor["storage"]], tensor, offset, bits)
    return memory


def expected(before):
    """Return every storage as the contract says it must be after the call, and who stores what."""
    after = {name: bytearray(data) for name, data in before.items()}
    owner = {}
    for row, slot in enumerate(SLOTS):
        place = place_of(slot)
        for name, source, into, width, at, begin in SEGMENTS:
            tensor, cache = TENSORS[source], TENSORS[into]
            for col in range(width):
                offset = at(place, col)
                byte = cache["start"] + offset * cache["size"]
                if dropped(slot, place):
                    owner.setdefault((cache["storage"], byte), (row, slot, name, col))
                    continue
                owner[cache["storage"], byte] = (row, slot, name, col)
                where = tensor["start"] + begin(row, col) * tensor["size"]
                raw = before[tensor["storage"]][where : where + tensor["size"]]
                bits = encode(int.from_bytes(raw, "little"))
                put(after[cache["storage"]], cache, offset, bits)
    return after, owner


def writer():
    """Load the writer's file and return its function."""
    path = sys.argv[1] if len(sys.argv) > 1 else FILE
    if not os.path.exists(path):
        sys.exit(stop(f"no file {path}: give the path of the writer's file"))
    if ROOTS:
        sys.meta_path.insert(0, StubFinder())
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(MODULE, path)
    module = importlib.util.module_from_spec(spec)
    patched()
    if "." in MODULE:
        importlib.import_module(MODULE.rpartition(".")[0])
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    found = module
    for part in FUNCTION.split("."):
        found = getattr(found, part)
    return found


def stop(text):
    print(text)
    return 2


def compare(name, got, want, before, owner):
    """Print how a storage differs; return whether it does."""
    wrong = [index for index in range(len(got)) if got[index] != want[index]]
    if not wrong:
        return False
    tensors = [t for t in TENSORS.values() if t["storage"] == name]
    first, size = tensors[0], tensors[0]["size"]
    byte = wrong[0] - (wrong[0] - first["start"]) % size
    elements = len({(index - first["start"]) // size for index in wrong})
    row, slot, segment, col = owner.get((name, byte), (None,) * 4)
    where = f"element {(byte - first['start']) // size}"
    if slot is not None:
        where = f"slot {slot}, {segment} column {col} ({where}, row {row})"
    show = [int.from_bytes(data[byte : byte + size], "little") for data in (got, want, before)]
    digits = 2 * size
    print(
        f"{name}: {elements} elements are not as the contract says; first at {where}: "
        f"0x{show[0]:0{digits}X} instead of 0x{show[1]:0{digits}X} "
        f"(0x{show[2]:0{digits}X} before the call)"
    )
    return True


def main():
    if NEEDS_GPU and not GPU:
        return stop(f"this case needs a GPU: {NEEDS_GPU}")
    total = sum(STORAGES.values())
    if total > MOST_BYTES:
        return stop(f"this case needs {total / 2**30:.1f} GiB of memory, too much for this script")
    before = filled()
    after, owner = expected(before)
    device = "cuda" if GPU else "cpu"
    memory = {
        name: torch.frombuffer(bytearray(data), dtype=torch.uint8).to(device)
        for name, data in before.items()
    }
    arguments = {}
    for tensor in TENSORS.values():
        typed = memory[tensor["storage"]].view(getattr(torch, tensor["dtype"]))
        arguments[tensor["keyword"]] = typed.as_strided(
            tensor["shape"], tensor["strides"], tensor["start"] // tensor["size"]
        )
    for keyword, shape, dtype in FURTHER_TENSORS:
        arguments[keyword] = torch.zeros(shape, dtype=getattr(torch, dtype), device=device)
    for keyword, dtype in FURTHER_DTYPES:
        arguments[keyword] = getattr(torch, dtype)
    arguments.update(FURTHER)
    function = writer()
    try:
        function(**arguments)
        if GPU:
            torch.cuda.synchronize()
    except Exception as problem:
        print(f"{FUNCTION} raises {type(problem).__name__}: {problem}")
        return 1
    broken = [
        compare(name, bytes(data.cpu().numpy()), after[name], before[name], owner)
        for name, data in memory.items()
    ]
    if any(broken):
        print(f"{FINDING}")
        return 1
    print("all memory is as the contract says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''
