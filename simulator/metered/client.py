"""The control client's methods for a paid upstream: the same as in process."""

from typing import Generic

from pydantic import TypeAdapter

from simulator.deviantart.client import Call
from simulator.metered.ledger import CallT
from simulator.metered.records import Tally
from simulator.metered.service import OptionsT, ScriptT


class MeteredClient(Generic[OptionsT, ScriptT, CallT]):
    def __init__(self, name: str, call: Call, options_type: type[OptionsT], call_type: type[CallT]) -> None:
        self._base = f"/{name}"
        self._call = call
        self._options_type = options_type
        self._calls: TypeAdapter[list[CallT]] = TypeAdapter(list[call_type])  # type: ignore[valid-type]

    async def configure(self, **changes: object) -> OptionsT:
        """Change some of the options."""
        answer = await self._call("POST", f"{self._base}/options", changes)
        return self._options_type.model_validate_json(answer)

    async def script(self, *scripts: ScriptT) -> None:
        body = [script.model_dump(mode="json", exclude_unset=True) for script in scripts]
        await self._call("POST", f"{self._base}/scripts", body)

    async def unscript(self) -> None:
        """Forget the scripts; the next calls are answered as usual."""
        await self._call("DELETE", f"{self._base}/scripts")

    async def calls(self) -> list[CallT]:
        """Every call that reached the service, oldest first."""
        return self._calls.validate_json(await self._call("GET", f"{self._base}/calls"))

    async def tally(self) -> Tally:
        return Tally.model_validate_json(await self._call("GET", f"{self._base}/tally"))

    async def clear(self) -> None:
        await self._call("DELETE", self._base)
