"""Technical sentences in English and Chinese, for speaking them aloud: which of their terms survive recognition?

`python -m tests.bench.spoken FOLDER`, in the environment that `examples/README.md` describes for the recordings,
speaks them into `FOLDER/{en,zh}-{known,fresh}.ogg`: English by espeak-ng's phonemes and Kokoro, Mandarin by Kokoro.
Mishearings of the `known` ones went into the glossary; the `fresh` ones were never looked at for that.
"""

from __future__ import annotations

import sys
from pathlib import Path

SENTENCES: dict[str, tuple[str, ...]] = {
    "en-known": (
        "Paged attention keeps the KV cache in blocks, and prefix caching lets requests share them.",
        "Chunked prefill and continuous batching keep the throughput high.",
        "Speculative decoding needs a draft model, and the acceptance rate decides on the speedup.",
        "Tensor parallelism splits every layer, pipeline parallelism splits the stack of layers.",
        "Expert parallelism serves a mixture of experts, data parallelism copies the model.",
        "Grouped query attention has fewer KV heads than multi-head attention.",
        "Quantization of the weights saves memory bandwidth in the decode phase.",
        "Time to first token grows with the prompt, inter-token latency with the batch size.",
        "FlashAttention computes an online softmax, tile by tile.",
        "The scheduler preempts a request when no block is free, and its KV cache is recomputed.",
    ),
    "en-fresh": (
        "With prefill-decode disaggregation, the KV cache moves from one instance to the other.",
        "Multi-head latent attention compresses keys and values into a latent space.",
        "Rotary position embedding turns the query vector by an angle.",
        "Sliding window attention bounds the KV cache, full attention does not.",
        "A causal mask hides the tokens that come later.",
        "Prefix caching and chunked prefill work together in vLLM.",
        "Pipeline parallelism has bubbles, tensor parallelism has all-reduce.",
        "Continuous batching raises the throughput, quantization lowers the memory.",
        "The hidden size and the head dimension decide on the size of the KV cache.",
        "Speculative decoding checks many tokens in one step of the large language model.",
    ),
    "zh-known": (
        "分页注意力把键值缓存分成小块，前缀缓存让请求共享这些块。",
        "分块预填充和连续批处理，可以提高吞吐量。",
        "投机解码先用小模型猜词元，再由大语言模型验证。",
        "张量并行切分每一层，流水线并行切分层与层。",
        "专家并行服务于混合专家模型，数据并行复制整个模型。",
        "分组查询注意力的键值头，比多头注意力更少。",
        "模型量化可以节省解码阶段的显存带宽。",
        "首词元延迟随着提示词变长，吞吐量随着批次变大。",
        "注意力机制里的旋转位置编码，作用在查询向量上。",
        "调度器抢占请求以后，它的键值缓存要重新计算。",
    ),
    "zh-fresh": (
        "预填充阶段受算力限制，解码阶段受显存带宽限制。",
        "滑动窗口注意力限制键值缓存的长度，全注意力没有限制。",
        "多头潜在注意力，把键和值压缩到隐空间。",
        "因果掩码遮住后面的词元。",
        "连续批处理和前缀缓存，在大模型推理里都很重要。",
        "流水线并行有气泡，张量并行有通信开销。",
        "隐藏层维度和头维度，决定键值缓存的大小。",
        "投机解码的接受率越高，吞吐量就越高。",
        "稀疏注意力和线性注意力，都是为了更长的上下文。",
        "混合专家模型的前馈网络，由专家并行来切分。",
    ),
}


def main() -> None:
    """Speak every list into the folder that the command line names."""
    import numpy as np

    from examples.make.speech import PAUSE, Voice, english, mandarin, write_opus

    voice, folder = Voice(), Path(sys.argv[1])
    for name, sentences in SENTENCES.items():
        path = folder / f"{name}.ogg"
        if path.exists():
            continue
        chinese = name.startswith("zh")
        voices = ("jf_alpha", "jf_gongitsune", "jf_nezumi", "jf_tebukuro") if chinese else ("jf_alpha",)
        parts = []
        for sentence in sentences:
            phonemes = mandarin(sentence) if chinese else english(sentence)
            parts += [voice.say(phonemes, voices, 0.95 if chinese else 1.0), PAUSE]
        write_opus(np.concatenate(parts), path)


if __name__ == "__main__":
    main()
