"""The control client's methods for the simulated model."""

from simulator.deviantart.client import Call
from simulator.llm.records import LlmCall, LlmOptions, LlmScript
from simulator.metered.client import MeteredClient


class LlmClient(MeteredClient[LlmOptions, LlmScript, LlmCall]):
    def __init__(self, call: Call) -> None:
        super().__init__("llm", call, LlmOptions, LlmCall)
