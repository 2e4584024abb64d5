"""Which Apprise URLs ordinary users may be told through.

Left out: what acts on this very machine (desktop notifications, syslog, devices), protocols that open sockets
in threads of their own, past the socket guard (MQTT, AMQP, XMPP, IRC, SMPP, APRS, Nostr), and what reads key
files from this machine's disk (FCM, Vapid).
"""

from collections.abc import Collection
from urllib.parse import parse_qsl, urlsplit

from fascicle.domain.errors import UsageError

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

# Parameters by which a URL names a file on this machine.
_FILE_PARAMETERS = ("template", "keyfile", "subfile", "pgpkey", "attach", "file")
EVERYTHING = "*"


def check_is_allowed(url: str, kinds: Collection[str], allowed: Collection[str]) -> None:
    """A UsageError for a URL that ordinary users may not have; it never repeats the URL: it is a secret."""
    if EVERYTHING in allowed:
        return
    if not set(kinds) & set(allowed):
        raise UsageError(
            "channel_not_allowed",
            f"Channels of the kind {'/'.join(sorted(kinds))} are not open to users. Add it with --trusted if "
            "you vouch for it, or name the kind in FASCICLE_CHANNEL_SCHEMAS.",
        )
    rest = url.partition("://")[2]
    for name, _ in parse_qsl(urlsplit(f"x://{rest}").query, keep_blank_values=True):
        if name.lower().lstrip("+-:") in _FILE_PARAMETERS:
            raise UsageError(
                "channel_not_allowed",
                f"The parameter {name!r} names a file on this machine, which channels may not read.",
            )
