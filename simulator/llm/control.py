"""The control API's routes for the simulated model."""

from simulator.llm.oracle import Oracle
from simulator.llm.records import LlmCall, LlmOptions, LlmScript
from simulator.metered.control import MeteredControl


class LlmControl(MeteredControl[LlmOptions, LlmScript, LlmCall]):
    def __init__(self, oracle: Oracle) -> None:
        super().__init__("llm", oracle, LlmScript)
