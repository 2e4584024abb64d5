"""Which Apprise URLs ordinary users may be told through.

Left out: what acts on this very machine (desktop notifications, syslog, devices), protocols that open sockets
in threads of their own, past the socket guard (MQTT, AMQP, XMPP, IRC, SMPP, APRS, Nostr), and what reads key
files from this machine's disk (FCM, Vapid).
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

from fascicle.domain.errors import UsageError

if TYPE_CHECKING:  # settings take the kinds from here
    from fascicle.runtime.channel_check import Judged

SAFE_SCHEMAS = [
    "apprise", "apprises", "bark", "barks", "bluesky", "bsky", "brevo", "chanify", "dingtalk",
    "discord", "feishu", "flock", "form", "forms", "gchat", "gotify", "gotifys", "groupme", "guilded",
    "hassio", "hassios", "ifttt", "join", "json", "jsons", "lark", "line", "mailersend", "mailgun",
    "mailto", "mailtos", "mastodon", "mastodons", "matrix", "matrixs", "misskey", "misskeys", "mmost",
    "mmosts", "msgbird", "ncloud", "nclouds", "nctalk", "nctalks", "notifiarr", "ntfy", "ntfys", "o365",
    "onesignal", "opsgenie", "pagerduty", "pbul", "postmark", "pover", "prowl", "push", "pushdeer",
    "pushdeers", "pushed", "pushover", "pushplus", "pushy", "resend", "revolt", "rocket", "rockets",
    "ryver", "schan", "sendgrid", "signal", "signals", "simplepush", "slack", "smtp2go", "sparkpost",
    "spush", "tgram", "threema", "toot", "toots", "twilio", "twist", "viber", "webex", "wecombot",
    "whatsapp", "workflow", "workflows", "wxpusher", "wxteams", "xml", "xmls", "zulip",
]  # fmt: skip

EVERYTHING = "*"


def check_is_allowed(channel: "Judged", allowed: Collection[str]) -> None:
    """A UsageError for what ordinary users may not have; it never repeats the URL, which is a secret."""
    if EVERYTHING in allowed:
        return
    if not channel.kinds & set(allowed):
        raise UsageError(
            "channel_not_allowed",
            f"Channels of the kind {'/'.join(sorted(channel.kinds))} are not open to users. Add it with "
            "--trusted if you vouch for it, or name the kind in FASCICLE_CHANNEL_SCHEMAS.",
        )
    if channel.files is not None:
        raise UsageError(
            "channel_not_allowed",
            f"The parameter {channel.files!r} names a file on this machine, which channels may not read.",
        )


def kind_of(url: str) -> str:
    return url.partition("://")[0]


def masked(kind: str) -> str:
    """A channel for people's eyes: every other part of its address may be a secret."""
    return f"{kind}://…"
