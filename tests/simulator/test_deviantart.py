import hashlib
import time
from collections.abc import Callable

import httpx
import pytest

from simulator.deviantart import AccountLimit, TokenPair
from simulator.faults import Fault
from simulator.server import RunningSimulator
from tests.simulator.conftest import outcome

API = "/api/v1/oauth2"
AGREED = {"agree_submission": "1", "agree_tos": "1"}

Submit = Callable[..., httpx.Response]
Publish = Callable[..., httpx.Response]
Fields = dict[str, str | list[str]]


@pytest.fixture
def submit(site: httpx.Client, ann: TokenPair) -> Submit:
    def send(content: bytes = b"pixels", **fields: str | list[str]) -> httpx.Response:
        form = {
            "title": "A Lamp",
            **{name.replace("tags", "tags[]"): value for name, value in fields.items()},
        }
        return site.post(f"{API}/stash/submit", data=form, files={"file": ("lamp.png", content, "image/png")})

    return send


@pytest.fixture
def publish(site: httpx.Client, ann: TokenPair) -> Publish:
    def send(item_id: int, fields: Fields | None = None) -> httpx.Response:
        return site.post(f"{API}/stash/publish", data={"itemid": str(item_id), **AGREED, **(fields or {})})

    return send


def test_an_item_is_published_once(
    simulator: RunningSimulator, submit: Submit, publish: Publish, ann: TokenPair
) -> None:
    content = bytes(range(256)) * 4000
    stored = submit(content, tags=["lamp", "night_2"], noai="1").json()
    assert stored.keys() == {"status", "itemid", "stack", "stackid"}
    before = time.time()
    answer = publish(stored["itemid"], {"display_resolution": "8", "galleryids[]": ["G1", "G2"]}).json()
    again = publish(stored["itemid"])
    assert outcome(again) == (400, "invalid_request", 9)
    (deviation,) = simulator.deviantart.published()
    assert deviation.deviation_id == answer["deviationid"]
    assert deviation.url == answer["url"]
    assert (deviation.account, deviation.title, deviation.tags) == ("ann", "A Lamp", ["lamp", "night_2"])
    assert (deviation.size, deviation.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert deviation.options["galleryids[]"] == ["G1", "G2"]
    assert deviation.submission["noai"] == ["1"]
    assert before <= deviation.at <= time.time()
    simulator.deviantart.configure(forgets_published=True)
    assert outcome(publish(stored["itemid"])) == (400, "invalid_request", 7)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"agree_submission": "0"}, 0),
        ({"agree_tos": ""}, 1),
        ({"display_resolution": "9"}, 5),
        ({"is_mature": "1"}, None),
        ({"is_mature": "true", "mature_level": "mild"}, None),
        ({"is_mature": "1", "mature_level": "strict", "mature_classification[]": ["ugly"]}, None),
        ({"tags[]": ["two words"]}, None),
        ({"tags[]": [f"t{n}" for n in range(31)]}, None),
        ({"tags": "lamp"}, None),
        ({"allow_comments": "maybe"}, None),
        ({"itemid": "1"}, 7),
        ({"itemid": "lamp"}, None),
    ],
)
def test_publications_that_are_refused_change_nothing(
    simulator: RunningSimulator, submit: Submit, publish: Publish, fields: Fields, code: int | None
) -> None:
    item_id = submit().json()["itemid"]
    assert outcome(publish(item_id, fields)) == (400, "invalid_request", code)
    assert simulator.deviantart.published() == []
    assert [item.item_id for item in simulator.deviantart.orphans()] == [item_id]


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        (b"", {}),
        (b"x" * 30_000_001, {}),
        (b"x", {"title": " "}),
        (b"x", {"title": "x" * 51}),
        (b"x", {"tags": ["no-hyphen"]}),
        (b"x", {"tags": [f"t{n}" for n in range(31)]}),
        (b"x", {"itemid": "77"}),
    ],
)
def test_submissions_that_are_refused_store_nothing(
    simulator: RunningSimulator, submit: Submit, content: bytes, fields: Fields
) -> None:
    assert submit(content, **fields).status_code == 400
    assert simulator.deviantart.submissions() == []


def test_limits_themselves_are_allowed(submit: Submit) -> None:
    tags = [f"t{n}" for n in range(30)]
    assert submit(b"x" * 30_000_000, title="x" * 50, tags=tags).status_code == 200


@pytest.mark.parametrize(
    "content", [b"", b"--b\r\n", b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx']
)
def test_half_a_form_is_no_form(site: httpx.Client, ann: TokenPair, content: bytes) -> None:
    headers = {"content-type": "multipart/form-data; boundary=b"}
    assert site.post(f"{API}/stash/submit", content=content, headers=headers).status_code == 400


def test_an_item_can_be_overwritten_until_it_is_published(
    simulator: RunningSimulator, submit: Submit, publish: Publish
) -> None:
    first = submit(b"one").json()["itemid"]
    assert submit(b"two", title="Two", itemid=str(first)).json()["itemid"] == first
    assert [s.overwrites for s in simulator.deviantart.submissions()] == [False, True]
    publish(first)
    assert [(d.title, d.size) for d in simulator.deviantart.published("ann")] == [("Two", 3)]
    assert outcome(submit(b"three", itemid=str(first))) == (400, "invalid_request", 9)


def test_items_belong_to_their_account(
    simulator: RunningSimulator, site: httpx.Client, submit: Submit, publish: Publish
) -> None:
    item_id = submit().json()["itemid"]
    bob = simulator.deviantart.tokens.add_account("bob")
    site.headers["Authorization"] = f"Bearer {bob.access_token}"
    assert outcome(publish(item_id)) == (400, "invalid_request", 7)


def test_gallery_is_paged_newest_first(
    simulator: RunningSimulator, site: httpx.Client, submit: Submit, publish: Publish
) -> None:
    for title, mature in (("One", "0"), ("Two", "1"), ("Three", "0")):
        item_id = submit(title=title).json()["itemid"]
        publish(item_id, {"is_mature": mature, "mature_level": "strict"})
    simulator.deviantart.tokens.add_account("bob")
    simulator.deviantart.post_by_hand("bob", "Not hers")
    page = site.get(f"{API}/gallery/all?limit=2&mature_content=true").json()
    assert [entry["title"] for entry in page["results"]] == ["Three", "Two"]
    assert (page["has_more"], page["next_offset"]) == (True, 2)
    rest = site.get(f"{API}/gallery/all?limit=2&offset=2&mature_content=true").json()
    assert [entry["title"] for entry in rest["results"]] == ["One"]
    assert (rest["has_more"], rest["next_offset"]) == (False, None)
    tame = site.get(f"{API}/gallery/all").json()["results"]
    assert [entry["title"] for entry in tame] == ["Three", "One"]
    assert tame[0]["author"]["username"] == "ann"
    assert int(tame[0]["published_time"]) == int(simulator.deviantart.published()[-1].at)
    assert site.get(f"{API}/gallery/all?limit=25").status_code == 400


def test_single_deviations_and_metadata(
    simulator: RunningSimulator, site: httpx.Client, submit: Submit, publish: Publish
) -> None:
    answer = publish(submit(tags=["lamp"]).json()["itemid"]).json()
    found = site.get(f"{API}/deviation/{answer['deviationid']}").json()
    assert (found["url"], found["is_published"]) == (answer["url"], True)
    assert site.get(f"{API}/deviation/nowhere").status_code == 404
    query = {"deviationids[]": [answer["deviationid"], "nowhere"], "ext_submission": "true"}
    (metadata,) = site.get(f"{API}/deviation/metadata", params=query).json()["metadata"]
    assert metadata["tags"][0]["tag_name"] == "lamp"
    assert metadata["submission"]["file_size"] == "6"


def test_gallery_can_lag_behind(
    simulator: RunningSimulator, site: httpx.Client, submit: Submit, publish: Publish
) -> None:
    simulator.deviantart.configure(gallery_delay=0.2)
    deviation_id = publish(submit().json()["itemid"]).json()["deviationid"]
    assert site.get(f"{API}/gallery/all").json()["results"] == []
    assert site.get(f"{API}/deviation/{deviation_id}").status_code == 200
    time.sleep(0.2)
    assert len(site.get(f"{API}/gallery/all").json()["results"]) == 1


def test_what_the_artist_posts_by_hand_is_in_the_gallery_only(
    simulator: RunningSimulator, site: httpx.Client, ann: TokenPair
) -> None:
    simulator.deviantart.post_by_hand("ann", "Mine", at=1.0)
    assert [entry["title"] for entry in site.get(f"{API}/gallery/all").json()["results"]] == ["Mine"]
    assert simulator.deviantart.published() == []


@pytest.mark.parametrize(
    ("limit", "statuses", "retry_after"),
    [
        (AccountLimit(refuse=2), [429, 429, 200], None),
        (AccountLimit(refuse=-1, retry_after=7), [429, 429, 429], "7"),
        (AccountLimit(requests_per_second=1), [200, 429, 429], None),
        (AccountLimit(), [200, 200, 200], None),
    ],
)
def test_an_account_is_limited_by_itself(
    simulator: RunningSimulator,
    site: httpx.Client,
    ann: TokenPair,
    limit: AccountLimit,
    statuses: list[int],
    retry_after: str | None,
) -> None:
    simulator.deviantart.limit_account("ann", limit)
    answers = [site.get(f"{API}/placebo") for _ in statuses]
    assert [answer.status_code for answer in answers] == statuses
    for refused in (answer for answer in answers if answer.status_code == 429):
        assert refused.json()["error"] == "user_api_threshold"
        assert refused.headers.get("retry-after") == retry_after
    bob = simulator.deviantart.tokens.add_account("bob")
    site.headers["Authorization"] = f"Bearer {bob.access_token}"
    assert site.get(f"{API}/placebo").status_code == 200


@pytest.mark.parametrize(
    ("fault", "status", "start", "published"),
    [
        (Fault(status=200, body="", takes_effect=True), 200, "", 1),
        (Fault(status=500, takes_effect=True), 500, '{"error":"server_error"', 1),
        (Fault(status=500), 500, '{"error":"server_error"', 0),
        (Fault(status=403), 403, "<!DOCTYPE html>", 0),
        (Fault(status=429), 429, '{"error":"user_api_threshold"', 0),
        (Fault(kind="delay", delay_after=0.05), 200, '{"status":"success"', 1),
    ],
)
def test_nasty_answers(
    simulator: RunningSimulator,
    submit: Submit,
    publish: Publish,
    fault: Fault,
    status: int,
    start: str,
    published: int,
) -> None:
    item_id = submit().json()["itemid"]
    simulator.faults.add(fault.model_copy(update={"path": "/deviantart/api/v1/oauth2/stash/publish"}))
    answer = publish(item_id)
    assert (answer.status_code, answer.text.startswith(start)) == (status, True)
    assert "retry-after" not in answer.headers
    assert len(simulator.deviantart.published()) == published
