"""The seam to a language model: one call, typed failures, retries where they help.

Any LlamaIndex chat model fits; the default is `OpenAILike` against an OpenAI-compatible server, vLLM first of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kb.errors import GenerationFailed, Truncated
from kb.settings import LLMSettings

if TYPE_CHECKING:
    import tenacity
    from llama_index.core.llms import LLM

Schema = Mapping[str, object]

_ATTEMPTS = 3


@dataclass(frozen=True)
class Message:
    """What is sent: the instructions, which are ours, and the request, which carries fenced evidence."""

    system: str
    user: str


class LanguageModel(Protocol):
    """Writes text from instructions. Thread-safe."""

    @property
    def fingerprint(self) -> str:
        """Names the model and its settings, for the recipe of what it wrote."""
        ...

    @property
    def context_tokens(self) -> int:
        """Tokens that a request and its reply may take together."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of the longest reply."""
        ...

    def complete(self, message: Message, *, schema: Schema | None = None) -> str:
        """The model's reply, whole; JSON by `schema` where the server can promise that.

        Raises:
            Truncated: if the reply was cut at the length limit.
            GenerationFailed: if the endpoint cannot be reached, refuses, stays overloaded or gives nothing.
        """
        ...


class ChatModel:
    """A LlamaIndex chat model as a `LanguageModel`.

    Args:
        llm: any chat model of LlamaIndex; its own retries should be off.
        settings: for fingerprint and limits.
        wait: pause between attempts, growing; a test passes `tenacity.wait_none()`.
    """

    def __init__(self, llm: LLM, settings: LLMSettings, *, wait: tenacity.wait.wait_base | None = None) -> None:
        self._llm = llm
        self._settings = settings
        self._wait = wait
        self._schemas = True  # until the server says that it knows none

    @property
    def fingerprint(self) -> str:
        return f"{self._settings.model}/t0/{self._settings.max_tokens}"

    @property
    def context_tokens(self) -> int:
        return self._settings.context_tokens

    @property
    def max_tokens(self) -> int:
        return self._settings.max_tokens

    def complete(self, message: Message, *, schema: Schema | None = None) -> str:
        import openai
        import tenacity

        backoff = tenacity.wait_exponential(multiplier=0.5, max=8) + tenacity.wait_random(0, 1)  # seconds
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(_ATTEMPTS),
            wait=self._wait or backoff,
            retry=tenacity.retry_if_exception(_is_transient),
            reraise=True,
        )
        try:
            response = retrying(self._chat, message, schema if self._schemas else None)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if schema is None or not self._schemas or not _is_about_schema(error):
                raise self._failure(error) from error
            self._schemas = False
            return self.complete(message)
        except openai.OpenAIError as error:
            raise self._failure(error) from error
        except (IndexError, TypeError, ValueError, AttributeError) as error:  # a body that is no chat completion
            raise self._malformed() from error
        return self._text(response)

    def close(self) -> None:
        """Let go of the connections to the endpoint; it cannot be asked after that."""
        client = getattr(self._llm, "_client", None)
        if client is not None:
            client.close()

    def _chat(self, message: Message, schema: Schema | None) -> Any:  # noqa: ANN401 - LlamaIndex is untyped here
        from llama_index.core.llms import ChatMessage, MessageRole

        options: dict[str, object] = {}
        if schema is not None:
            json_schema = {"name": "reply", "schema": schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        messages = [
            ChatMessage(role=MessageRole.SYSTEM, content=message.system),
            ChatMessage(role=MessageRole.USER, content=message.user),
        ]
        return self._llm.chat(messages, **options)

    def _text(self, response: Any) -> str:  # noqa: ANN401
        choices = getattr(response.raw, "choices", None) or [None]
        if getattr(choices[0], "finish_reason", None) == "length":
            raise Truncated(
                f"the model's reply was cut at {self._settings.max_tokens} tokens",
                where=self._place,
                remedy="Raise KB_LLM_MAX_TOKENS, or ask a narrower question",
            )
        text: str | None = response.message.content
        if text is None or not text.strip():
            raise GenerationFailed(
                "the model's reply was empty",
                where=self._place,
                remedy="Ask again; if it stays so, check the model's chat template on the server",
            )
        return text

    @property
    def _place(self) -> str:
        return f"{self._settings.base_url or 'the language model'} ({self._settings.model})"

    def _malformed(self) -> GenerationFailed:
        return GenerationFailed(
            "the endpoint's reply is no chat completion",
            where=self._place,
            remedy="Check that KB_LLM_BASE_URL names an OpenAI-compatible server and ends in /v1",
        )

    def _failure(self, error: Exception) -> GenerationFailed:
        what, remedy = _explain(error)
        return GenerationFailed(what, where=self._place, remedy=remedy)


def connect(settings: LLMSettings) -> ChatModel:
    """The model behind `settings.base_url`. Nothing is sent before the first `complete`."""
    from llama_index.llms.openai_like import OpenAILike

    llm = OpenAILike(
        model=settings.model,
        api_base=settings.base_url,
        api_key=settings.api_key.get_secret_value() if settings.api_key else "none",
        is_chat_model=True,
        context_window=settings.context_tokens,
        max_tokens=settings.max_tokens,
        temperature=0.0,
        timeout=settings.timeout,
        max_retries=0,
    )
    return ChatModel(llm, settings)


def _is_transient(error: BaseException) -> bool:
    import openai

    if isinstance(error, openai.APITimeoutError):
        return False  # it has waited long enough
    return isinstance(error, openai.APIConnectionError | openai.RateLimitError | openai.InternalServerError)


def _is_about_schema(error: Exception) -> bool:
    return any(word in str(error).lower() for word in ("response_format", "json_schema", "schema", "guided", "grammar"))


def _explain(error: Exception) -> tuple[str, str]:
    import openai

    match error:
        case openai.APITimeoutError():
            return "no answer in time", "Raise KB_LLM_TIMEOUT, or use a faster model"
        case openai.APIConnectionError():
            return "the endpoint cannot be reached or broke off", "Start the server, or correct KB_LLM_BASE_URL"
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return "the endpoint refused the key", "Set KB_LLM_API_KEY to a key that may use this model"
        case openai.NotFoundError():
            return "the endpoint knows no such model", "Set KB_LLM_MODEL to a name that its /v1/models lists"
        case openai.RateLimitError():
            return "the endpoint is rate limited", "Wait, or use another endpoint"
        case openai.BadRequestError() | openai.UnprocessableEntityError():
            return f"the endpoint refused the request: {error}", "Check KB_LLM_CONTEXT_TOKENS against the server"
        case openai.APIStatusError(status_code=status):
            return f"the endpoint failed with status {status}", "Look at the server's log"
        case _:
            return f"the endpoint failed: {error}", "Look at the server's log"
