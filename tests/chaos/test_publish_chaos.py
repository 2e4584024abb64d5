"""Whatever breaks on its way out, a post is published once or a person is asked; never twice (P3)."""

from pathlib import Path

import pytest

from fascicle.embedded import EmbeddedTemporal
from simulator.server import RunningSimulator
from tests.chaos.publish_experiment import SETTINGS, PublishExperiment
from tests.starter.forked_workers import ForkedWorkers
from tests.starter.services import open_site


async def test_p3_posts_survive_kills_and_broken_answers(
    temporal: EmbeddedTemporal,
    database_url: str,
    simulator: RunningSimulator,
    tmp_path: Path,
    workers: ForkedWorkers,
    pytestconfig: pytest.Config,
) -> None:
    posts = int(pytestconfig.getoption("--chaos-posts"))
    settings = {**SETTINGS, "files_dir": tmp_path / "files"}
    async with open_site(temporal.address, database_url, simulator, tmp_path, **settings) as site:
        per_round = 12 if posts < 100 else 20  # with 300 posts, a death of each kind at each step
        report = await PublishExperiment(site, workers, posts=posts, per_round=per_round, seed=4).run()
    print(f"\n{report.summary()}")  # noqa: T201 - `make chaos` shows it
    assert report.kills >= 1
    assert sum(report.struck.values()) > report.kills
    for run in report.runs:
        assert run.published <= run.files, f"{run} was published twice"
        if run.state == "published":
            assert run.published == run.files, f"{run} was lost"
        else:
            assert run.state == "unconfirmed"
    assert report.tokens > len(report.runs)
    assert not report.leaks
    assert sum(run.state == "published" for run in report.runs) >= len(report.runs) * 0.8
