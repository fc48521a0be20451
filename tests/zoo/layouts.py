"""Layouts: pages with padding between them, heads at a stride of their own."""

import triton
import triton.language as tl

ZOO = (
    {
        "corpus": "C1",
        "right": "pages",
        "wrong": "pages_packed",
        "contract": "pages",
        "dims": {"D": 16, "PAGE": 4, "PAGE_STRIDE": 96, "TOKEN_STRIDE": 16, "X_STRIDE": 24},
        "extra": {"page": 4, "page_stride": 96},
        "expected": {"W1", "W2"},
        "why": "the page stride is derived from the shape, and pages have padding",
    },
    {
        "corpus": "C8",
        "right": "pages_tail",
        "wrong": "pages_packed",
        "contract": "pages",
        "dims": {"D": 8, "PAGE": 2, "PAGE_STRIDE": 40, "TOKEN_STRIDE": 8, "X_STRIDE": 8},
        "extra": {"page": 2, "page_stride": 40},
        "expected": {"W1", "W2"},
        "why": "a dense block stride, where the cache view has a padded one",
    },
    {
        "corpus": "C4",
        "right": "pages",
        "wrong": "pages_of_twice_the_size",
        "contract": "pages",
        "dims": {"D": 16, "PAGE": 2, "PAGE_STRIDE": 48, "TOKEN_STRIDE": 16, "X_STRIDE": 24},
        "extra": {"page": 2, "page_stride": 48},
        "expected": {"W1", "W2", "W13"},
        "why": "the page size is read from the wrong dimension",
    },
    {
        "corpus": "C16",
        "right": "pages",
        "wrong": "pages_of_twice_the_size",
        "contract": "pages",
        "dims": {"D": 16, "PAGE": 1, "PAGE_STRIDE": 32, "TOKEN_STRIDE": 16, "X_STRIDE": 24},
        "extra": {"page": 1, "page_stride": 32},
        "expected": {"W1", "W2", "W13"},
        "why": "pages of one token are taken for pages of two",
    },
    {
        "corpus": "A5",
        "right": "pages_but_minus_one",
        "wrong": "pages_of_all",
        "contract": "pages-minus-one",
        "dims": {"D": 16, "PAGE": 4, "PAGE_STRIDE": 64, "TOKEN_STRIDE": 16, "X_STRIDE": 24},
        "extra": {"page": 4, "page_stride": 64},
        "expected": {"W1", "W6"},
        "why": "page and token are computed from -1 and stored without a check",
    },
    {
        "corpus": "D8",
        "right": "pages",
        "wrong": "pages_folded",
        "contract": "pages",
        "dims": {"D": 16, "PAGE": 4, "PAGE_STRIDE": 96, "TOKEN_STRIDE": 16, "X_STRIDE": 24},
        "extra": {"page": 4, "page_stride": 96},
        "expected": {"W1", "W2", "W13"},
        "why": "entries of a page are folded modulo half of it",
    },
    {
        "corpus": "C2",
        "right": "heads",
        "wrong": "heads_in_one_run",
        "contract": "heads",
        "dims": {"D": 12, "HEAD_STRIDE": 20, "TOKEN_STRIDE": 40, "X_STRIDE": 32},
        "extra": {"head": 12, "head_stride": 20},
        "expected": {"W1", "W2", "W9"},
        "why": "a token's heads are written as one run, and they are not contiguous in the cache",
    },
    {
        "corpus": "C5",
        "right": "heads",
        "wrong": "heads_at_token_of_shape",
        "contract": "heads",
        "dims": {"D": 12, "HEAD_STRIDE": 20, "TOKEN_STRIDE": 48, "X_STRIDE": 32},
        "extra": {"head": 12, "head_stride": 20},
        "expected": {"W1", "W2", "W9"},
        "why": "the token stride is assumed to be that of packed heads",
    },
)


@triton.jit
def _page(
    out,
    src,
    loc,
    page_stride,
    token_stride,
    src_pitch,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    PAGE: tl.constexpr,
    FOLD: tl.constexpr,
    SKIP: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(loc + row).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < D
    if SKIP == "zero":
        mask = mask & (slot > 0)
    elif SKIP == "minus one":
        mask = mask & (slot != -1)
    at = slot // PAGE * page_stride + slot % PAGE % FOLD * token_stride
    tl.store(out + at + col, tl.load(src + row * src_pitch + col, mask=mask), mask=mask)


def _pages(cache, loc, x, page, page_stride, skip="zero", fold=None):
    rows, width = x.shape
    _page[(rows,)](
        cache,
        x,
        loc,
        page_stride,
        cache.stride(0),
        x.stride(0),
        width,
        BLOCK=triton.next_power_of_2(width),
        PAGE=page,
        FOLD=fold or page,
        SKIP=skip,
    )


def pages(cache, loc, x, page, page_stride):
    _pages(cache, loc, x, page, page_stride)


def pages_tail(cache, loc, x, page, page_stride):
    _pages(cache, loc, x, page, page_stride)


def pages_packed(cache, loc, x, page, page_stride):
    _pages(cache, loc, x, page, page * cache.stride(0))


def pages_of_twice_the_size(cache, loc, x, page, page_stride):
    _pages(cache, loc, x, 2 * page, page_stride)


def pages_but_minus_one(cache, loc, x, page, page_stride):
    _pages(cache, loc, x, page, page_stride, skip="minus one")


def pages_of_all(cache, loc, x, page, page_stride):
    _pages(cache, loc, x, page, page_stride, skip="nothing")


def pages_folded(cache, loc, x, page, page_stride):
    _pages(cache, loc, x, page, page_stride, fold=page // 2)


@triton.jit
def _head(
    out,
    src,
    loc,
    token_stride,
    head_stride,
    src_pitch,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(loc + row).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = (col < D) & (slot > 0)
    for head in tl.static_range(2):
        value = tl.load(src + row * src_pitch + head * D + col, mask=mask)
        tl.store(out + slot * token_stride + head * head_stride + col, value, mask=mask)


def _heads(cache, loc, x, head, head_stride, token_stride=None):
    _head[(x.shape[0],)](
        cache,
        x,
        loc,
        token_stride or cache.stride(0),
        head_stride,
        x.stride(0),
        head,
        BLOCK=triton.next_power_of_2(head),
    )


def heads(cache, loc, x, head, head_stride):
    _heads(cache, loc, x, head, head_stride)


def heads_in_one_run(cache, loc, x, head, head_stride):
    _heads(cache, loc, x, head, head)


def heads_at_token_of_shape(cache, loc, x, head, head_stride):
    _heads(cache, loc, x, head, head_stride, token_stride=2 * head_stride)
