"""One `fascicle up` for the whole session, with a simulator as its upstream and a reader who is told."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, UploadSpec
from tests.collector import Collector
from tests.payloads import OLD
from tests.starter.commandline import ROOT, Outcome, Process, clean_environment, start_up, wait_until
from tests.starter.forked import ForkedCommands

BRACKETS = "Lanterns [bold]of[/] Kyoto [/x] :fire:"
CODEC_TOKEN = "of-the-shared-stack"
TOKEN = "JHMHI8qBe7bk2ZwO5U711o3dV_js"
MAIL_PASSWORD = "s3cret-of-the-mail-server"


@dataclass(frozen=True)
class Desk:
    """Where a person sits: a folder, an environment, and `fascicle` at hand."""

    folder: Path
    env: dict[str, str]
    commands: ForkedCommands

    @property
    def data(self) -> Path:
        return Path(self.env["FASCICLE_DATA_DIR"])

    def fascicle(self, *arguments: str, **env: str) -> Outcome:
        return Outcome(**self.commands.run(*arguments, cwd=self.folder, env=self.env | env))

    def json(self, *arguments: str) -> Any:
        return self.fascicle(*arguments, "--json").json()


@dataclass
class Running:
    """A stack that runs, and the person who uses it."""

    desk: Desk
    up: Process
    simulator: RunningSimulator
    collector: Collector
    """What the worker is traced by."""

    @cached_property
    def ops_port(self) -> int:
        return int(self.desk.json("status")["ops"].rpartition(":")[2])

    @cached_property
    def temporal_address(self) -> str:
        return str(self.desk.json("config")["TEMPORAL_ADDRESS"])

    def fascicle(self, *arguments: str, **env: str) -> Outcome:
        return self.desk.fascicle(*arguments, **env)

    def json(self, *arguments: str) -> Any:
        return self.desk.json(*arguments)

    def add(self, title: str, chapters: int = 3) -> dict[str, Any]:
        """A series, followed and synced."""
        series = self.simulator.world.add_series(SeriesSpec(title=title, chapters=chapters))
        added: dict[str, Any] = self.json("source", "add", f"https://mangadex.org/title/{series.id}")
        wait_until(lambda: self.source(added["id"])["first_synced_at"], what="the first sync")
        return added

    def source(self, source_id: str) -> dict[str, Any]:
        found: dict[str, Any] = next(row for row in self.json("source", "list") if row["id"] == source_id)
        return found


def environment_for(folder: Path, simulator: RunningSimulator | None = None, **extra: str) -> dict[str, str]:
    """Settings of a stack with its data in `folder`, on ports that nobody else uses."""
    ports = {f"FASCICLE_{name}_PORT": "0" for name in ("OPS", "TEMPORAL", "TEMPORAL_UI", "SIMULATOR")}
    upstream = (
        {
            "FASCICLE_MANGADEX_URL": simulator.mangadex_url,
            "FASCICLE_ALLOW_HOSTS": "127.0.0.1",
            "FASCICLE_MANGADEX_INTERVAL_SECONDS": "0",
            "FASCICLE_DEVIANTART_URL": simulator.site_url("deviantart"),
            "FASCICLE_DEVIANTART_CLIENT_ID": simulator.deviantart.options.client_id,
            "FASCICLE_DEVIANTART_CLIENT_SECRET": simulator.deviantart.options.client_secret,
            "FASCICLE_ACCOUNT_INTERVAL_SECONDS": "0",
            "FASCICLE_AO3_URL": simulator.site_url("ao3"),
            "FASCICLE_AO3_INTERVAL_SECONDS": "0",
            "FASCICLE_AO3_THINK_SECONDS": "0",
            "FASCICLE_SHIP_RULES": str(ROOT / "ship_rules.yaml"),
            "FASCICLE_ACCOUNT_JITTER": "0",
            "FASCICLE_YOUTUBE_URL": simulator.site_url("youtube"),
            "FASCICLE_FEED_INTERVAL_SECONDS": "0",
            "FASCICLE_ENRICH_INTERVAL_SECONDS": "0",
            "FASCICLE_ARTICLE_INTERVAL_SECONDS": "0",
        }
        if simulator
        else {}
    )
    return clean_environment(
        FASCICLE_DATA_DIR=str(folder / "data"),
        FASCICLE_RETRY_BASE_SECONDS="0.2",
        FASCICLE_NOTIFY_DELAY_SECONDS="0",
        **{**ports, **upstream, **extra},
    )


@pytest.fixture(scope="session")
def commands() -> Iterator[ForkedCommands]:
    forked = ForkedCommands(clean_environment())
    yield forked
    forked.close()


@pytest.fixture
def desk(tmp_path: Path, commands: ForkedCommands) -> Desk:
    """Nothing runs here yet."""
    return Desk(tmp_path, environment_for(tmp_path), commands)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory, commands: ForkedCommands) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("starter")
    with RunningSimulator() as simulator, Collector() as collector:
        env = environment_for(
            folder,
            simulator,
            FASCICLE_FILES_DIR="art",
            # Only for reading: what passes through Temporal stays plain.
            FASCICLE_PAYLOAD_KEYS=f"plain,{OLD}",
            FASCICLE_CODEC_TOKEN=CODEC_TOKEN,
            FASCICLE_LOG_LEVEL="DEBUG",
            # No mail server: never used, and a secret that every child could inherit.
            FASCICLE_SMTP_PASSWORD=MAIL_PASSWORD,
        )
        traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "500"}
        with start_up(folder, env | traced) as up:
            stack = Running(Desk(folder, env, commands), up, simulator, collector)
            _let_something_happen(stack)
            yield stack


def _let_something_happen(stack: Running) -> None:
    """Two series whose titles begin alike, one with brackets, and a reader who is told of a chapter."""
    source = stack.add(BRACKETS)
    stack.add("Twin Rivers")
    stack.add("Twin Mountains")
    sink = stack.simulator.url.replace("http://", "json://") + "/sink/ann"
    stack.fascicle("user", "add", "ann", "--notify", sink)
    stack.fascicle("user", "add", "Bob [/red]", "--notify", f"discord://4174216298/{TOKEN}")
    stack.fascicle("follow", "ann", source["series_id"])
    stack.simulator.world.release(source["site_key"], UploadSpec(title="[Extra] [/red] :smile:"))
    stack.fascicle("source", "poll", source["id"])
    wait_until(lambda: stack.simulator.sink.messages("ann"), what="the message to ann")
