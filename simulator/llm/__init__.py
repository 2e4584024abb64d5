"""An OpenAI-compatible endpoint that answers as OpenRouter does, well or badly as it is told."""

from simulator.llm.oracle import Oracle
from simulator.llm.records import LlmCall, LlmOptions, LlmScript
from simulator.llm.site import Llm

__all__ = ["Llm", "LlmCall", "LlmOptions", "LlmScript", "Oracle"]
