"""The numbers of the sample material, each computed once. Speech, deck, notes and articles use these and no others.

The model is a stated configuration, not a product: 32 layers, 32 query heads, 8 key-value heads of 128 dimensions, and
8,053,063,680 parameters, so that its weights take 15 GiB at two bytes each. The service that runs it exists in two
versions; version 2.0 keeps the KV cache in FP8 and changes nothing else.
"""

from __future__ import annotations

from math import ceil

GIB, MIB, KIB = 2**30, 2**20, 2**10

LAYERS, QUERY_HEADS, KV_HEADS, HEAD_DIM = 32, 32, 8, 128
PARAMETERS = 8_053_063_680
BYTES_BF16, BYTES_FP8 = 2, 1


def kv_bytes_per_token(kv_heads: int, bytes_per_value: int) -> int:
    """One key and one value of every layer and head."""
    return 2 * LAYERS * kv_heads * HEAD_DIM * bytes_per_value


TOKEN_BYTES = kv_bytes_per_token(KV_HEADS, BYTES_BF16)  # 131,072: 128 KiB
TOKEN_BYTES_MHA = kv_bytes_per_token(QUERY_HEADS, BYTES_BF16)  # 512 KiB
TOKEN_BYTES_FP8 = kv_bytes_per_token(KV_HEADS, BYTES_FP8)  # 64 KiB

CARD_GIB, UTILIZATION = 24, 0.90
USABLE_GIB = round(CARD_GIB * UTILIZATION, 1)  # 21.6
WEIGHTS_GIB = PARAMETERS * BYTES_BF16 / GIB  # 15.0
ACTIVATIONS_GIB = 1.6  # measured once, for one batch shape; the one number here that is not arithmetic
CACHE_GIB = round(USABLE_GIB - WEIGHTS_GIB - ACTIVATIONS_GIB, 1)  # 5.0

BLOCK_TOKENS = 16
BLOCK_BYTES = BLOCK_TOKENS * TOKEN_BYTES  # 2 MiB
BLOCKS = int(CACHE_GIB * GIB) // BLOCK_BYTES  # 2,560
CACHE_TOKENS = BLOCKS * BLOCK_TOKENS  # 40,960
BLOCKS_FP8 = int(CACHE_GIB * GIB) // (BLOCK_TOKENS * TOKEN_BYTES_FP8)  # 5,120
CACHE_TOKENS_FP8 = BLOCKS_FP8 * BLOCK_TOKENS  # 81,920

REQUEST_TOKENS, MAX_TOKENS = 1_000, 4_096
REQUEST_BLOCKS = ceil(REQUEST_TOKENS / BLOCK_TOKENS)  # 63
WASTED_PAGED = REQUEST_BLOCKS * BLOCK_TOKENS - REQUEST_TOKENS  # 8
WASTED_RESERVED = MAX_TOKENS - REQUEST_TOKENS  # 3,096
CONCURRENT_RESERVED = CACHE_TOKENS // MAX_TOKENS  # 10
CONCURRENT_PAGED = BLOCKS // REQUEST_BLOCKS  # 40
CONCURRENT_FP8 = BLOCKS_FP8 // REQUEST_BLOCKS  # 81

SHARERS, SHARED_TOKENS = 32, 1_024
SHARED_BLOCKS = SHARED_TOKENS // BLOCK_TOKENS  # 64
UNSHARED_BLOCKS = SHARERS * SHARED_BLOCKS  # 2,048
UNEVEN_SHARED_BLOCKS = REQUEST_TOKENS // BLOCK_TOKENS  # 62 full blocks of a prompt of 1,000 tokens

OUTPUTS = (100, 200, 300, 1_000)
STATIC_STEPS = len(OUTPUTS) * max(OUTPUTS)  # 4,000
USED_STEPS = sum(OUTPUTS)  # 1,600
STATIC_UTILIZATION = USED_STEPS / STATIC_STEPS  # 40 %

PROMPT_TOKENS, STEP_BUDGET, DECODING = 8_192, 2_048, 48
PREFILL_PER_STEP = STEP_BUDGET - DECODING  # 2,000
PREFILL_STEPS = ceil(PROMPT_TOKENS / PREFILL_PER_STEP)  # 5
LAST_CHUNK = PROMPT_TOKENS - (PREFILL_STEPS - 1) * PREFILL_PER_STEP  # 192
