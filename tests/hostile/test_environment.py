"""Children get what they need of the environment, and no secret in it."""

from pathlib import Path

import pytest

from fascicle.embedded import Command, Supervisor
from fascicle.services.operations.postgres_programs import PostgresPrograms
from tests.embedded.waiting import until


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "FASCICLE_TOKEN_KEYS",
        "DATABASE_URL",
        "TEMPORAL_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "PGPASSWORD",
    ):
        monkeypatch.setenv(name, "s3cret")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("GOMEMLIMIT", "1GiB")


@pytest.mark.parametrize("inherits", [False, True])
async def test_a_child_has_a_bare_environment_unless_it_is_one_of_ours(
    tmp_path: Path, inherits: bool
) -> None:
    command = Command(name="server", argv=["sleep", "600"], env={"OWN": "yes"}, inherits=inherits)
    async with Supervisor(tmp_path) as supervisor:
        process = await supervisor.start(command)
        environ = Path(f"/proc/{process.pid}/environ")
        await until(environ.read_text)  # empty while the process becomes another program
        said = environ.read_text().split("\0")
    assert ("s3cret" in "".join(said)) == inherits
    assert {"OWN=yes", "LC_ALL=C.UTF-8", "GOMEMLIMIT=1GiB"} <= set(said)


def test_postgresql_s_programs_get_the_variables_that_are_theirs() -> None:
    programs = PostgresPrograms("postgresql://ann@db.example/fascicle")
    given = programs._environment()
    assert "FASCICLE_TOKEN_KEYS" not in given
    assert (given["PGPASSWORD"], given["PGHOST"]) == ("s3cret", "db.example")
    assert "PGPASSWORD" not in PostgresPrograms(programs.database_url, Path("/bundled"))._environment()
