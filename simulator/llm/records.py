"""The options and scripts of the simulated model, and its record of a call."""

from typing import Annotated, Literal

from pydantic import Field

from simulator.metered.records import PaidCall, Script, ServiceOptions

ScriptKind = Literal[
    "status",
    "error_inside",
    "choice_error",
    "finish_error",
    "cut",
    "no_choices",
    "not_json",
    "fenced",
    "missing_field",
    "too_long",
    "empty_list",
    "extra_field",
    "wrong_types",
    "content",
    "invalid_json",
    "half_json",
]


class LlmOptions(ServiceOptions):
    """Prices are dollars for one token; a token is four characters.

    `unknown_models` get `unknown_status`. A prompt of more than `context_tokens` is refused. A model that
    `obeys` answers with the text of a line `SAY: …` anywhere in the prompt.
    """

    unknown_models: tuple[str, ...] = ()
    unknown_status: Literal[400, 404] = 404
    context_tokens: Annotated[int, Field(ge=1)] | None = None
    prompt_price: Annotated[float, Field(ge=0)] = 0.000_000_5
    completion_price: Annotated[float, Field(ge=0)] = 0.000_001_5
    obeys: bool = False


class LlmScript(Script):
    """How to answer the next calls to `model`; without `model`, to any.

    `status`: that HTTP status, with `retry_after` (seconds or an HTTP date) if given. Inside a 200:
    `error_inside` has a top-level error, `choice_error` one in the choice, both of code `status`;
    `finish_error` ends with the reason "error"; `no_choices` has no choices. All of these cost nothing.

    These cost as usual: `cut` ends in the middle, with the reason "length". `not_json` is chatter, `fenced`
    the document in a code fence with chatter around it. `missing_field`, `too_long`, `empty_list`,
    `extra_field` and `wrong_types` break the contract, at `field` if given. `content` is sent word for word.
    `invalid_json` and `half_json` spoil the HTTP body itself.
    """

    kind: ScriptKind = "status"
    model: str | None = None
    status: Annotated[int, Field(ge=400, le=599)] = 502
    retry_after: str | None = None
    field: str | None = None
    content: str = ""

    @property
    def name(self) -> str:
        return f"status {self.status}" if self.kind == "status" else self.kind

    def concerns(self, subject: str) -> bool:
        return self.model in (None, subject)


class LlmCall(PaidCall):
    """`messages` is a text with a paragraph `role: content` per message; `messages_sha256` is its hash."""

    model: str
    messages: str
    messages_sha256: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    content: str | None = None
    """The model's text, if it produced one."""
