"""Titles come from strangers: over each kind of channel they are words, and only our link is a link."""

import re
from dataclasses import dataclass

import pytest

from fascicle.domain.harmless_text import disarmed, escape_markdown, is_web_link, one_line
from fascicle.domain.notifications.channel_kinds import SAFE_SCHEMAS
from fascicle.net.ssrf import HostGuard
from fascicle.services.notifications.channel_check import check_channel
from fascicle.services.notifications.message import Markup, Message, Place, fit_for
from fascicle.services.notifications.notifier import Notifier
from fascicle.services.notifications.wording import chapter_message, digest_message
from tests.hostile.channel_urls import CHANNELS, LOG_IN_FIRST, MAIL, PROGRAMS
from tests.hostile.http_sink import HttpSink, send_everything_to
from tests.mail_server import MailServer

HOSTILE = (
    '@everyone @here <!everyone> <@U123> <@123> <at user_id="all"></at> http://evil.example/ evil.example '
    '[click](http://evil.example/) ![x](//evil.example/x.png) <img src="//evil.example/x.png"> *b*\n'
    "https://evil.example/second/line\n\u202edesrever"
)
LINK = "https://read.example/c/4"
# Each would call somebody, load a picture, or be a link.
ACTING = (
    "@everyone",
    "@here",
    "<!everyone",
    "<@U123",
    "<@123",
    "<at ",
    "<img",
    "://evil",
    "](http:",
    "](//",
    "evil.example",
    "\u202e",
)
# Messages of 160 characters, of which the hostile title takes all.
CUT_SHORT = {"twilio", "msgbird", "pushed"}


@dataclass(frozen=True)
class Chapter:
    series: str = HOSTILE
    number: str | None = "4"
    title: str | None = "@here ![x](//evil.example)"
    link: str | None = LINK


@pytest.mark.parametrize("kind", CHANNELS)
async def test_a_hostile_title_acts_in_no_channel_and_our_link_arrives_whole(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HttpSink() as sink:
        send_everything_to(sink, monkeypatch)
        message = chapter_message(Chapter(series=f"Lanterns {HOSTILE}"))
        await Notifier(HostGuard(["127.0.0.1"])).send(CHANNELS[kind], message)
    came = sink.text()
    assert "Lanterns" in came
    assert [acting for acting in ACTING if acting in came] == []
    assert kind in CUT_SHORT or re.search(re.escape(LINK) + r"(?![\w/])", came)


def test_each_kind_that_users_may_have_is_looked_at() -> None:
    looked_at = {kind for url in CHANNELS.values() for kind in check_channel(url).kinds}
    unknown = {"pushover"}  # another name for `pover` that Apprise no longer knows
    assert set(SAFE_SCHEMAS) - looked_at == LOG_IN_FIRST | PROGRAMS | MAIL | unknown


@pytest.mark.parametrize("wanted", ["", "&format=html", "&format=text"])
async def test_a_hostile_title_acts_in_no_mail(wanted: str) -> None:
    async with MailServer() as server:
        url = f"mailto://127.0.0.1:{server.port}?from=ann@mail.example&to=bob@mail.example{wanted}"
        sent = await Notifier(HostGuard(["127.0.0.1"])).send(url, chapter_message(Chapter()))
    assert sent.ok
    [mail] = server.mails
    parts = [part for part in mail.walk() if not part.is_multipart()]
    said = "\n".join([*server.subjects(), *(part.get_payload(decode=True).decode() for part in parts)])  # type: ignore[union-attr]
    assert [acting for acting in ACTING if acting in said] == []
    assert LINK in said
    assert parts[0].get_content_type() == "text/plain"


async def test_a_program_gets_the_words_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with HttpSink() as sink:
        send_everything_to(sink, monkeypatch)
        message = Message("*Lanterns* @4", "See http://a.example")
        await Notifier(HostGuard(["127.0.0.1"])).send("json://sink.example/x", message)
    assert "*Lanterns* @4" in sink.text()
    assert "See http://a.example" in sink.text()


def test_a_digest_links_to_its_chapters_only() -> None:
    message = digest_message([Chapter("Lanterns"), Chapter(HOSTILE, link=f"{LINK}2")])
    _, body = fit_for(Place({"slack"}, Markup.MARKDOWN), message)
    assert re.findall(r"\]\((\S+)\)", body) == [LINK, f"{LINK}2"]
    _, page = fit_for(Place({"mailgun"}, Markup.HTML), message)
    assert re.findall(r"<(\w+) href=\"(.*?)\"", page) == [("a", LINK), ("a", f"{LINK}2")]
    assert page.count("<a ") == 2


@pytest.mark.parametrize(
    "link",
    ["javascript:alert(1)", "https://x.example/ <b>", "http://x\nhttps://y", "data:text/html,x", "//x"],
)
def test_what_is_no_web_address_is_no_link(link: str) -> None:
    assert not is_web_link(link)
    message = chapter_message(Chapter("Lanterns", link=link))
    _, page = fit_for(Place({"mailgun"}, Markup.HTML), message)
    assert "<a " not in page


def test_an_address_calls_nobody_and_ends_where_it_should() -> None:
    link = "https://x.example/@everyone/[a](b)_*c*"
    message = Message("Lanterns", link, links=[link])
    assert (
        fit_for(Place({"discord"}, Markup.TEXT), message)[1]
        == "https://x.example/%40everyone/%5Ba%5D%28b%29_%2Ac%2A"
    )
    assert fit_for(Place({"ntfy"}, Markup.TEXT), message)[1] == "https://x.example/%40everyone/[a](b)_*c*"


@pytest.mark.parametrize("markup", Markup)
@pytest.mark.parametrize("has_titles", [True, False])
def test_a_long_message_fits_however_much_its_words_grow(markup: Markup, has_titles: bool) -> None:
    place = Place({"x"}, markup, has_titles=has_titles, most=280)
    for word in ("<&>", "*_[](", "@.aa"):
        title, body = fit_for(place, Message(word * 200, "\n".join([word * 500] * 3)))
        assert len(body) + (0 if has_titles else len(title)) <= 280
        assert not re.search(r"&\w*$|\\$", body.rpartition("\n")[0].removesuffix("<br />"))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain, words.", "plain, words."),
        ("*a* _b_ ~~c~~ `d` ||e||", r"\*a\* \_b\_ \~\~c\~\~ \`d\` \|\|e\|\|"),
        ("[x](https://evil.test)", "\\[x\\]\u200b\\(https:\u200b//evil.\u200btest\\)"),
        ("@everyone <@5> <#6>", "@\u200beveryone \\<\u200b@\u200b5\\> \\<\u200b\\#6\\>"),
        ("# head\n- item\n1. one\n> quote", "\\# head\n\\- item\n1\\. one\n\\> quote"),
        ("back\\slash", "back\\\\slash"),
        ("&lt;b&gt; & c", "\\&lt;b\\&gt; & c"),
        ("\x1b[31m\u202ered", "\\[31mred"),
    ],
)
def test_markdown_is_shown_letter_by_letter(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Vol. 2, ch. 4.5 @ home < 3", "Vol. 2, ch. 4.5 @ home < 3"),
        ("Dr.Stone", "Dr.\u200bStone"),
        ("ann@mail.example", "ann@\u200bmail.\u200bexample"),
    ],
)
def test_words_that_act_are_broken_and_others_are_not(text: str, shown: str) -> None:
    assert disarmed(text) == shown


def test_a_title_is_one_line() -> None:
    assert one_line("a\r\n b\u2028c\x00d\x1b[1m") == "a b c d [1m"
