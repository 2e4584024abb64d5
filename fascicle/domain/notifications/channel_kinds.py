"""The kinds of channels that ordinary users may be notified through, by the schemes of Apprise's URLs.

Left out: kinds that act on this machine (desktop notifications, syslog, devices), protocols that open sockets
in their own threads, past the socket guard (MQTT, AMQP, XMPP, IRC, SMPP, APRS, Nostr), and kinds that read
key files from this machine's disk (FCM, Vapid).
"""

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
