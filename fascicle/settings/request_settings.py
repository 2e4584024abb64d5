"""Settings of requests (docs/requests.md): articles, models and their costs, attempts."""

from decimal import Decimal
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings

from fascicle.domain.gate import GatePolicy
from fascicle.domain.summaries.request_rule import MIN_WORDS, RetryRule
from fascicle.settings.setting_types import BaseUrl, CommaList, Seconds


class RequestSettings(BaseSettings):
    """A part of `Settings`, which holds the common configuration."""

    firecrawl_url: BaseUrl | None = None
    """Set, or its key: articles are fetched by Firecrawl (its cloud unless the URL says otherwise)."""
    firecrawl_api_key: SecretStr | None = None
    firecrawl_timeout_seconds: Seconds = 60
    article_interval_seconds: float = Field(2, ge=0)
    """The distance between two requests for articles to one host."""
    article_min_words: int = Field(MIN_WORDS, ge=1)
    """A text with fewer words is no article; two Chinese or Japanese characters count as one word."""
    article_processes: int = Field(1, ge=0, le=16)
    """Processes that parse untrusted documents: the larger of this and `feed_processes`, at least one."""

    request_concurrency: int = Field(5, ge=1)
    """Requests that are worked on at once, by all workers together."""
    request_kept_days: Seconds = 90
    """How long the texts and answers of finished requests, and failed requests, are kept; summaries stay."""
    retry_attempts: int = Field(3, ge=1)
    """For each stage of a request: the number of attempts; the wait before the second attempt, which doubles
    before each further one up to the maximum; and the share by which the wait may be longer or shorter."""
    retry_base_delay_ms: float = Field(500, ge=0)
    retry_max_delay_ms: float = Field(5000, ge=0)
    retry_jitter_ratio: float = Field(0.2, ge=0, le=1)

    llm_url: BaseUrl | None = None
    """An OpenAI-compatible endpoint that writes summaries. Neither this nor a key: they are extractive."""
    llm_api_key: SecretStr | None = None
    llm_models: CommaList = []
    """The first model writes; if it cannot, the others are tried in this order."""
    llm_timeout_seconds: Seconds = 120
    llm_interval_seconds: float = Field(0, ge=0)
    """The distance between two calls of one model."""
    llm_context_tokens: int = Field(32_000, ge=2000)
    """The smallest context window of these models: longer texts are summarised in parts."""
    llm_output_tokens: int = Field(3000, ge=500)
    llm_price_input: Decimal = Field(Decimal(0), ge=0)
    """Per million tokens: the highest cost of a call, and its real cost if the endpoint reports none."""
    llm_price_output: Decimal = Field(Decimal(0), ge=0)
    llm_daily_tokens: int = Field(2_000_000, ge=0)
    """The most that all requests of a day (UTC) may use and cost; the rest waits a day. 0: no limit."""
    llm_daily_cost: Decimal = Field(Decimal(0), ge=0)
    llm_request_tokens: int = Field(300_000, ge=1000)
    """The most that one request may use; a longer text is refused."""

    @field_validator("firecrawl_api_key", "llm_api_key")
    @classmethod
    def _one_word(cls, value: SecretStr | None) -> SecretStr | None:
        key = value.get_secret_value() if value else ""
        if not key.isascii() or any(not 33 <= ord(char) < 127 for char in key):
            raise ValueError("must be one word of plain ASCII")
        return value

    @model_validator(mode="after")
    def _a_model_for_the_endpoint(self) -> Self:
        if (self.llm_url is not None or self.llm_api_key is not None) and not self.llm_models:
            raise ValueError("FASCICLE_LLM_MODELS: name at least one model, such as openai/gpt-5-mini")
        least = 2 * self.llm_output_tokens + 2500  # a draft, its correction, and some text
        if self.llm_context_tokens < least:
            raise ValueError(
                f"FASCICLE_LLM_CONTEXT_TOKENS: must be {least} or more for that FASCICLE_LLM_OUTPUT_TOKENS"
            )
        if self.llm_daily_cost and not (self.llm_price_input or self.llm_price_output):
            raise ValueError(
                "FASCICLE_LLM_DAILY_COST: needs FASCICLE_LLM_PRICE_INPUT and FASCICLE_LLM_PRICE_OUTPUT, so "
                "that what a question may cost is known before it is asked"
            )
        return self

    @property
    def article_gate(self) -> GatePolicy:
        """The gate of each host with articles."""
        return GatePolicy(self.article_interval_seconds)

    @property
    def request_retry(self) -> RetryRule:
        return RetryRule(
            attempts=self.retry_attempts,
            base_seconds=self.retry_base_delay_ms / 1000,
            max_seconds=self.retry_max_delay_ms / 1000,
            jitter=self.retry_jitter_ratio,
        )
