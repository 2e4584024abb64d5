"""Addresses of fics as they were found in other programs' tests and issues."""

import csv
from pathlib import Path

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.fic import FicKind
from fascicle.domain.fics.fic_url import OtherSites, normal_form
from fascicle.sites.fanficfare import normal_form_of


def test_f1_recorded_addresses_come_out_as_expected(fixtures_folder: Path) -> None:
    with (fixtures_folder / "fic" / "url_vectors.tsv").open(newline="") as file:
        vectors = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = {row["input"]: _outcome(row["input"], normal_form_of) for row in vectors}
    expected = {row["input"]: (row["kind"], row["expected_canonical"] or None) for row in vectors}
    assert found == expected
    assert len(vectors) == 40


def _outcome(text: str, others: OtherSites) -> tuple[str, str | None]:
    try:
        ref = normal_form(text, others)
    except UsageError:
        return "reject", None
    return str(ref.kind), None if ref.kind == FicKind.NEEDS_LOOKUP else ref.url
