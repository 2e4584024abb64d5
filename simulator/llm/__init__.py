"""An OpenAI-compatible endpoint that answers like OpenRouter, correctly or badly as scripted."""

from simulator.llm.oracle import Oracle
from simulator.llm.records import LlmCall, LlmOptions, LlmScript
from simulator.llm.site import Llm

__all__ = ["Llm", "LlmCall", "LlmOptions", "LlmScript", "Oracle"]
