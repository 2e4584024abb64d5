import stat
from pathlib import Path

import orjson
import pytest

from simulator.demo import add_demo_series
from simulator.deviantart.errors import ApiError
from simulator.multipart import FormFile
from simulator.releaser import Releaser
from simulator.simulation import Simulation
from simulator.specs import SeriesSpec, UploadSpec
from simulator.state import StateFileError
from simulator.world import World


def saved_form(world: World, path: Path) -> bytes:
    world.save(path)
    return path.read_bytes()


def test_a_loaded_world_is_the_saved_one(tmp_path: Path) -> None:
    world = World()
    add_demo_series(world)
    Releaser(world, 60).release_next()
    saved = saved_form(world, tmp_path / "saved.json")
    loaded = World.load(tmp_path / "saved.json")
    assert saved_form(loaded, tmp_path / "again.json") == saved
    assert [upload.id for upload in loaded.index] == [upload.id for upload in world.index]


def test_a_loaded_world_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    world = World()
    series = world.add_series(SeriesSpec(title="A", chapters=2))
    world.withdraw(world.release(series.id)[0].id)
    world.save(path)
    before, after = world.release(series.id)[0], World.load(path).release(series.id)[0]
    assert (after.id, after.chapter, after.ordinal) == (before.id, before.chapter, before.ordinal)


def test_every_change_is_in_the_file_when_the_call_returns(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    world = World()
    world.autosave(path)
    series = world.add_series(SeriesSpec(title="A"))
    upload = world.release(series.id, UploadSpec(chapter="7"))[0]
    assert World.load(path).find_upload(upload.id).chapter == "7"
    world.withdraw(upload.id)
    assert len(World.load(path).index) == 0


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    world = World()
    world.add_series(SeriesSpec(title="A"))
    world.save(path)
    world.series["broken"] = object()  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        world.save(path)
    assert [series.title for series in World.load(path).series.values()] == ["A"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 2}'])
def test_a_file_that_is_no_state_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(content)
    with pytest.raises(StateFileError, match=r"state\.json"):
        World.load(path)


def test_a_state_file_outranks_the_named_world(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "state.json"
    first = Simulation.begin("demo", path)
    first.world.release(next(iter(first.world.series)))
    first.sink.add("ann", {"title": "t", "message": "m", "type": "info"})
    second = Simulation.begin("empty", path)
    assert len(second.world.index) == len(first.world.index)
    assert second.sink.messages() == first.sink.messages()


def test_a_half_written_message_is_dropped_and_the_next_one_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    first = Simulation.begin("empty", path)
    first.sink.add("ann", {"title": "whole"})
    journal = tmp_path / "state.json.sink.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"name": "ann", "tit')
    second = Simulation.begin("empty", path)
    second.sink.add("ann", {"title": "next"})
    third = Simulation.begin("empty", path)
    assert [message.title for message in third.sink.messages()] == ["whole", "next"]


def test_reset_empties_the_files_too(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    simulation = Simulation.begin("demo", path)
    simulation.sink.add("ann", {})
    simulation.reset()
    resumed = Simulation.begin("demo", path)
    assert (len(resumed.world.series), resumed.sink.messages()) == (0, [])


def test_the_file_is_plain_json(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    Simulation.begin("demo", path)
    assert len(orjson.loads(path.read_bytes())["series"]) == 306
    assert stat.S_ISREG(path.stat().st_mode)


def test_deviantart_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    first = Simulation.begin("empty", path).deviantart
    pair = first.tokens.add_account("ann")
    first.configure(gallery_delay=9)
    item = first.submit("ann", "A", ["t"], FormFile("file", "a.png", "image/png", 3, "abc"), {}, None)
    published = first.publish("ann", item.item_id, {"agree_tos": ["1"]}, is_mature=False)
    first.tokens.refresh(pair.refresh_token)
    second = Simulation.begin("empty", path).deviantart
    assert second.saved == first.saved
    assert second.published() == [published]
    with pytest.raises(ApiError):
        second.publish("ann", item.item_id, {}, is_mature=False)
    with pytest.raises(ApiError):
        second.tokens.refresh(pair.refresh_token)
    (tmp_path / "state.json.deviantart.json").write_bytes(b"{")
    with pytest.raises(StateFileError, match="deviantart"):
        Simulation.begin("empty", path)


def test_a_state_from_before_deviantart_is_still_one(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    World().save(path)
    assert Simulation.begin("demo", path).deviantart.published() == []
