import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fascicle.domain.errors import FascicleError, PermanentError, RetryableError, UsageError
from fascicle.services.dependencies import object_store_options
from fascicle.settings.settings import Settings
from fascicle.storage.publishing.objects import ObjectStore, ObjectStoreOptions, open_object_store
from simulator.faults import Fault
from simulator.server import RunningSimulator

LARGE = bytes(range(256)) * 47_000
SECRET = "very-secret-key"


def options_for(simulator: RunningSimulator, folder: Path) -> ObjectStoreOptions:
    return ObjectStoreOptions(
        folder,
        bucket="pictures",
        endpoint=f"{simulator.url}/s3",
        access_key_id="KEYID",
        secret_access_key=SECRET,
        path_prefix="/art/",
        retries=0,
    )


@pytest.fixture(scope="module")
def running() -> Iterator[RunningSimulator]:
    with RunningSimulator() as simulator:
        yield simulator


@pytest.fixture
def simulator(running: RunningSimulator) -> RunningSimulator:
    running.simulation.reset()
    return running


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, simulator: RunningSimulator, tmp_path: Path) -> ObjectStore:
    folder = tmp_path / "not" / "yet"
    if request.param == "folder":
        return open_object_store(ObjectStoreOptions(folder))
    return open_object_store(options_for(simulator, folder))


@pytest.fixture
def bucket(simulator: RunningSimulator, tmp_path: Path) -> ObjectStore:
    return open_object_store(options_for(simulator, tmp_path))


@pytest.fixture
def file(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "a file"
        path.write_bytes(content)
        return path

    return write


async def content_of(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


@pytest.mark.parametrize("content", [b"", b"pixels", LARGE])
@pytest.mark.parametrize("key", ["lamp.png", "2026/11/a lamp & ünlit %20.png"])
async def test_p8_what_is_put_is_read_back(
    store: ObjectStore, file: Callable[[bytes], Path], key: str, content: bytes
) -> None:
    assert await store.put_file(key, file(content)) == len(content)
    assert await store.size(key) == len(content)
    size, pieces = await store.read(key)
    assert size == len(content)
    assert hashlib.sha256(await content_of(pieces)).digest() == hashlib.sha256(content).digest()


async def test_p8_putting_again_replaces(store: ObjectStore, file: Callable[[bytes], Path]) -> None:
    for content in (b"one", b"second"):
        await store.put_file("a", file(content))
    assert await store.size("a") == len(b"second")


async def test_p8_removing_is_repeatable(store: ObjectStore, file: Callable[[bytes], Path]) -> None:
    await store.remove("a")
    await store.put_file("a", file(b"x"))
    await store.remove("a")
    await store.remove("a")
    assert await store.size("a") is None


async def test_p8_what_is_missing_is_said(store: ObjectStore, tmp_path: Path) -> None:
    assert await store.size("a/b") is None
    with pytest.raises(PermanentError) as missing:
        await store.read("a/b")
    assert missing.value.code == "object_missing"
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", "../a", "a/../b", ".", "a\nb", "x" * 513])
async def test_p8_keys_stay_inside(store: ObjectStore, file: Callable[[bytes], Path], key: str) -> None:
    path = file(b"x")
    with pytest.raises(UsageError):
        await store.put_file(key, path)
    for call in (store.size, store.read, store.remove):
        with pytest.raises(UsageError):
            await call(key)


async def test_p8_large_files_go_in_parts_below_the_prefix(
    bucket: ObjectStore, simulator: RunningSimulator, file: Callable[[bytes], Path]
) -> None:
    await bucket.put_file("a/b", file(LARGE))
    assert list(simulator.objects.stored) == ["pictures/art/a/b"]
    parts = [r for r in simulator.requests.matching("/s3") if "partNumber" in r.query]
    assert len(parts) == 3


@pytest.mark.parametrize(
    "fault",
    [Fault(path="/s3", status=503), Fault(path="/s3", kind="reset"), Fault(path="/s3", status=403)],
    ids=["503", "reset", "403"],
)
async def test_p8_a_store_that_fails_can_be_asked_again(
    bucket: ObjectStore,
    simulator: RunningSimulator,
    file: Callable[[bytes], Path],
    fault: Fault,
) -> None:
    path = file(b"x")
    simulator.faults.add(fault)
    for call in (bucket.put_file("a", path), bucket.size("a"), bucket.read("a"), bucket.remove("a")):
        with pytest.raises(RetryableError) as failure:
            await call
        assert failure.value.code == "store_down"  # never the fault of the site it was read for
        _check_silence(failure.value)
    simulator.faults.clear()
    assert await bucket.put_file("a", path) == 1


async def test_p8_a_store_that_is_not_there(simulator: RunningSimulator, tmp_path: Path) -> None:
    nowhere = replace(options_for(simulator, tmp_path), endpoint="http://127.0.0.1:1")
    with pytest.raises(RetryableError) as failure:
        await open_object_store(nowhere).read("a")
    assert failure.value.code == "store_down"
    _check_silence(failure.value)
    assert SECRET not in repr(nowhere)


async def test_p8_a_store_that_breaks_off(
    bucket: ObjectStore, simulator: RunningSimulator, file: Callable[[bytes], Path]
) -> None:
    await bucket.put_file("a", file(LARGE))
    simulator.faults.add(Fault(path="/s3", kind="truncated"))
    size, pieces = await bucket.read("a")
    assert size == len(LARGE)
    with pytest.raises(RetryableError, match="object store"):
        await content_of(pieces)


def _check_silence(error: FascicleError) -> None:
    assert SECRET not in error.message
    assert "KEYID" not in error.message
    assert "\n" not in error.message
    assert error.__cause__ is None
    assert error.__suppress_context__


async def test_p8_no_bucket_is_not_a_missing_object(
    bucket: ObjectStore, simulator: RunningSimulator, file: Callable[[bytes], Path]
) -> None:
    simulator.faults.add(Fault(path="/s3", status=404))
    with pytest.raises(RetryableError, match="bucket"):
        await bucket.put_file("a", file(b"x"))


def test_p8_a_folder_may_be_in_ones_home() -> None:
    options = object_store_options(Settings(files_dir=Path("~/art"), data_dir=Path("~/data")))
    assert options.folder == Path.home() / "art"
