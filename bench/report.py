"""The one table that `make bench` prints."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.command import open_table
from bench.cpu import CpuUse, cores
from bench.limit import Limit
from bench.polls import IdlePolls
from bench.sync import FirstSync

_NOTES = """\
The limit: the very rows that the first sync stored, inserted again into an empty database of the same server
and schema by plain asyncpg, one statement of unnest per series, nothing read, parsed or checked; the median
of three rounds, with the number of connections that did best.
First sync: from the start of the first workflow (`rebuild`; the starts are included) until the
last source is booked as synced, through simulator, HTTP, gate, parser, PostgreSQL, worker and Temporal, all
on this machine. Before the clock the worker was up, and the series were read and stored as onboarding does.
Idle polls: nothing new, a page of up to 100 uploads read and compared each time. By timer: at a fixed, easy
pace, as in real life; events and activities are counted in the histories, from one look to the next. Back to
back: as fast as the worker can, always late, so that no timer is set.
CPU: user and system time, children included; "bench" is this program, which starts and watches. The gate is
passed with a distance of 0."""


@dataclass(frozen=True)
class Results:
    limit: Limit
    sync: FirstSync
    paced: IdlePolls
    saturated: IdlePolls


def print_report(results: Results, series: int, chapters: int) -> None:
    console, table = open_table(f"{series} series × {chapters} chapters on {cores()} cores")
    table.add_column("measure")
    table.add_column("value")
    table.add_column("of the limit", justify="right")
    for row in (*_limit_rows(results), *_sync_rows(results), *_poll_rows(results)):
        table.add_row(*row)
    console.print(table)
    console.print(_NOTES)
    console.print(_disturbance(results), style="yellow")


def _limit_rows(results: Results) -> Iterator[tuple[str, str, str]]:
    limit = results.limit
    for connections, rate in limit.rates.items():
        chosen = ": the limit" if connections == limit.best else ""
        named = f"raw asyncpg, {connections} connection{'s' if connections > 1 else ''}{chosen}"
        yield named, f"{rate:,.0f} chapters/s", _share(rate, limit)
    yield "  CPU", _seconds(limit.cpu), ""


def _sync_rows(results: Results) -> Iterator[tuple[str, str, str]]:
    sync, limit = results.sync, results.limit
    rate = sync.chapters_per_second
    yield "first sync", f"{rate:,.0f} chapters/s ({sync.seconds:.1f} s)", _share(rate, limit)
    yield "  of one raw connection", f"{rate / limit.rates[1]:.0%}", ""
    yield "  CPU", _seconds(sync.cpu), ""


def _poll_rows(results: Results) -> Iterator[tuple[str, str, str]]:
    paced, saturated = results.paced, results.saturated
    yield "idle polls, by timer", f"{paced.polls_per_second:.0f} polls/s, {paced.on_time:.0%} on time", ""
    yield "  events in history per poll", f"{paced.events_per_poll:.2f} (at most {max(paced.events)})", ""
    yield "  activities per poll", f"{paced.activities_per_poll:.2f} (at most {max(paced.activities)})", ""
    yield "  CPU per poll", _milliseconds(paced), ""
    yield "idle polls, back to back", f"{saturated.polls_per_second:.0f} polls/s", ""
    yield "  CPU per poll", _milliseconds(saturated), ""


def _share(rate: float, limit: Limit) -> str:
    return f"{rate / limit.chapters_per_second:.0%}"


def _seconds(cpu: CpuUse) -> str:
    return f"{cpu.total:.1f} s: {_parts(cpu, 1, 's')}"


def _milliseconds(polls: IdlePolls) -> str:
    scale = 1000 / polls.polls
    return f"{polls.cpu.total * scale:.0f} ms: {_parts(polls.cpu, scale, 'ms')}"


def _parts(cpu: CpuUse, scale: float, unit: str) -> str:
    digits = 1 if unit == "s" else 0
    ordered = sorted(cpu.processes.items(), key=lambda part: -part[1])
    return ", ".join(f"{name} {seconds * scale:.{digits}f}" for name, seconds in ordered if seconds)


def _disturbance(results: Results) -> str:
    uses = (results.limit.cpu, results.sync.cpu, results.paced.cpu, results.saturated.cpu)
    others = " / ".join(f"{use.others:.1f}" for use in uses)
    withheld = " / ".join(f"{use.withheld:.1f}" for use in uses)
    return (
        f"While limit / sync / polls / polls were measured, others used {others} s of CPU here and the host "
        f"withheld {withheld} s. Not near 0? Measure again when it is quiet."
    )
