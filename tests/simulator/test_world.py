from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from simulator.demo import add_demo_series
from simulator.shelf import shelf
from simulator.specs import SeriesSpec, UploadSpec
from simulator.world import TakenError, UnknownSeriesError, UnknownUploadError, World

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def world() -> World:
    return World(clock=lambda: NOON)


def test_the_same_script_gives_the_same_ids(world: World) -> None:
    other = World()
    for each in (world, other):
        each.release(each.add_series(SeriesSpec(title="Same", chapters=2)).id)
    ids, other_ids = ([upload.id for upload in each.index] for each in (world, other))
    assert ids == other_ids
    assert len(set(ids)) == 3


def test_withdrawn_ids_are_not_used_again(world: World) -> None:
    series = world.add_series(SeriesSpec(title="A", chapters=2))
    last = series.uploads[-1]
    world.withdraw(last.id)
    assert world.release(series.id)[0].id != last.id


def test_history_ends_one_interval_ago_in_every_language(world: World) -> None:
    spec = SeriesSpec(title="A", chapters=3, languages=("en", "fr"), release_interval_hours=24)
    uploads = world.add_series(spec).uploads
    assert [(upload.chapter, upload.language) for upload in uploads] == [
        (chapter, language) for chapter in "123" for language in ("en", "fr")
    ]
    assert uploads[-1].created_at == NOON - timedelta(days=1)
    assert uploads[0].created_at == NOON - timedelta(days=3)


def test_incomplete_volume_is_not_assigned_yet(world: World) -> None:
    uploads = world.add_series(SeriesSpec(title="A", chapters=5, chapters_per_volume=2)).uploads
    assert [upload.volume for upload in uploads] == ["1", "1", "2", "2", None]


@pytest.mark.parametrize(
    ("spec", "following"),
    [
        (SeriesSpec(title="empty"), ("1", None)),
        (SeriesSpec(title="counted", chapters=7), ("8", None)),
        (SeriesSpec(title="half", chapters=(UploadSpec(chapter="10.5"),)), ("11", None)),
        (SeriesSpec(title="oneshot", chapters=(UploadSpec(chapter=None),)), ("1", None)),
        (SeriesSpec(title="resets", chapters=5, resets=True, chapters_per_volume=3), ("3", "2")),
        (SeriesSpec(title="next volume", chapters=6, resets=True, chapters_per_volume=3), ("1", "3")),
    ],
    ids=lambda value: value.title if isinstance(value, SeriesSpec) else "",
)
def test_next_chapter(world: World, spec: SeriesSpec, following: tuple[str, str | None]) -> None:
    upload = world.release(world.add_series(spec).id)[0]
    assert (upload.chapter, upload.volume) == following


def test_upload_defaults_follow_the_series_and_the_clock(world: World) -> None:
    series = world.add_series(SeriesSpec(title="A", languages=("fr",), groups=("Grp",)))
    upload = world.release(series.id)[0]
    assert (upload.language, upload.groups, upload.pages) == ("fr", ("Grp",), 20)
    assert {upload.created_at, upload.updated_at, upload.publish_at, upload.readable_at} == {NOON}


def test_external_link_has_no_pages(world: World) -> None:
    series = world.add_series(SeriesSpec(title="A"))
    assert world.release(series.id, UploadSpec(external_url="https://example.org/1"))[0].pages == 0


def test_group_is_short_for_one_of_groups() -> None:
    assert UploadSpec.model_validate({"group": "One"}).groups == ("One",)
    assert UploadSpec.model_validate({"group": None}).groups == ()


def test_release_is_all_or_none(world: World) -> None:
    series = world.add_series(SeriesSpec(title="A", chapters=1))
    with pytest.raises(TakenError):
        world.release(series.id, UploadSpec(), UploadSpec(id=series.uploads[0].id))
    assert len(series.index) == 1


def test_a_title_is_taken_once_and_free_again_after_removal(world: World) -> None:
    series = world.add_series(SeriesSpec(title="A", chapters=1))
    with pytest.raises(TakenError):
        world.add_series(SeriesSpec(title="A"))
    world.remove_series(series.id)
    assert len(world.index) == 0
    assert world.add_series(SeriesSpec(title="A")).id == series.id


def test_revise_changes_only_what_is_set(world: World) -> None:
    series = world.add_series(SeriesSpec(title="A", chapters=(UploadSpec(chapter="1", title="One"),)))
    before = series.uploads[0]
    after = world.revise(before.id, UploadSpec(volume="1", title=None))
    assert (after.id, after.chapter, after.volume, after.title) == (before.id, "1", "1", None)
    assert after.version == before.version + 1
    assert world.find_upload(before.id) is after


def test_latest_upload_can_be_read_already(world: World) -> None:
    series = world.add_series(SeriesSpec(title="A", chapters=2))
    world.release(
        series.id, UploadSpec(readable_at=NOON + timedelta(hours=1)), UploadSpec(is_unavailable=True)
    )
    latest = series.latest_upload(NOON)
    assert latest is not None
    assert latest.chapter == "2"


def test_what_is_not_there_is_named(world: World) -> None:
    with pytest.raises(UnknownSeriesError, match="nowhere"):
        world.release("nowhere")
    with pytest.raises(UnknownUploadError, match="nothing"):
        world.withdraw("nothing")


@pytest.mark.parametrize(
    "wrong",
    [
        {"chapter": "123456789"},
        {"language": "English"},
        {"pages": -1},
        {"external_url": "ftp://x"},
        {"nmber": 1},
    ],
)
def test_uploads_the_site_could_not_have_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        UploadSpec.model_validate(wrong)


def test_demo_world_has_the_oddities_of_real_series(world: World) -> None:
    add_demo_series(world)
    assert len(world.series) == 6
    assert all(
        20 <= len({u.chapter for u in series.index}) <= 60
        for series in world.series.values()
        if not series.about.resets
    )
    chapters = {upload.chapter for upload in world.index}
    assert {"10.5", None, "0.1", "0.10"} <= chapters
    assert any(upload.external_url for upload in world.index)
    assert any(upload.is_unavailable for upload in world.index)
    assert {"en", "fr", "pt-br"} <= {upload.language for upload in world.index}
    assert max(upload.created_at for upload in world.index) <= NOON


def test_the_shelf_is_always_the_same_and_ended_long_ago() -> None:
    specs = list(shelf(NOON))
    assert [spec.title for spec in specs] == [spec.title for spec in shelf(NOON)]
    assert len({spec.title for spec in specs}) == 300
    assert {spec.status for spec in specs} == {"completed"}
    for spec in specs:
        assert isinstance(spec.chapters, tuple)
        assert 3 <= len(spec.chapters) <= 12
        assert all(
            chapter.created_at and (NOON - chapter.created_at).days >= 730 for chapter in spec.chapters
        )
