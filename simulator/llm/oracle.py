"""The state behind the simulated model."""

from simulator.llm.records import LlmCall, LlmOptions, LlmScript
from simulator.metered import Service


class Oracle(Service[LlmOptions, LlmScript, LlmCall]):
    """Every call is in the ledger: what was asked of which model, what it cost, whether it arrived."""

    def __init__(self) -> None:
        super().__init__(LlmOptions())
