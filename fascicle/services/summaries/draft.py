"""Writing a summary's draft (R4): each call to a model is noted before it is made and its answer is stored at
once, so that none is paid for twice. Without a model the draft consists of the article's own sentences."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.feeds.item_words import shortened
from fascicle.domain.summaries.article import Article
from fascicle.domain.summaries.extractive import extractive
from fascicle.domain.summaries.summary import Draft, wire_schema
from fascicle.domain.summaries.summary_prompt import (
    Messages,
    Notes,
    correction_messages,
    merging_messages,
    notes_messages,
    summary_messages,
)
from fascicle.domain.summaries.text_parts import beginning, estimated_tokens, split
from fascicle.process.logs import get_logger
from fascicle.sites.llm import (
    OF_THE_ACCOUNT,
    OF_THE_MODEL,
    UNCLEAR,
    Completion,
    LanguageModel,
    Question,
)
from fascicle.storage.database import transaction
from fascicle.storage.summaries import request as requests
from fascicle.storage.summaries import request_work as works

SUMMARY, CORRECTION = "summary", "correction"
# The parts of a question beside its text: instructions, schema, fences.
_FRAME_TOKENS = 1200
_PROBLEM_TOKENS = 800
_MILLION = 1_000_000
# Errors that would occur with any other model too.
_NOT_OF_MODELS = frozenset({"budget_spent", "over_budget", "database_down"})

log = get_logger("fascicle.summary")


@dataclass(frozen=True)
class SummaryPolicy:
    models: tuple[str, ...]
    context_tokens: int
    output_tokens: int
    request_tokens: int
    daily_tokens: int
    daily_cost: Decimal
    """0: no limit."""
    price_input: Decimal
    price_output: Decimal
    """Prices are per million tokens."""

    @property
    def room(self) -> int:
        """Tokens for the text of one question; enough is left to send its answer back for correction."""
        return self.context_tokens - 2 * self.output_tokens - _FRAME_TOKENS - _PROBLEM_TOKENS

    def cost(self, prompt_tokens: int, completion_tokens: int) -> Decimal:
        return (self.price_input * prompt_tokens + self.price_output * completion_tokens) / _MILLION


@dataclass(frozen=True)
class Writing:
    """The summary to write, and the callback for its progress."""

    request_id: str
    article: Article
    problems: list[str]
    """The problems of the present draft; empty: write a first draft."""
    on_part: Callable[[int, int], Awaitable[None]]
    """Called with the numbers of finished and of all parts; raises if the rest is not wanted any more."""


class Summarizer:
    def __init__(
        self,
        engine: AsyncEngine,
        model: LanguageModel | None,
        policy: SummaryPolicy,
        clock: Callable[[], datetime],
    ) -> None:
        self._engine = engine
        self._model = model
        self._policy = policy
        self._clock = clock

    async def write(self, writing: Writing) -> None:
        """Store a draft, or a corrected one. A question that was answered before is not asked again."""
        if self._model is None:
            await self._write_without_model(writing)
            return
        parts = split(writing.article.text, self._policy.room)
        self._check_length(writing.article, len(parts))
        asked = await self._messages(writing, parts)
        if not writing.problems:
            await self._answer(writing, SUMMARY, asked, Draft)
            return
        draft = await self._answer(writing, SUMMARY, asked, Draft)
        kept = beginning(draft, self._policy.output_tokens)
        await self._answer(writing, CORRECTION, correction_messages(asked, kept, writing.problems), Draft)

    async def _write_without_model(self, writing: Writing) -> None:
        article = writing.article
        summary = extractive(article.title, article.text, article.language)
        content = Draft(**summary.model_dump(include=set(Draft.model_fields))).model_dump_json()
        async with transaction(self._engine) as connection:
            if writing.problems:  # the draft of a model that is not configured any more
                await works.reject(connection, writing.request_id, (SUMMARY, CORRECTION))
            await works.keep_extract(connection, writing.request_id, content, self._clock())

    def _check_length(self, article: Article, parts: int) -> None:
        wanted = estimated_tokens(article.text) + parts * (_FRAME_TOKENS + self._policy.output_tokens)
        if wanted > self._policy.request_tokens:
            raise PermanentError(
                "too_long",
                f"The text would take about {wanted:,} tokens; a request may use "
                f"{self._policy.request_tokens:,} (FASCICLE_LLM_REQUEST_TOKENS).",
            )

    async def _messages(self, writing: Writing, parts: list[str]) -> Messages:
        title = writing.article.title
        if len(parts) == 1:
            return summary_messages(title, parts[0])
        notes: list[str] = []
        for number, part in enumerate(parts, 1):
            asked = notes_messages(title, part, part=number, parts=len(parts))
            notes.append(_notes(await self._answer(writing, f"notes:{number}:{len(parts)}", asked, Notes)))
            await writing.on_part(number, len(parts))
        # Each note gets an equal share of the window, however long it is.
        longest = max(50, self._policy.room // len(notes) * 3 // 4)
        return merging_messages(title, [shortened(note, longest) for note in notes])

    async def _answer(self, writing: Writing, step: str, messages: Messages, form: type[BaseModel]) -> str:
        async with transaction(self._engine) as connection:
            there = (await works.answers(connection, writing.request_id)).get(step)
        if there is not None:
            return str(there["content"])
        return await self._ask_in_turn(writing.request_id, step, messages, form)

    async def _ask_in_turn(
        self, request_id: str, step: str, messages: Messages, form: type[BaseModel]
    ) -> str:
        """The first model that answers wins; a model that is rate-limited or failing is skipped."""
        errors: list[FascicleError] = []
        for model in self._policy.models:
            try:
                return await self._ask(request_id, step, self._question(model, messages, form))
            except FascicleError as error:
                if error.code in OF_THE_ACCOUNT or error.code in _NOT_OF_MODELS:
                    raise
                log.warning("model_failed", model=model, step=step, error=error.message, code=error.code)
                errors.append(error)
        raise _worth_most(errors)

    def _question(self, model: str, messages: Messages, form: type[BaseModel]) -> Question:
        return Question(model, messages, form.__name__.lower(), wire_schema(form), self._policy.output_tokens)

    async def _ask(self, request_id: str, step: str, question: Question) -> str:
        assert self._model is not None
        call_id = await self._reserve(request_id, step, question)
        try:
            completion = await self._model.ask(question)
        except FascicleError as error:
            # A refused call costs nothing; a call with an unclear or late answer may have cost money.
            await self._note_failure(call_id, error, paid=error.code in UNCLEAR)
            raise
        await self._keep(request_id, call_id, question, completion)
        if completion.problem is not None:
            raise completion.problem
        return completion.content

    async def _keep(self, request_id: str, call_id: int, question: Question, completion: Completion) -> None:
        async with transaction(self._engine) as connection:
            await requests.find(connection, request_id, lock=True)  # of two answers at once only one counts
            await works.keep_answer(
                connection,
                call_id,
                model=completion.model,
                content=completion.content,
                tokens=_tokens(completion, question),
                cost=self._cost(completion, question),
                error_code=completion.problem.code if completion.problem else None,
                now=self._clock(),
            )

    async def _reserve(self, request_id: str, step: str, question: Question) -> int:
        policy, now = self._policy, self._clock()
        prompt = _prompt_tokens(question)
        tokens, cost = prompt + policy.output_tokens, policy.cost(prompt, policy.output_tokens)
        self._check_affordable(tokens, cost)
        async with transaction(self._engine) as connection:
            call_id = await works.reserve(
                connection,
                request_id,
                step,
                question.model,
                tokens=tokens,
                cost=cost,
                most_tokens=policy.daily_tokens or None,
                most_cost=policy.daily_cost or None,
                now=now,
            )
        if call_id is None:
            tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
            raise MustWait(
                "budget_spent",
                "what models may cost today is spent (FASCICLE_LLM_DAILY_TOKENS, _COST): until tomorrow, UTC",
                seconds=(tomorrow - now).total_seconds() + 1,
                refused=False,
            )
        return call_id

    def _check_affordable(self, tokens: int, cost: Decimal) -> None:
        """Raises if one call costs more than a whole day's budget: it would wait for ever."""
        policy = self._policy
        if policy.daily_tokens and tokens > policy.daily_tokens:
            limit = f"{policy.daily_tokens:,} tokens (FASCICLE_LLM_DAILY_TOKENS)"
        elif policy.daily_cost and cost > policy.daily_cost:
            limit = f"{policy.daily_cost} (FASCICLE_LLM_DAILY_COST)"
        else:
            return
        said = f"One question may take {tokens:,} tokens and cost {cost:.4f}, more than a day may: {limit}."
        raise PermanentError("over_budget", said)

    async def _note_failure(self, call_id: int, error: FascicleError, *, paid: bool) -> None:
        async with transaction(self._engine) as connection:
            await works.call_failed(connection, call_id, error.code, paid=paid, now=self._clock())

    def _cost(self, completion: Completion, question: Question) -> Decimal:
        """The cost that the endpoint reports; otherwise computed from its token count or our estimate."""
        if completion.cost is not None:
            return completion.cost
        prompt = completion.prompt_tokens or _prompt_tokens(question)
        return self._policy.cost(prompt, completion.completion_tokens or estimated_tokens(completion.content))


def _worth_most(errors: list[FascicleError]) -> FascicleError:
    """The error to raise: one that a retry may fix, soonest first; otherwise preferably one of the text."""
    waits = [error for error in errors if isinstance(error, MustWait)]
    passing = [error for error in errors if isinstance(error, RetryableError) and error not in waits]
    if passing:
        return passing[0]
    if waits:
        return min(waits, key=lambda wait: wait.seconds)
    of_the_text = [error for error in errors if error.code not in OF_THE_MODEL]
    return (of_the_text or errors)[0]


def _tokens(completion: Completion, question: Question) -> int:
    """The endpoint's token count; our estimate if it reports none."""
    counted = completion.prompt_tokens + completion.completion_tokens
    return counted or _prompt_tokens(question) + estimated_tokens(completion.content)


def _prompt_tokens(question: Question) -> int:
    return sum(estimated_tokens(message["content"]) for message in question.messages)


def _notes(content: str) -> str:
    """The notes in an answer; an answer that is not JSON is used as it is."""
    try:
        said: Any = orjson.loads(content)
    except orjson.JSONDecodeError:
        return content
    return str(said["notes"]) if isinstance(said, dict) and said.get("notes") else content
