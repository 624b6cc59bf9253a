"""A model behind an OpenAI-compatible endpoint, vLLM first of all, through LlamaIndex's `OpenAILike`.

Requests run in an event loop of the model's own, because only there can one be ended while its server is silent.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import structlog

from generate.background import BackgroundLoop, end_others
from generate.failures import explain, is_transient, pause, unknown_option
from generate.llm import Message, Meter, Schema
from generate.tally import Tally
from generate.thinking import Thoughtless, after_thoughts
from generate.tokens import ServerTokenizer
from kb.errors import BrokenOff, GenerationFailed, Truncated
from kb.settings import LLMSettings

if TYPE_CHECKING:
    import httpx
    import tenacity
    from llama_index.core.llms import LLM

_log = structlog.get_logger(__name__)

_ATTEMPTS = 3
_LOOK = 0.05  # seconds between two looks at whether someone still waits
_EXCESS = 4  # a reply of so many times the permitted pieces will not end by itself

_Piece = str | BaseException | None
"""A piece of the reply, what ended it early, or None at its end."""


class ChatModel:
    """A LlamaIndex chat model as a `LanguageModel`.

    Args:
        llm: any chat model of LlamaIndex; its own retries should be off.
        settings: for fingerprint, limits and prices.
        wait: pause between attempts, growing; a test passes `tenacity.wait_none()`.
    """

    def __init__(self, llm: LLM, settings: LLMSettings, *, wait: tenacity.wait.wait_base | None = None) -> None:
        self._llm = llm
        self._settings = settings
        self._wait = wait
        self._options = {"schema", "usage"}  # until the server says that it does not know them
        self._loop = BackgroundLoop("kb-llm")
        self._tokenizer = ServerTokenizer(lambda: self._http, settings.base_url or "", settings.model)

    @property
    def fingerprint(self) -> str:
        return f"{self._settings.model}/t0/{self._settings.max_tokens}"

    @property
    def context_tokens(self) -> int:
        return self._settings.context_tokens

    @property
    def max_tokens(self) -> int:
        return self._settings.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._tokenizer.count(text)

    def stream(self, message: Message, *, schema: Schema | None = None, meter: Meter | None = None) -> Iterator[str]:
        meter = meter or Meter()
        pieces: queue.SimpleQueue[_Piece] = queue.SimpleQueue()
        reply = self._loop.start(self._write(message, schema, meter, pieces))
        try:
            while (piece := _next(pieces, meter)) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            reply.cancel()

    def complete(self, message: Message, *, schema: Schema | None = None, meter: Meter | None = None) -> str:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return after_thoughts("".join(self.stream(message, schema=schema, meter=meter)))
            except BrokenOff:
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError

    def close(self) -> None:
        """Let go of the connections to the endpoint; it cannot be asked after that."""
        if "_http" in self.__dict__:
            self._http.close()
        if self._loop.is_running:
            self._loop.start(self._let_go()).result()
        self._loop.close()

    # --- in the caller's thread -------------------------------------------------------------------------------------

    @cached_property
    def _http(self) -> httpx.Client:
        import httpx

        key = self._settings.api_key
        return httpx.Client(headers={"Authorization": f"Bearer {key.get_secret_value()}"} if key else {})

    # --- in the loop ------------------------------------------------------------------------------------------------

    async def _let_go(self) -> None:
        """Those who still wait for a reply are told before its connection ends."""
        await end_others()
        if (client := getattr(self._llm, "_aclient", None)) is not None:
            await client.close()

    async def _write(
        self, message: Message, schema: Schema | None, meter: Meter, pieces: queue.SimpleQueue[_Piece]
    ) -> None:
        try:
            async with asyncio.timeout(self._settings.timeout):
                async for piece in self._visible(message, schema, meter):
                    pieces.put(piece)
            pieces.put(None)
        except TimeoutError:
            pieces.put(self._failure("no answer in time", "Raise KB_LLM_TIMEOUT, or use a faster model"))
        except asyncio.CancelledError:
            pieces.put(self._failure("the model was let go of while it wrote", "Ask again"))
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again in the thread that waits for the reply
            pieces.put(error)

    async def _visible(self, message: Message, schema: Schema | None, meter: Meter) -> AsyncIterator[str]:
        """What a reader may see of a reply, and how it ended."""
        import httpx
        import openai

        thoughtless, is_empty, tally = Thoughtless(), True, Tally(message)
        response, rest = await self._open(message, schema)
        try:
            while response is not None:
                tally.take(response)
                if tally.pieces > _EXCESS * self._settings.max_tokens:
                    tally.finish = "length"
                    break
                if piece := thoughtless.feed(response.delta or ""):
                    is_empty = is_empty and not piece.strip()
                    yield piece
                response = await anext(rest, None)
        except (openai.OpenAIError, httpx.HTTPError, ValueError) as error:
            raise self._failure(explain(error)[0], kind=BrokenOff) from error
        finally:
            await rest.aclose()
            usage = tally.usage(self._settings)
            meter.add(usage)
            _log.info("model_call", model=self._settings.model, seconds=round(tally.seconds, 3), **usage.model_dump())
        if piece := thoughtless.close():
            is_empty = is_empty and not piece.strip()
            yield piece
        self._judge(tally.finish, is_empty=is_empty)

    def _judge(self, finish: str | None, *, is_empty: bool) -> None:
        """Whether a reply that ended like this is one."""
        if finish == "length":
            raise self._failure(
                f"the model's reply was cut at {self._settings.max_tokens} tokens",
                "Raise KB_LLM_MAX_TOKENS, or ask a narrower question",
                Truncated,
            )
        if finish is None:
            raise self._failure("the endpoint broke off", kind=BrokenOff)
        if is_empty:
            raise self._failure(
                "the model's reply was empty", "Ask again; if it stays so, check its chat template on the server"
            )

    async def _open(self, message: Message, schema: Schema | None) -> tuple[Any, Any]:
        """The first response and the generator of the others; what passes is tried again, with pauses."""
        import httpx
        import openai
        import tenacity

        retrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(_ATTEMPTS),
            wait=self._wait or pause,
            retry=tenacity.retry_if_exception(is_transient),
            reraise=True,
        )
        sent = set(self._options)  # another call may find meanwhile that one of them is not known
        try:
            return await retrying(self._first, message, schema, sent)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if (unknown := unknown_option(error, sent)) is None:
                raise self._failure(*explain(error)) from error
            self._options.discard(unknown)
            return await self._open(message, schema)
        except (openai.OpenAIError, httpx.HTTPError) as error:  # the client lets some pass as they are
            raise self._failure(*explain(error)) from error
        except (StopAsyncIteration, IndexError, TypeError, ValueError, AttributeError) as error:
            raise self._failure(
                "the endpoint's reply is no chat completion",
                "Check that KB_LLM_BASE_URL names an OpenAI-compatible server and ends in /v1",
            ) from error

    async def _first(self, message: Message, schema: Schema | None, sent: set[str]) -> tuple[Any, Any]:
        from llama_index.core.llms import ChatMessage, MessageRole

        options: dict[str, object] = {}
        if schema is not None and "schema" in sent:
            strict = {"name": "reply", "schema": schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": strict}
        if "usage" in sent:
            options["stream_options"] = {"include_usage": True}
        system = ChatMessage(role=MessageRole.SYSTEM, content=message.system)
        responses = await self._llm.astream_chat([system, ChatMessage(content=message.user)], **options)
        return await anext(responses), responses

    def _failure(
        self, what: str, remedy: str = "", kind: type[GenerationFailed] = GenerationFailed
    ) -> GenerationFailed:
        return kind(what, where=self._settings.model, remedy=remedy, endpoint=self._settings.base_url or "")


def _next(pieces: queue.SimpleQueue[_Piece], meter: Meter) -> _Piece:
    """The next piece, waited for as long as someone wants it."""
    while True:
        meter.check()
        try:
            return pieces.get(timeout=_LOOK)
        except queue.Empty:
            continue


def connect(settings: LLMSettings) -> ChatModel:
    """The model behind `settings.base_url`. Nothing is sent before the first call."""
    from llama_index.llms.openai_like import OpenAILike

    llm = OpenAILike(
        model=settings.model,
        api_base=settings.base_url,
        api_key=settings.api_key.get_secret_value() if settings.api_key else "none",
        is_chat_model=True,
        context_window=settings.context_tokens,
        max_tokens=settings.max_tokens,
        temperature=0.0,
        timeout=settings.timeout + 5,  # a call's own limit comes first, and says so
        max_retries=0,
    )
    return ChatModel(llm, settings)
