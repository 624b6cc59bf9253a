"""One `Settings`, a sub-model per concern, read from the environment with the prefix `KB_`.

`KB_LLM_BASE_URL` is `settings.llm.base_url`. Built once by the caller and passed down; nothing reads it at import.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class IngestSettings(Group):
    """Reading files."""

    max_mb: int = Field(default=2048, ge=1, description="Largest file that is read, in MiB.")
    chunk_tokens: int = Field(
        default=384, ge=64, description="Most tokens of a chunk, its context and the embedder's prefix included."
    )
    page_width: int = Field(default=1280, ge=200, description="Width of page images, in pixels.")
    ocr: bool = Field(default=True, description="Read text in pictures of decks, about two seconds a picture.")


class SpeechSettings(Group):
    """Turning recordings into text."""

    model: str = Field(
        default="packaged", description="A faster-whisper model: `packaged`, a folder, or a model name of a hub."
    )
    compute_type: str = Field(default="int8", description="CTranslate2 compute type.")
    device: str = Field(default="cpu", description="`cpu`, `cuda` or `auto`.")
    beam_size: int = Field(
        default=3, ge=1, description="Beams of the decoder; 5 hears a little better, and takes a third longer."
    )


class EmbedSettings(Group):
    """Turning text into vectors."""

    model: str = Field(
        default="packaged", description="A sentence-transformers model: `packaged`, a folder, or a model name of a hub."
    )
    device: str = Field(default="cpu", description="Device of sentence-transformers.")
    batch_size: int = Field(default=16, ge=1, description="Passages embedded at once.")
    query_prefix: str = Field(default="", description="Put before a query, for models that were trained with one.")
    passage_prefix: str = Field(default="", description="Put before a passage, for models that were trained with one.")
    base_url: str | None = Field(
        default=None, description="An OpenAI-compatible endpoint that embeds; `model` names the model there."
    )
    api_key: SecretStr | None = Field(default=None, description="Key of that endpoint.")


class RerankSettings(Group):
    """A second look at the best candidates."""

    model: str | None = Field(
        default=None,
        description="A cross-encoder of sentence-transformers, a folder or a name; orders the best candidates anew.",
    )
    depth: int = Field(default=30, ge=2, le=100, description="How many candidates it orders.")
    device: str = Field(default="cpu", description="Device that it runs on.")


class QdrantSettings(Group):
    """Where vectors live; without a URL, in the library's own folder."""

    url: str | None = Field(default=None, description="A Qdrant server or cluster; `:memory:` for a trial.")
    api_key: SecretStr | None = Field(default=None, description="Key of that server.")
    collection: str = Field(default="vllm-notes", description="Name of the collection on that server.")


class LLMSettings(Group):
    """The language model that writes answers; without a URL, answers are extractive."""

    base_url: str | None = Field(
        default=None, description="An OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1."
    )
    model: str = Field(default="default", description="Name of the model there.")
    api_key: SecretStr | None = Field(default=None, description="Key of that endpoint.")
    timeout: float = Field(default=120.0, gt=0, description="Seconds that one call may take.")
    context_tokens: int = Field(default=8192, ge=1024, description="The model's context window, in tokens.")
    max_tokens: int = Field(default=1024, ge=64, description="Longest answer of the model, in tokens.")
    gloss: bool = Field(
        default=True, description="Whether quotes in another language than the question get a translation beside them."
    )
    translate_seconds: float = Field(
        default=5.0,
        ge=0,
        description="Seconds that a search waits for the question in the other language; 0 never asks for it.",
    )
    price_prompt: float | None = Field(default=None, ge=0, description="Price of a million tokens that are read.")
    price_completion: float | None = Field(
        default=None, ge=0, description="Price of a million tokens that are written."
    )


class ServeSettings(Group):
    """The HTTP service."""

    host: str = Field(default="127.0.0.1", description="Address to listen on; beyond loopback only with a key.")
    port: int = Field(default=8765, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    api_key: SecretStr | None = Field(default=None, description="Key that callers must send as a bearer token.")


class SiteSettings(Group):
    """The reader-facing site."""

    dir: Path = Field(default=Path("site"), description="Folder with `mkdocs.yml` and `docs/{zh,en}`.")


class Settings(BaseSettings):
    """Everything that can be set. Every field is documented in `docs/settings.md`; a test holds that."""

    model_config = SettingsConfigDict(
        env_prefix="KB_",
        env_nested_delimiter="_",
        env_nested_max_split=1,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
    )

    home: Path = Field(default=Path(".kb"), description="Folder of the library.")
    cache: Path = Field(
        default_factory=lambda: Path("~/.cache/vllm-notes-kb").expanduser(),
        description="Folder of prepared model weights, shared by all libraries.",
    )
    threads: int = Field(default=0, ge=0, description="Threads of the models; 0 uses every core.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="Least severe event that is logged."
    )
    ingest: IngestSettings = IngestSettings()
    speech: SpeechSettings = SpeechSettings()
    embed: EmbedSettings = EmbedSettings()
    rerank: RerankSettings = RerankSettings()
    qdrant: QdrantSettings = QdrantSettings()
    llm: LLMSettings = LLMSettings()
    serve: ServeSettings = ServeSettings()
    site: SiteSettings = SiteSettings()
