"""The whole state of a running simulator, and its files between runs."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from simulator.ao3 import Archive
from simulator.ao3.demo import add_demo_works
from simulator.demo import add_demo_series
from simulator.deviantart import Studio
from simulator.discord import Chat
from simulator.faults import Faults
from simulator.feeds import Newsroom
from simulator.feeds.demo import add_demo_feeds
from simulator.firecrawl import Crawler
from simulator.llm import Oracle
from simulator.objects import Objects
from simulator.press import Press
from simulator.press.demo import add_demo_articles
from simulator.rate_limit import RateLimits
from simulator.request_log import RequestLog
from simulator.shelf import add_shelf
from simulator.sink import Sink
from simulator.world import World

WorldName = Literal["demo", "empty"]


@dataclass
class Simulation:
    world: World = field(default_factory=World)
    sink: Sink = field(default_factory=Sink)
    faults: Faults = field(default_factory=Faults)
    requests: RequestLog = field(default_factory=RequestLog)
    rate_limits: RateLimits = field(default_factory=RateLimits)
    deviantart: Studio = field(default_factory=Studio)
    ao3: Archive = field(default_factory=Archive)
    discord: Chat = field(default_factory=Chat)
    objects: Objects = field(default_factory=Objects)
    feeds: Newsroom = field(default_factory=Newsroom)
    llm: Oracle = field(default_factory=Oracle)
    firecrawl: Crawler = field(default_factory=Crawler)
    press: Press = field(default_factory=Press)

    @classmethod
    def begin(cls, world_name: WorldName, state_file: Path | None = None) -> "Simulation":
        """Continue from the state file if it exists; otherwise begin with the named world."""
        if state_file is None:
            simulation = cls()
            simulation.fill(world_name)
            return simulation
        resumed = state_file.exists()
        world = World.load(state_file) if resumed else World()
        simulation = cls(
            world=world,
            sink=Sink(state_file.with_name(f"{state_file.name}.sink.jsonl")),
            deviantart=Studio(state_file.with_name(f"{state_file.name}.deviantart.json")),
            ao3=Archive(state_file.with_name(f"{state_file.name}.ao3.json")),
            feeds=Newsroom(state_file.with_name(f"{state_file.name}.feeds.json")),
            press=Press(state_file.with_name(f"{state_file.name}.press.json")),
        )
        if not resumed:
            simulation.fill(world_name)
        world.autosave(state_file)
        return simulation

    def fill(self, world_name: WorldName) -> None:
        if world_name == "demo":
            with self.world.changing():
                add_demo_series(self.world)
                add_shelf(self.world)
            add_demo_works(self.ao3)
            add_demo_feeds(self.feeds)
            add_demo_articles(self.press)

    def reset(self, world_name: WorldName = "empty") -> None:
        """Forget everything, then begin with the named world."""
        self.faults.clear()
        self.rate_limits.clear()
        self.sink.clear()
        self.deviantart.clear()
        self.ao3.clear()
        self.discord.clear()
        self.objects.clear()
        self.feeds.clear()
        self.llm.clear()
        self.firecrawl.clear()
        self.press.clear()
        with self.world.changing():
            self.world.clear()
            self.fill(world_name)
        self.requests.clear()
