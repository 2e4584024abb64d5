"""`python -m simulator`: run the simulator until SIGTERM or SIGINT."""

import argparse
import sys
from pathlib import Path

from simulator.app import SimulatorApp
from simulator.mangadex import MangaDex
from simulator.server import SimulatorServer, address_of, listen
from simulator.simulation import Simulation
from simulator.state import StateFileError


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m simulator", description="Local stand-ins for upstream sites."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8900, help="0 takes a free one")
    parser.add_argument(
        "--world", choices=["demo", "empty"], default="empty", help="unless the state file exists"
    )
    parser.add_argument(
        "--state", type=Path, metavar="FILE", help="keep the world and the sink here between runs"
    )
    parser.add_argument(
        "--release-every", type=_positive, metavar="SECONDS", help="release a chapter so often"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    try:
        simulation = Simulation.begin(options.world, options.state)
        listener = listen(options.host, options.port)
    except (OSError, StateFileError) as error:
        sys.stderr.write(f"simulator: {error}\n")
        return 1
    address = address_of(listener)
    sys.stdout.write(
        f"simulator at {address} (MangaDex at {address}{MangaDex.prefix}, other sites beside it)\n"
    )
    sys.stdout.flush()
    SimulatorServer(SimulatorApp(simulation, options.release_every)).run([listener])
    return 0


def _positive(text: str) -> float:
    seconds = float(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
