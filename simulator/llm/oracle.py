"""The state of the simulated model."""

from simulator.llm.records import LlmCall, LlmOptions, LlmScript
from simulator.metered import Service


class Oracle(Service[LlmOptions, LlmScript, LlmCall]):
    """The ledger has every call: its model and prompt, its cost, whether its answer was sent."""

    def __init__(self) -> None:
        super().__init__(LlmOptions())
