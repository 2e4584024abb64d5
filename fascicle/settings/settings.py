"""Settings: from the environment and `.env`, typed, checked at start (O8)."""

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.ao3 import FLOOR_SECONDS, ao3_floor
from fascicle.domain.gate import GatePolicy, one_at_a_time
from fascicle.domain.notifications.channel_kinds import SAFE_SCHEMAS
from fascicle.domain.series.breaker import BreakerPolicy
from fascicle.domain.series.cadence import Cadence
from fascicle.settings.env_file import load_env_file
from fascicle.settings.payload_settings import PayloadSettings
from fascicle.settings.request_settings import RequestSettings
from fascicle.settings.setting_types import BaseUrl, CommaFloats, CommaList, Port, Range, Seconds
from fascicle.settings.worker_settings import WorkerSettings
from fascicle.storage.database_url import parse_database_url
from fascicle.storage.operations.keyring import parse_keys


def _site_variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("FASCICLE_SITE_") and value}


class Settings(RequestSettings, WorkerSettings, PayloadSettings, BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="FASCICLE_",
        extra="ignore",
        populate_by_name=True,
        frozen=True,
        env_ignore_empty=True,
        # `inf` seconds would be a wait that PostgreSQL answers with an error.
        allow_inf_nan=False,
        # An invalid secret must not appear in an error either.
        hide_input_in_errors=True,
    )

    data_dir: Path = Path(".fascicle")
    database_url: SecretStr | None = Field(
        None, validation_alias=AliasChoices("DATABASE_URL", "FASCICLE_DATABASE_URL")
    )
    """Set: this PostgreSQL is used. Unset: the embedded one. Likewise TEMPORAL_ADDRESS for Temporal."""
    database_pool: int = Field(20, ge=1, le=200)

    temporal_port: Port = 7233
    temporal_ui_port: Port = 8233
    history_days: int = Field(3, ge=1, le=3650)
    """How long Temporal keeps closed workflows. `setup` changes an existing namespace only if this is set."""
    ops_host: str = "127.0.0.1"
    ops_port: Port = 8000
    simulator_port: Port = 8900
    demo_release_seconds: Seconds = 4.0

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["auto", "json", "console"] = "auto"
    drain_seconds: float = Field(30, ge=0)
    retry_base_seconds: Seconds = 5

    user_agent: str = Field("Fascicle/0.1 (self-hosted tracker)", min_length=3)
    allow_hosts: CommaList = []
    """Hosts (`name`, `name:port`) that the SSRF guard lets through although they are private."""
    http_timeout_seconds: Seconds = 30
    http_max_bytes: int = Field(20_000_000, ge=1000)
    http_max_redirects: int = Field(5, ge=0, le=20)
    gate_patience_seconds: float = Field(5, ge=0)
    """A wait up to this long is slept in place; a longer one goes back to the workflow as a timer."""

    mangadex_url: BaseUrl = "https://api.mangadex.org"
    mangadex_interval_seconds: float = Field(0.34, ge=0)
    mangaplus_url: BaseUrl = "https://jumpg-webapi.tokyo-cdn.com/api"
    mangaplus_interval_seconds: float = Field(1.0, ge=0)
    weebcentral_url: BaseUrl = "https://weebcentral.com"
    weebcentral_interval_seconds: float = Field(1.0, ge=0)
    sites_dir: Path = Path("sites.d")
    """Adapters: a YAML file for each site that needs no Python (docs/adapters.md)."""
    site_variables: dict[str, str] = Field(default_factory=_site_variables)
    """FASCICLE_SITE_{NAME}_URL and FASCICLE_SITE_{NAME}_INTERVAL_SECONDS, for the sites of those files; the
    former also for fic sites that have no setting of their own (FASCICLE_SITE_FICBOOK_NET_URL)."""
    languages: CommaList = ["en"]

    cadence_hot_seconds: Seconds = 15 * 60
    cadence_warm_seconds: Seconds = 4 * 3600
    cadence_cold_seconds: Seconds = 24 * 3600
    sweep: bool = True
    """Read a site's list of everything new, and wake the sources that changed."""
    sweep_seconds: Seconds = 120
    sweep_overlap_seconds: float = Field(900, ge=0)
    sweep_net_hours: Seconds = 720
    """How often a source still looks by itself while the sweep is healthy."""
    complete_listing_hours: Seconds = 72
    """How often a source's whole list is read, to find vanished chapters and old ones that were added."""
    breaker_threshold: int = Field(5, ge=1)
    breaker_probe_hours: Seconds = 24
    children_per_poll: int = Field(10, ge=0)
    """Up to this many new chapters of a poll get a workflow each; more are stored in one batch."""

    notify_delay_seconds: float = Field(600, ge=0)
    """How long a chapter waits before followers are told, so that two sources of it tell them once."""
    notify_daily_cap: int = Field(100, ge=0)
    """The most messages that a user gets at once in a day, unless the user set a cap. The rest: a digest."""
    digest_every_seconds: float = Field(300, ge=1)
    """How often to check for due digests."""
    reconcile_every_seconds: float = Field(60, ge=1)
    """How often to check for work that no workflow handles any more."""
    channel_schemas: CommaList = SAFE_SCHEMAS
    """Kinds of Apprise URLs that ordinary users may be notified through; `*` for all."""
    dead_letter_days: Seconds = 90
    """How long a dead letter is kept: open ones are given up then, settled ones deleted."""

    deviantart_url: BaseUrl = "https://www.deviantart.com"
    deviantart_client_id: str | None = None
    deviantart_client_secret: SecretStr | None = None
    deviantart_redirect_uri: BaseUrl = "http://127.0.0.1:8976/callback"
    """The address that DeviantArt sends people back to; registered there, answered by `account connect`."""
    token_keys: SecretStr | None = None
    """Keys that encrypt tokens: `id:base64,…`, the first for new ones. Unset: `token_keys_file`."""
    token_keys_file: Path | None = None
    """A file with these keys, one per line. Unset: `token-keys` in the data folder, made at first use."""
    token_maintenance_seconds: Seconds = 6 * 3600

    publish_attempts: int = Field(7, ge=1)
    publish_retry_seconds: Seconds = 5
    """The wait before the second attempt; it doubles before each further one."""
    publish_timeout_seconds: Seconds = 600
    """How long one call for a post (an upload, say) may take."""
    publish_look_seconds: CommaFloats = [30.0, 120.0, 600.0]
    """When to check the gallery for a post whose publishing got no clear answer."""
    account_interval_seconds: float = Field(3, ge=0)
    account_interval_max_seconds: Seconds = 300
    account_jitter: float = Field(0.2, ge=0, le=1)
    account_breaker_threshold: int = Field(3, ge=0)
    account_breaker_seconds: Seconds = 300
    automation_every_seconds: float = Field(300, ge=1)
    sale_claim_seconds: Seconds = 600
    """How long a client may keep an item of the sale queue without reporting its outcome."""
    client_token: SecretStr | None = None
    """Set: clients of the sale queue may use its HTTP routes on the ops server with this bearer token."""

    ao3_url: BaseUrl = "https://archiveofourown.org"
    ao3_interval_seconds: float = 20
    """The distance between any two requests of the whole installation. 20 is the floor: less is refused,
    unless `ao3_url` is a server of your own (one that `allow_hosts` names)."""
    ao3_jitter: float = Field(0.5, ge=0)
    """Each distance is longer by up to this share."""
    ao3_think_seconds: Range = [0.5, 2.0]
    """An additional wait before each request."""
    ao3_pause_jobs: Range = [10.0, 20.0]
    """After so many jobs (a new random number each time), a pause of `ao3_pause_seconds`."""
    ao3_pause_seconds: Range = [60.0, 180.0]
    ao3_cooldown_errors: int = Field(3, ge=1)
    """After so many failures in a row, no request is sent for `ao3_cooldown_seconds`."""
    ao3_cooldown_seconds: Seconds = 600

    ffn_url: BaseUrl = "https://www.fanfiction.net"
    fictionpress_url: BaseUrl = "https://www.fictionpress.com"
    wattpad_url: BaseUrl = "https://www.wattpad.com"
    royalroad_url: BaseUrl = "https://www.royalroad.com"
    spacebattles_url: BaseUrl = "https://forums.spacebattles.com"
    sufficientvelocity_url: BaseUrl = "https://forums.sufficientvelocity.com"
    fic_interval_seconds: float = Field(5, ge=0)
    """The distance between two requests to a fic site other than AO3."""
    fic_instant_seconds: float = Field(3, ge=0)
    """How long a submission waits for a result before it returns and the job continues alone (F4)."""
    fic_attempts: int = Field(5, ge=1)
    fic_retry_seconds: Seconds = 60
    """The wait before the second attempt of a job; it doubles before each further one, up to five minutes."""
    fic_expire_hours: Seconds = 24
    """A job that is not done so long after its turn has come is given up."""
    fic_kept_days: Seconds = 90
    """How long a finished job is kept; the data that it read stays."""
    fic_tell_start: bool = False
    """Notify subscribers also when their fic's turn has come."""
    fic_processes: int = Field(1, ge=1, le=16)
    """Processes that read pages of sites other than AO3."""
    ship_rules: Path = Path("ship_rules.yaml")
    """The rules for which fics belong here (docs/fic-rules.md). No such file: all of them."""

    youtube_url: BaseUrl = "https://www.youtube.com"
    spotify_url: BaseUrl = "https://open.spotify.com"
    soundcloud_url: BaseUrl = "https://soundcloud.com"
    feed_interval_seconds: float = Field(1, ge=0)
    """The distance between two requests for feeds to one host."""
    feed_min_seconds: Seconds = 300
    """The shortest time between two looks at a feed, whatever its cadence."""
    feed_max_seconds: Seconds = 86_400
    """The longest time between two looks, unless a slower cadence is set. Sites may ask for no more."""
    feed_moved_after: int = Field(3, ge=1)
    """A permanent redirect is adopted after so many sightings in a row."""
    feed_max_entries: int = Field(5000, ge=1)
    """Only the newest entries of a longer feed are read."""
    feed_processes: int = Field(1, ge=0, le=16)
    """Processes that parse untrusted documents: the larger of this and `article_processes`, at least one."""
    enrich: bool = True
    """Read the page behind each item that reached an inbox: picture, length, language, reading time."""
    enrich_summarize: bool = False
    """Summarise each such page too (docs/requests.md); each summary costs a model's price."""
    enrich_interval_seconds: float = Field(2, ge=0)
    """The distance between two such requests to one host."""
    run_kept_days: Seconds = 30
    """How long the record of an ingestion run is kept; one that found nothing is kept for two days."""
    document_kept_days: Seconds = 7
    """How long a run's document is kept for a replay, if the run found something."""
    item_kept_days: Seconds = 365
    """How long an item is kept after everybody has archived it and its feeds no longer list it."""

    discord_url: BaseUrl = "https://discord.com/api/v10"
    discord_public_key: str | None = None
    """Set: the ops server answers Discord's interactions (docs/discord.md)."""
    discord_application_id: str | None = None
    discord_bot_token: SecretStr | None = None
    discord_guilds: CommaList = []
    """Ids of the servers whose members may use the commands. None: all servers with the application."""
    discord_moderator_roles: CommaList = []
    """Ids of moderators' roles; members who may manage the server are moderators anyway."""

    files_dir: Path | None = None
    """The folder of posts' files unless S3 is set. Unset: `files` in the data folder."""
    file_max_bytes: int = Field(30_000_000, ge=1)
    file_kept_days: float = Field(7, ge=0)
    """How long a deleted file stays in the store."""
    s3_bucket: str | None = None
    s3_endpoint: BaseUrl | None = None
    s3_region: str = "auto"
    s3_access_key_id: str | None = None
    s3_secret_access_key: SecretStr | None = None
    s3_path_prefix: str = ""

    mail_url: SecretStr | None = None
    """An Apprise mail URL (mailto://…) for warnings; or the SMTP settings below."""
    mail_to: str | None = None
    """The recipient of mail about accounts whose owner has no address."""
    smtp_host: str | None = None
    smtp_port: Port = 587
    smtp_user: str | None = None
    smtp_password: SecretStr | None = None
    smtp_from: str | None = None
    smtp_security: Literal["starttls", "ssl", "insecure"] = "starttls"

    @field_validator("user_agent")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if not value.isprintable() or not value.isascii():
            raise ValueError("must be one line of plain ASCII text")
        return value

    @field_validator("database_url")
    @classmethod
    def _postgresql(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            try:
                parse_database_url(value.get_secret_value())
            except ValueError as error:
                raise ValueError(
                    "must be a PostgreSQL URL such as postgresql://user:password@host/name"
                ) from error
        return value

    @field_validator("token_keys")
    @classmethod
    def _keys(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            parse_keys(value.get_secret_value())
        return value

    @field_validator("discord_public_key")
    @classmethod
    def _ed25519(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch("[0-9a-fA-F]{64}", value):
            raise ValueError("must be the 64 hexadecimal digits of the application's public key")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """`load_settings` has put .env into the environment; reading it per field would double the time."""
        return init_settings, env_settings

    @model_validator(mode="after")
    def _polite_to_ao3(self) -> "Settings":
        floor = ao3_floor(self.ao3_url, self.allow_hosts)
        if not self.ao3_interval_seconds >= floor:
            raise ValueError(f"FASCICLE_AO3_INTERVAL_SECONDS: must be {floor:g} or more for {self.ao3_url}")
        return self

    @property
    def intervals(self) -> dict[Cadence, timedelta]:
        return {
            Cadence.HOT: timedelta(seconds=self.cadence_hot_seconds),
            Cadence.WARM: timedelta(seconds=self.cadence_warm_seconds),
            Cadence.COLD: timedelta(seconds=self.cadence_cold_seconds),
        }

    @property
    def account_gate(self) -> GatePolicy:
        return GatePolicy(
            self.account_interval_seconds,
            self.account_interval_max_seconds,
            jitter=self.account_jitter,
            refusals=self.account_breaker_threshold,
            open_seconds=self.account_breaker_seconds,
        )

    @property
    def ao3_gate(self) -> GatePolicy:
        """The gate of `ao3_url`."""
        return self._ao3_gate(self.ao3_interval_seconds)

    @property
    def archive_gate(self) -> GatePolicy:
        """The gate of the archive itself, even if `ao3_url` is a server of your own."""
        return self._ao3_gate(max(self.ao3_interval_seconds, FLOOR_SECONDS))

    def _ao3_gate(self, floor: float) -> GatePolicy:
        """Only one request is on its way at a time: distances hold however slow the archive is (F3)."""
        policy = GatePolicy(
            floor,
            ceiling=max(floor, 300.0),
            jitter=self.ao3_jitter,
            refusals=self.ao3_cooldown_errors,
            failures=self.ao3_cooldown_errors,
            open_seconds=self.ao3_cooldown_seconds,
            think=(self.ao3_think_seconds[0], self.ao3_think_seconds[1]),
        )
        return one_at_a_time(policy, longest=self.http_timeout_seconds)

    @property
    def fic_gate(self) -> GatePolicy:
        """The gate of each other fic site."""
        return GatePolicy(self.fic_interval_seconds, jitter=0.5)

    @property
    def feed_gate(self) -> GatePolicy:
        """The gate of each host with feeds."""
        return GatePolicy(self.feed_interval_seconds)

    @property
    def page_gate(self) -> GatePolicy:
        """The gate of each host with pages of items."""
        return GatePolicy(self.enrich_interval_seconds)

    @property
    def fic_bases(self) -> dict[str, str]:
        """The addresses that replace sites' own ones, by the sites' own ones."""
        own = type(self).model_fields
        names = ("ffn", "fictionpress", "wattpad", "royalroad", "spacebattles", "sufficientvelocity")
        bases = {str(own[f"{name}_url"].default): getattr(self, f"{name}_url") for name in names}
        for variable, value in self.site_variables.items():  # FASCICLE_SITE_FICBOOK_NET_URL: ficbook.net
            if match := re.fullmatch("FASCICLE_SITE_([A-Z0-9_]+)_URL", variable):
                host = match[1].lower().replace("_", ".")
                bases |= {f"https://{host}": value, f"https://www.{host}": value}
        return bases

    @property
    def breaker(self) -> BreakerPolicy:
        return BreakerPolicy(self.breaker_threshold, timedelta(hours=self.breaker_probe_hours))


def load_settings(**overrides: Any) -> Settings:
    """The effective settings, or a UsageError that names each wrong variable.

    `.env` goes into the environment, because Temporal's own variables are read there by the SDK.
    """
    load_env_file()
    try:
        return Settings(**overrides)
    except ValidationError as error:
        lines = [f"  {_variable(e['loc'])}: {e['msg']}" for e in error.errors()]
        raise UsageError("wrong_setting", "Wrong settings:\n" + "\n".join(lines)) from error


def _variable(location: tuple[int | str, ...]) -> str:
    if not location:  # the error is about several settings; its message names them
        return "settings"
    name = str(location[0])
    return name if name.isupper() else f"FASCICLE_{name.upper()}"
