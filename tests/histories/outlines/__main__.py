"""`make check` looks, `make outlines` accepts.

python -m tests.histories.outlines [--accept]
"""

import argparse
import sys

from tests.histories.outlines.check import RECORDED, accepted, examine_all, read_recorded
from tests.histories.outlines.outline import Workflow, workflows
from tests.histories.outlines.project import Project, our_source, our_workflow_modules


def main() -> int:
    parser = argparse.ArgumentParser(description="Would running workflows replay with the code as it is now?")
    parser.add_argument("--accept", action="store_true", help="record the outlines as they are now")
    found = list(workflows(Project(our_source), our_workflow_modules()))
    return _accept(found) if parser.parse_args().accept else _check(found)


def _check(found: list[Workflow]) -> int:
    verdicts = list(examine_all(found, read_recorded()))
    complaints = [verdict.complaint for verdict in verdicts if verdict.complaint]
    sys.stdout.writelines(f"{verdict.remark}\n" for verdict in verdicts if verdict.remark)
    sys.stderr.writelines(f"{complaint}\n\n" for complaint in complaints)
    if not complaints:
        sys.stdout.write(f"{len(found)} workflows: running ones replay, as far as their outlines say\n")
    return 1 if complaints else 0


def _accept(found: list[Workflow]) -> int:
    recorded = read_recorded()
    for workflow in found:
        text = accepted(workflow, recorded.get(workflow.name)).written()
        if text != recorded.get(workflow.name):
            (RECORDED / f"{workflow.name}.txt").write_text(text)
            sys.stdout.write(f"recorded: {text.partition(chr(10))[0]}\n")
    for name in set(recorded) - {workflow.name for workflow in found}:
        (RECORDED / f"{name}.txt").unlink()
        sys.stdout.write(f"forgotten: {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
