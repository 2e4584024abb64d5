"""Whatever breaks on its way out, a post is published once or a person is asked; never twice (P3)."""

from tests.chaos.conftest import Experiments


async def test_p3_posts_survive_kills_and_broken_answers(experiments: Experiments) -> None:
    report = await experiments.publishing
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
