"""Reads adapter files. A wrong file is reported and left out; it does not affect the others."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from pydantic import ValidationError

from fascicle.domain.errors import UsageError
from fascicle.domain.urls import parse_http_url
from fascicle.imports.yaml_text import load_yaml
from fascicle.net.http import HttpClient
from fascicle.net.ssrf import HostGuard
from fascicle.sandbox import Sandbox
from fascicle.sites.adapter_files import adapter_files
from fascicle.sites.base import BrokenAdapter
from fascicle.sites.declarative.description import SiteDescription
from fascicle.sites.declarative.site import DeclarativeSite, site_of

# No site may be asked more often than this.
SHORTEST_INTERVAL = 0.5
_LARGEST_FILE = 100_000
_PLAIN_WORDS = {"missing": "is missing", "extra_forbidden": "is no known entry; docs/adapters.md lists them"}


@dataclass(frozen=True)
class Surroundings:
    """The environment's variables for adapters: FASCICLE_SITE_{NAME}_URL and …_INTERVAL_SECONDS."""

    variables: Mapping[str, str]
    guard: HostGuard

    def base_url(self, about: SiteDescription) -> str:
        name, given = self._variable(about, "URL")
        if given is None:
            return about.base_url
        try:
            parse_http_url(given)
        except UsageError as error:
            raise UsageError("adapter_broken", f"{name}: {error.message}") from error
        return given.rstrip("/")

    def interval(self, about: SiteDescription) -> float:
        name, given = self._variable(about, "INTERVAL_SECONDS")
        try:
            seconds = about.gate if given is None else float(given)
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds < math.inf:
            raise UsageError("adapter_broken", f"{name} must be a number of seconds.")
        parts = urlsplit(self.base_url(about))
        is_ours = self.guard.is_allowed_by_name(parts.hostname or "", parts.port)
        if seconds < SHORTEST_INTERVAL and not is_ours:
            raise UsageError(
                "adapter_broken",
                f"{'gate' if given is None else name}: {seconds:g} s between requests is too short, "
                f"use {SHORTEST_INTERVAL} or more (only hosts in FASCICLE_ALLOW_HOSTS may be asked faster).",
            )
        return seconds

    def _variable(self, about: SiteDescription, what: str) -> tuple[str, str | None]:
        name = f"FASCICLE_SITE_{about.name.upper().replace('-', '_')}_{what}"
        return name, self.variables.get(name)


def read_description(file: Path) -> SiteDescription:
    """The file's contents, or a UsageError that names the file, the place and the problem."""
    try:
        content = _read_yaml(file)
        return SiteDescription.model_validate(content)
    except ValidationError as error:
        lines = "\n".join(f"  {_place(problem['loc'])} {_words(problem)}" for problem in error.errors())
        raise UsageError("adapter_broken", f"{file} is no usable adapter:\n{lines}") from error


def build_site(http: HttpClient, sandbox: Sandbox, file: Path, surroundings: Surroundings) -> DeclarativeSite:
    about = read_description(file)
    try:
        base_url, interval = surroundings.base_url(about), surroundings.interval(about)
    except UsageError as error:
        raise UsageError("adapter_broken", f"{file}: {error.message}") from error
    return site_of(http, sandbox, about, file=file, base_url=base_url, interval_seconds=interval)


def load_folder(
    http: HttpClient,
    sandbox: Sandbox,
    folder: Path,
    surroundings: Surroundings,
    *,
    taken: Iterable[str] = (),
) -> tuple[list[DeclarativeSite], list[BrokenAdapter]]:
    """The sites of all files in the folder, and the broken files. Without the folder there are no sites."""
    sites: dict[str, DeclarativeSite] = {}
    broken: list[BrokenAdapter] = []
    for file in adapter_files(folder):
        try:
            site = build_site(http, sandbox, file, surroundings)
            if site.name in {*taken, *sites}:
                raise UsageError("adapter_broken", f"{file}: there is a site called {site.name} already.")
            sites[site.name] = site
        except UsageError as error:
            broken.append(BrokenAdapter(_name_in(file), file, error.message))
    return list(sites.values()), broken


def _read_yaml(file: Path) -> dict[Any, Any]:
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise UsageError("adapter_broken", f"{file} is larger than {_LARGEST_FILE:,} bytes.")
        content = load_yaml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError("adapter_broken", f"{file} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError, OverflowError) as error:
        raise UsageError("adapter_broken", f"{file} is not YAML: {error}") from error
    if not isinstance(content, dict):
        raise UsageError("adapter_broken", f"{file} should be entries such as `name: …`; it is not.")
    return content


def _name_in(file: Path) -> str:
    """The site's name as far as it can be read, so that its sources can show why they fail."""
    try:
        name = _read_yaml(file).get("name")
    except UsageError:
        return file.stem
    return name if isinstance(name, str) else file.stem


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) + ":" if location else "it"


def _words(problem: Any) -> str:
    return _PLAIN_WORDS.get(problem["type"], str(problem["msg"]).removeprefix("Value error, "))
