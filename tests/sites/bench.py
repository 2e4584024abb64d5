"""Adapters to try things on."""

from pathlib import Path
from typing import Any

import orjson
import yaml

from fascicle.net.http import HttpClient
from fascicle.net.ssrf import HostGuard
from fascicle.sandbox import Sandbox
from fascicle.sites.declarative import DeclarativeSite, Surroundings, build_site
from simulator.catalogue import series_key
from simulator.faults import Fault
from simulator.series import Series
from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, SiteName
from tests.harness import ADAPTERS, adapter_variables


class Bench:
    """Adapters made from a worked example with a few entries changed, against the simulator."""

    def __init__(self, http: HttpClient, sandbox: Sandbox, simulator: RunningSimulator, folder: Path) -> None:
        self.http = http
        self.sandbox = sandbox
        self.simulator = simulator
        self.folder = folder
        self.surroundings = Surroundings(adapter_variables(simulator), HostGuard(["127.0.0.1"]))

    def write(self, name: str, /, **changes: Any) -> Path:
        """`list__fields__id="…"` changes that entry, None takes it out."""
        content = yaml.safe_load((ADAPTERS / f"{name}.yaml").read_text())
        for path, value in changes.items():
            *outer, last = path.split("__")
            place = content
            for part in outer:
                place = place[part]
            place[last] = value
            if value is None:
                del place[last]
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(content))
        return file

    def site(self, name: str, /, **changes: Any) -> DeclarativeSite:
        return build_site(self.http, self.sandbox, self.write(name, **changes), self.surroundings)

    def series(self, name: SiteName, /, chapters: Any = 3, **spec: Any) -> tuple[Series, str]:
        series = self.simulator.world.add_series(
            SeriesSpec(title="Lanterns", chapters=chapters, sites=(name,), **spec)
        )
        return series, series_key(name, series)


def chapters_answer(*rows: Any, **more: Any) -> Fault:
    return Fault(status=200, path="/panelbox", body=orjson.dumps({"chapters": rows, **more}).decode())
