"""The ids of the project's corpus of real faults, each with the invariant that it breaks first."""

from __future__ import annotations

_BY_CLASS = {
    "W2": "C17 F6 I8",
    "W3": "C1 C2 C4 C5 C7 C8 C11 C12 C14 C15",
    "W4": "B1 B2 B4 B5 B7 B8",
    "W5": "C16 D3 D8 D9 D12",
    "W6": "A1 A2 A4 A5 A7 A12 A14 A15 A17 A18 A23 A25",
    "W7": "A9 A10 A22 I6",
    "W8": "D6 E1 E3 E5",
    "W9": "C9 C18 F1 F2 F5 F7",
    "W10": "F4 G1 G3 G4 G12 G13 G15",
    "W11": "G5 G6 G8 G9",
    "W12": "D2 D4",
    "W13": "A19 I3 I7",
    "W14": "F9 I9",
    "W15": "A24 I1 I5",
    "W16": "D1 D10 H2 H3 H5 H6",
    "W17": "A8 A11 L2 L3 L5 L6",
}

#: Id of a report -> the invariant that its fault breaks first.
CORPUS = {name: broken for broken, names in _BY_CLASS.items() for name in names.split()}
